package merge

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/engine/internal/textmerge"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/hunk"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// decide returns what a path becomes: from what base, theirs and ours have there. Why
// says that it cannot be merged.
func (s *incoming) decide(c change, ours tree.Node) (want tree.Node, why string, err error) {
	base, theirs := c.From, c.To
	switch {
	case same(ours, theirs):
		return ours, "", nil
	case ours.Mode.IsDir() && theirs.Mode.IsDir():
		return directory(base, ours, theirs), "", nil
	case same(ours, base):
		return theirs, "", nil
	case absent(ours) || absent(theirs):
		return ours, whyDeleted, nil
	case ours.Mode.Type() != theirs.Mode.Type():
		return ours, whyKinds, nil
	case ours.Mode.Type() != tree.File:
		return ours, whyBoth, nil
	}
	return s.file(c, ours)
}

// directory merges the permissions of a directory. Whether it is a repository of its
// own no merge changes.
func directory(base, ours, theirs tree.Node) tree.Node {
	if base.Mode.IsDir() {
		ours.Mode = ours.Mode.Type() | bits(base.Mode, ours.Mode, theirs.Mode)
	}
	return ours
}

// bits merges permissions: a bit that one side changed is changed.
func bits(base, ours, theirs tree.Mode) tree.Mode {
	return (base ^ ((base ^ ours) | (base ^ theirs))).Perm()
}

// file merges two files. If base has none, they have nothing in common.
func (s *incoming) file(c change, ours tree.Node) (want tree.Node, why string, err error) {
	base, theirs := c.From, c.To
	want = ours
	if base.Mode.Type() == tree.File {
		want.Mode = tree.File | bits(base.Mode, ours.Mode, theirs.Mode)
	} else {
		base = tree.Node{}
	}
	switch {
	case ours.ID == theirs.ID || theirs.ID == base.ID:
		return want, "", nil
	case ours.ID == base.ID:
		want.ID, want.Git = theirs.ID, theirs.Git
		return want, "", nil
	}
	if s.held > heldMax {
		return ours, whyMany, nil
	}
	text, n, why, err := s.content(c, base, ours)
	if err != nil || why != "" {
		return ours, why, err
	}
	if n > 0 && !s.Markers {
		if absent(base) {
			return ours, whyAdded, nil
		}
		return ours, whyText(n), nil
	}
	if n > 0 {
		s.plan.Marked = append(s.plan.Marked, apply.Note{Path: c.Path, Reason: whyText(n)})
	}
	want.ID, want.Git = s.Algorithm.Sum(oid.Blob, text), tree.Entry{}
	s.plan.Texts[want.ID] = text
	s.held += len(text)
	return want, "", nil
}

// heldMax is how many bytes of merged texts are in memory at once, but for the last.
const heldMax = 192 << 20

// linesMax is how many lines a text may have that is merged line by line: each of them
// takes some hundred bytes of memory, however short it is.
const linesMax = 1 << 20

// whyText is why a text cannot be merged.
func whyText(n int) string {
	if n == 1 {
		return "the same lines were changed on both sides, in one place"
	}
	return fmt.Sprintf("the same lines were changed on both sides, in %d places", n)
}

// content merges the contents of a file.
func (s *incoming) content(c change, base, ours tree.Node) (text []byte, conflicts int, why string, err error) {
	var texts [3][]byte
	for i, n := range []tree.Node{base, ours, c.To} {
		if absent(n) {
			continue
		}
		whole := true
		if i == 1 {
			texts[i], whole, err = s.present(c.Path, n)
		} else {
			texts[i], whole, err = s.Recorded(n.ID)
		}
		switch {
		case errors.Is(err, errChanged):
			return nil, 0, err.Error(), nil
		case err != nil:
			return nil, 0, "", fmt.Errorf("%q: %w", c.Path, err)
		case hunk.Binary(texts[i]):
			return nil, 0, whyBinary, nil
		case !whole || bytes.Count(texts[i], []byte{'\n'}) > linesMax:
			return nil, 0, whyLarge, nil
		}
	}
	text, conflicts, err = textmerge.Merge(s.ctx, texts[0], texts[1], texts[2], s.Labels)
	return text, conflicts, "", err
}

// errChanged says that a file is not what it was when the present was looked at.
var errChanged = errors.New("it was changed on both sides, and once more meanwhile")

// present reads a file as the view has it: from the disk, or, if it came there by this
// merge, from a recorded state.
func (s *incoming) present(path string, ours tree.Node) (p []byte, whole bool, err error) {
	if text, ok := s.plan.Texts[ours.ID]; ok {
		return text, true, nil
	}
	before, err := s.view.before(path)
	if err != nil {
		return nil, false, err
	}
	at, carried := s.view.carried[ours.ID]
	switch {
	case before.ID == ours.ID:
		at = path
	case !carried:
		return s.Recorded(ours.ID)
	}
	p, whole, err = s.Disk(at)
	if err != nil || whole && s.Algorithm.Sum(oid.Blob, p) != ours.ID {
		err = errChanged
	}
	return p, whole, err
}
