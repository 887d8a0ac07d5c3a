package merge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A file was moved if the very content is gone from one path and came to another one,
// and to no third. An empty file says nothing of itself and is never taken for moved.

// Why a file that theirs has moved stays where it is.
const (
	whyMovedGone = "one side moved it to %q, and it is gone or elsewhere on the other"
	whyMovedTo   = "one side moved it to %q, where it cannot be put"
	whyMovedFrom = "one side moved it from %q, which stays"
)

// A moving is a file that one state has elsewhere than the other.
type moving struct{ from, to change }

// moves merges the files that theirs has elsewhere than base: each goes there as it is
// in the present, with its edits, or stays. It returns the other changes.
func (s *incoming) moves(changes []change) (rest []change, err error) {
	found := s.pairs(changes)
	if len(found) == 0 {
		return changes, nil
	}
	done := map[string]bool{}
	for _, m := range found {
		taken, err := s.move(m)
		if err != nil {
			return nil, err
		}
		done[m.from.Path], done[m.to.Path] = taken, taken
	}
	for _, c := range changes {
		if !done[c.Path] {
			rest = append(rest, c)
		}
	}
	return rest, nil
}

// pairs finds what was moved. What lies where a directory became a file, or a file a
// directory, goes or stays with that.
func (s *incoming) pairs(changes []change) []moving {
	var turned []string
	froms, tos := map[oid.ID][]change{}, map[oid.ID][]change{}
	for _, c := range changes {
		if !absent(c.From) && !absent(c.To) && c.From.Mode.IsDir() != c.To.Mode.IsDir() {
			turned = append(turned, c.Path)
		}
		last := ""
		if len(turned) > 0 {
			last = turned[len(turned)-1]
		}
		switch {
		case c.unknown != "" || last != "" && (c.Path == last || strings.HasPrefix(c.Path, last+"/")):
		case c.From.Mode.Type() == tree.File && absent(c.To):
			froms[c.From.ID] = append(froms[c.From.ID], c)
		case c.To.Mode.Type() == tree.File && absent(c.From):
			tos[c.To.ID] = append(tos[c.To.ID], c)
		}
	}
	empty := s.Algorithm.Sum(oid.Blob, nil)
	var found []moving
	for id, from := range froms {
		if to := tos[id]; len(from) == 1 && len(to) == 1 && id != empty {
			found = append(found, moving{from[0], to[0]})
		}
	}
	slices.SortFunc(found, func(a, b moving) int { return comparePaths(a.from.Path, b.from.Path) })
	return found
}

// move moves one file, as it is in the present. Taken is false where its two changes
// do as well by themselves.
func (s *incoming) move(m moving) (taken bool, err error) {
	ours, err := s.view.lookup(m.from.Path)
	if err != nil {
		return false, err
	}
	there, err := s.view.lookup(m.to.Path)
	if err != nil {
		return false, err
	}
	switch {
	case there.ID == m.to.To.ID, !absent(ours) && ours.Mode.Type() != tree.File:
		return false, nil
	case absent(ours):
		s.conflict(m.to.Path, fmt.Sprintf(whyMovedGone, m.from.Path))
		return true, nil
	case !absent(there):
		s.conflict(m.to.Path, whyAdded)
		s.conflict(m.from.Path, fmt.Sprintf(whyMovedTo, m.to.Path))
		return true, nil
	}
	if why, _ := s.Guard.Stays(m.from.Path, ours, tree.Node{}); why != "" {
		s.plan.Kept = append(s.plan.Kept, apply.Note{Path: m.from.Path, Reason: why})
		s.conflict(m.to.Path, fmt.Sprintf(whyMovedFrom, m.from.Path))
		return true, nil
	}
	want := ours
	want.Mode = tree.File | bits(m.from.From.Mode, ours.Mode, m.to.To.Mode)
	if ours.ID == m.from.From.ID {
		want.Git = m.to.To.Git
	}
	made, err := s.put(m.to.Path, there, want)
	if err != nil {
		return false, err
	}
	if !made {
		s.conflict(m.from.Path, fmt.Sprintf(whyMovedTo, m.to.Path))
		return true, nil
	}
	if err := s.view.set(m.from.Path, tree.Node{}); err != nil {
		return false, err
	}
	return true, s.view.carry(m.from.Path, ours.ID)
}

// followed returns where the present has a file that theirs has changed, if somebody
// has moved it; "": nobody has.
func (s *incoming) followed(c change) (to string, err error) {
	if c.From.Mode.Type() != tree.File || c.To.Mode.Type() != tree.File {
		return "", nil
	}
	if s.movedTo == nil {
		if s.movedTo, err = s.movedSince(); err != nil {
			return "", err
		}
	}
	to = s.movedTo[c.From.ID]
	if to == "" || !s.Paths.Match(to) {
		return "", nil
	}
	now, err := s.view.lookup(to)
	if err != nil || now.ID != c.From.ID || now.Mode.Type() != tree.File {
		return "", err
	}
	if _, taken, err := s.theirs.Lookup(to); taken || err != nil {
		return "", err
	}
	return to, nil
}

// movedSince finds what the present has elsewhere than base, by content.
func (s *incoming) movedSince() (map[oid.ID]string, error) {
	gone, come, to := map[oid.ID]int{}, map[oid.ID]int{}, map[oid.ID]string{}
	for c, err := range tree.Diff(s.base, s.Present.State, s.Algorithm, s.Tree) {
		switch {
		case err != nil:
			return nil, err
		case c.From.Mode.Type() == tree.File && absent(c.To):
			gone[c.From.ID]++
		case c.To.Mode.Type() == tree.File && absent(c.From):
			come[c.To.ID]++
			to[c.To.ID] = c.Path
		}
	}
	for id := range to {
		if gone[id] != 1 || come[id] != 1 || id == s.Algorithm.Sum(oid.Blob, nil) {
			delete(to, id)
		}
	}
	return to, nil
}
