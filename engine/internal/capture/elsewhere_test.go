package capture

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A seen state is of directories, each a list of entries; it counts how often one is read.
type seenState struct {
	trees map[oid.ID][]byte
	read  int
}

// put returns the entry of a directory.
func (s *seenState) put(name string, entries ...tree.Entry) tree.Entry {
	tree.Sort(entries)
	text := tree.Encode(entries, oid.SHA1)
	id := oid.SHA1.Sum(oid.Tree, text)
	s.trees[id] = text
	return tree.Entry{Name: name, Mode: tree.Dir, ID: id}
}

func (s *seenState) finder(root tree.Entry) *tree.Finder {
	return &tree.Finder{State: tree.State{Tree: root.ID, Umask: 0o22}, Algorithm: oid.SHA1, Load: func(id oid.ID, _ ...oid.ID) ([]byte, error) {
		s.read++
		text, ok := s.trees[id]
		if !ok {
			return nil, errors.New("no such tree")
		}
		return text, nil
	}}
}

func leaf(name string, mode tree.Mode) tree.Entry {
	return tree.Entry{Name: name, Mode: mode, ID: oid.SHA1.Sum(oid.Blob, nil)}
}

func TestADirectoryIsReadOnceForAllThatStaysElsewhereOfIt(t *testing.T) {
	s := seenState{trees: map[oid.ID][]byte{}}
	root := s.put("", s.put("there", leaf("7", tree.GitFile)))
	var notes []records.Note
	for _, at := range []string{"none", "none/below", "there", "there/none"} {
		for i := range 1000 {
			notes = append(notes, records.Note{Path: records.Path(fmt.Sprintf("%s/%d", at, i))})
		}
	}
	left := elsewhere(notes, nil, s.finder(root).Lookup)
	if len(left) != 3999 || slices.ContainsFunc(left, func(n records.Note) bool { return n.Path == "there/7" }) {
		t.Errorf("%d files stay elsewhere", len(left))
	}
	if s.read > 4 {
		t.Errorf("two directories were read %d times", s.read)
	}
}

func TestAFileStaysElsewhereUntilTheScanMetSomethingInItsPlace(t *testing.T) {
	s := seenState{trees: map[oid.ID][]byte{}}
	root := s.put("", leaf("file", tree.GitFile), s.put("replaced", leaf("x", tree.GitFile)),
		s.put("dir", leaf("f", tree.GitFile), leaf("link", tree.Symlink), s.put("deep", leaf("x", tree.GitFile))))
	stay := []string{"f", "dir/g", "dir/deep/f", "dir/deeper/f", "none/f", "none/deep/f", "replaced/../f"} // the last leads nowhere
	gone := []string{"file", "file/f", "file/deep/f", "dir/f", "dir/f/g", "replaced", "dir/link", "dir/link/f", "left"}
	var notes []records.Note
	for _, path := range append(slices.Clone(stay), gone...) {
		notes = append(notes, records.Note{Path: records.Path(path)})
	}
	var got []string
	for _, n := range elsewhere(notes, []records.Note{{Path: "left", Reason: "it may not be read"}}, s.finder(root).Lookup) {
		got = append(got, string(n.Path))
	}
	if !slices.Equal(got, stay) {
		t.Errorf("%q stay elsewhere, want %q", got, stay)
	}
}
