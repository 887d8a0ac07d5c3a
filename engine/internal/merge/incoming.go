package merge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// What is incoming is the changes between two states, which are being merged.
type incoming struct {
	*merger
	base    tree.State
	theirs  tree.Finder
	movedTo map[oid.ID]string // by content: where the present has a file of base that it has elsewhere; nil: not looked yet
}

// Why a path is left as it is.
const (
	whyBoth      = "it was changed on both sides"
	whyDeleted   = "it was deleted on one side and changed on the other"
	whyAdded     = "it was added on both sides, and differs"
	whyKinds     = "it is of another kind on each side"
	whyBinary    = "it is binary, and was changed on both sides"
	whyLarge     = "it was changed on both sides, and is too large to be merged line by line"
	whyMany      = "it was changed on both sides, and the texts that are merged at once are too large together; name a part of the paths"
	whyDirectory = "a directory stands here, and something in it stays"
	whyParent    = "what stands in the place of its directory is no directory"
)

func (s *incoming) conflict(path, why string) {
	s.plan.Conflicts = append(s.plan.Conflicts, apply.Note{Path: path, Reason: why})
}

// all merges changes, which are in path order.
func (s *incoming) all(changes []change) error {
	for len(changes) > 0 {
		c := changes[0]
		n := 1
		for n < len(changes) && strings.HasPrefix(changes[n].Path, c.Path+"/") {
			n++
		}
		inside := changes[1:n]
		was, is := c.From.Mode.IsDir(), c.To.Mode.IsDir()
		err := error(nil)
		switch {
		case c.unknown != "":
			inside, err = nil, s.unknown(c)
		case was && !is:
			inside, err = nil, s.emptied(c, inside)
		case is && !was:
			var made bool
			if made, err = s.one(c); !made {
				inside = nil
			}
		default:
			_, err = s.one(c)
		}
		if err == nil {
			err = s.all(inside)
		}
		if err != nil {
			return err
		}
		changes = changes[n:]
	}
	return nil
}

// unknown keeps what is there. It is named if it would have gone.
func (s *incoming) unknown(c change) error {
	ours, err := s.view.lookup(c.Path)
	if err == nil && !absent(ours) && absent(c.To) {
		s.plan.Kept = append(s.plan.Kept, apply.Note{Path: c.Path, Reason: c.unknown})
	}
	return err
}

// emptied merges what became of a directory, which is no directory any more: nothing,
// or a file, for which all that is in it has to go.
func (s *incoming) emptied(c change, inside []change) error {
	ours, err := s.view.lookup(c.Path)
	if err != nil {
		return err
	}
	if why, _ := s.Guard.Stays(c.Path, ours, c.To); why != "" && ours.Mode.IsDir() {
		return s.leave(c, ours, why)
	}
	undo := s.view.begin()
	kept, conflicts, marked := len(s.plan.Kept), len(s.plan.Conflicts), len(s.plan.Marked)
	if err := s.all(inside); err != nil {
		return err
	}
	if ours.Mode.IsDir() {
		empty, err := s.view.isEmpty(c.Path)
		switch {
		case err != nil:
			return err
		case !empty && absent(c.To):
			return nil // it stays for the sake of what is in it
		case !empty:
			s.view.rollBack(undo)
			s.plan.Kept, s.plan.Conflicts, s.plan.Marked = s.plan.Kept[:kept], s.plan.Conflicts[:conflicts], s.plan.Marked[:marked]
			s.conflict(c.Path, whyDirectory)
			return nil
		}
		c.From = ours // other permissions are no reason to keep it
	}
	_, err = s.one(c)
	return err
}

// one merges one path. Made reports whether there is then what theirs has, or
// something of its kind.
func (s *incoming) one(c change) (made bool, err error) {
	ours, err := s.view.lookup(c.Path)
	if err != nil {
		return false, err
	}
	if absent(ours) && !absent(c.From) {
		to, err := s.followed(c)
		if err != nil {
			return false, err
		}
		if to != "" {
			c.Path = to
			return s.one(c)
		}
	}
	want, why, err := s.decide(c, ours)
	if err != nil {
		return false, err
	}
	if why != "" {
		return false, s.leave(c, ours, why)
	}
	if same(ours, want) {
		return true, nil
	}
	return s.put(c.Path, ours, want)
}

// leave names a path that cannot be merged. What a rule keeps is named for that.
func (s *incoming) leave(c change, ours tree.Node, why string) error {
	if rule, conflict := s.Guard.Stays(c.Path, ours, c.To); rule != "" && !conflict {
		s.plan.Kept = append(s.plan.Kept, apply.Note{Path: c.Path, Reason: rule})
		return nil
	}
	s.conflict(c.Path, why)
	return nil
}

// put gives a path something else, if it may have it.
func (s *incoming) put(path string, ours, want tree.Node) (made bool, err error) {
	if s.Guard.Done(path, ours, want) {
		return true, nil
	}
	if why, conflict := s.Guard.Stays(path, ours, want); why != "" {
		if conflict {
			s.conflict(path, why)
		} else {
			s.plan.Kept = append(s.plan.Kept, apply.Note{Path: path, Reason: why})
		}
		return false, nil
	}
	if !absent(want) {
		if ok, err := s.parents(path); !ok || err != nil {
			return false, err
		}
	}
	return true, s.view.set(path, want)
}

// parents makes the directories that a path needs, as theirs has them.
func (s *incoming) parents(path string) (ok bool, err error) {
	var missing []string
	for dir := tree.Parent(path); dir != ""; dir = tree.Parent(dir) {
		n, err := s.view.lookup(dir)
		if err != nil {
			return false, err
		}
		if n.Mode.IsDir() {
			break
		}
		if !absent(n) {
			s.conflict(path, whyParent)
			return false, nil
		}
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		n, ok, err := s.theirs.Lookup(dir)
		if err != nil {
			return false, err
		}
		if !ok || !n.Mode.IsDir() {
			n = tree.Node{Mode: tree.Dir.Base(s.Present.State.Umask)}
		}
		if why, _ := s.Guard.Stays(dir, tree.Node{}, n); why != "" {
			s.conflict(path, fmt.Sprintf("its directory cannot be made: %q: %s", dir, why))
			return false, nil
		}
		if err := s.view.set(dir, n); err != nil {
			return false, err
		}
	}
	return true, nil
}
