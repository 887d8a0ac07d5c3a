package away

import (
	"fmt"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A branch is a tree of git or of an overlay: in one of them a nested repository is a directory.
type branch struct {
	id      oid.ID
	overlay bool
}

// A step leads from a tree to one that it names.
type step struct {
	name int // its bytes
	to   oid.ID
}

func stepsOf(entries []tree.Entry, overlay bool) (out []step) {
	for _, e := range entries {
		if t := e.Mode.Type(); t == tree.Dir || t == tree.Nested && overlay {
			out = append(out, step{len(e.Name), e.ID})
		}
	}
	return out
}

// Lengths tell how long the paths of directories get. No scan records one beyond the bound of [tree.CheckPath], and no
// restore, prune or verification follows it; so none comes from elsewhere. What is read once may lie at many paths: it is
// the longest that counts.
type lengths struct {
	steps   map[branch][]step
	longest map[branch]int
}

func (l *lengths) note(b branch, steps []step) {
	if l.steps == nil {
		l.steps, l.longest = map[branch][]step{}, map[branch]int{}
	}
	l.steps[b] = steps
}

// of returns the bytes of the longest path below a tree that was noted with all below it.
func (l *lengths) of(b branch) (most int) {
	if n, ok := l.longest[b]; ok {
		return n
	}
	for _, s := range l.steps[b] {
		n := s.name
		if below := l.of(branch{s.to, b.overlay}); below > 0 {
			n += 1 + below
		}
		most = max(most, n)
	}
	if l.longest != nil {
		l.longest[b] = most
	}
	return most
}

// layOut is [layOut], and takes note of where it leads.
func (p *pull) layOut(s tree.State, load tree.Loader) (*layout, error) {
	l, err := layOut(s, p.alg, load)
	if err == nil {
		p.lengths.note(branch{s.Tree, false}, l.below[0])
		p.lengths.note(branch{s.Overlay, true}, l.below[1])
	}
	return l, err
}

// fits refuses a directory, of which all was read, that has paths that are too long.
func (p *pull) fits(s tree.State) error {
	n := max(p.lengths.of(branch{s.Tree, false}), p.lengths.of(branch{s.Overlay, true}))
	if err := tree.CheckPathBytes(n); err != nil {
		return fmt.Errorf("%w: %w", records.ErrRefused, err)
	}
	return nil
}
