package blame

import (
	"bytes"
	"path"
	"slices"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// How far a file is looked for that was moved, and how large one may be. What is
// beyond is taken for a file of its own.
const (
	movedMost  = 64
	movedBytes = 1 << 20
)

// A gone file was there before a snapshot, and is not in it.
type gone struct {
	path string
	id   oid.ID
}

// movedFrom returns the version that a file was before it was moved to where it is in
// a snapshot: the file that went at the same time and has the same content or, if
// none has, the one that has most of its lines, and at least half of them. It is nil
// if there is none.
func (src *source) movedFrom(base *records.Snapshot, v *Version, id oid.ID) (*Version, error) {
	var named, others []gone // by the same name elsewhere, and the rest
	came := map[oid.ID]bool{}
	for c, err := range tree.Diff(base.State(), v.Snapshot.State(), src.Algorithm, src.load) {
		if err != nil {
			return nil, err
		}
		if c.From.Mode.Type() == tree.Absent && c.To.Mode.Type() == tree.File && len(came) < movedMost*movedMost {
			came[c.To.ID] = true
		}
		if c.From.Mode.Type() != tree.File || c.To.Mode.Type() != tree.Absent {
			continue
		}
		switch found := (gone{c.Path, c.From.ID}); {
		case found.id == id:
			return src.version(&Version{Snapshot: base, Path: found.path}, id)
		case path.Base(found.path) == path.Base(v.Path):
			named = append(named, found)
		case len(others) < movedMost:
			others = append(others, found)
		}
	}
	candidates := append(named[:min(len(named), movedMost)], others...)
	candidates = slices.DeleteFunc(candidates, func(g gone) bool { return came[g.id] }) // moved elsewhere
	return src.mostLike(base, v, candidates[:min(len(candidates), movedMost)])
}

// mostLike returns the candidate that has most lines of a version, nil if none has
// half of them.
func (src *source) mostLike(base *records.Snapshot, v *Version, candidates []gone) (best *Version, err error) {
	most := 0
	for _, c := range candidates {
		if _, size, err := src.Objects.Stat(src.ctx, c.id); err == nil && size > movedBytes || len(v.Text) > movedBytes {
			continue
		}
		other, err := src.version(&Version{Snapshot: base, Path: c.path}, c.id)
		if noLines(err) != nil {
			return nil, err
		}
		if other == nil {
			continue
		}
		if same, all := common(v.Text, other.Text); same > most && 2*same >= all {
			best, most = other, same
		}
	}
	return best, nil
}

// common returns how many lines two texts share, and how many the longer one has.
func common(a, b []byte) (same, all int) {
	lines := map[string]int{}
	n, m := 0, 0
	for line := range bytes.Lines(a) {
		lines[string(line)]++
		n++
	}
	for line := range bytes.Lines(b) {
		if lines[string(line)] > 0 {
			lines[string(line)]--
			same++
		}
		m++
	}
	return same, max(n, m)
}
