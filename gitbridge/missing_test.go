package gitbridge

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// manyTrees are directories of contents that are nowhere. Only the root is held, so
// that what the search holds can be measured.
type manyTrees struct {
	root  oid.ID
	list  []byte
	below map[oid.ID]int
}

const (
	manyDirs = 128
	manyEach = 1000
)

func newManyTrees() *manyTrees {
	m := &manyTrees{below: map[oid.ID]int{}}
	for i := range manyDirs {
		id := oid.SHA1.Sum(oid.Tree, m.dir(i))
		m.below[id] = i
		m.list = appendEntry(m.list, tree.GitDir, i, id)
	}
	m.root = oid.SHA1.Sum(oid.Tree, m.list)
	return m
}

func appendEntry(p []byte, mode tree.Mode, name int, id oid.ID) []byte {
	return tree.Append(p, tree.Entry{Name: fmt.Sprintf("%06d", name), Mode: mode, ID: id}, oid.SHA1)
}

// dir is the directory of a number. Its first content is also the one before's last.
func (m *manyTrees) dir(n int) (p []byte) {
	for i := range manyEach {
		raw := binary.BigEndian.AppendUint64(make([]byte, 12), uint64(n*(manyEach-1)+i+1))
		id, err := oid.FromBytes(raw)
		if err != nil {
			panic(err)
		}
		p = appendEntry(p, tree.GitFile, i, id)
	}
	return p
}

// Of a first snapshot of a million files an id and its place are 40 bytes each time that
// they are held.
func TestWhatGitLacksIsHeldOnce(t *testing.T) {
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	r := newRepo(t, oid.SHA1)
	b := r.open()
	m := newManyTrees()
	before, most, loaded := 0, 0, 0
	w, err := b.writer(&Job{Tree: func(id oid.ID) ([]byte, bool) {
		if id == m.root {
			return m.list, true
		}
		if loaded++; loaded == manyDirs {
			most = heap() - before
		}
		n, known := m.below[id]
		return m.dir(n), known
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}()
	before = heap()
	missing, found, err := w.missing(context.Background(), m.root, nil)
	if err != nil || len(found) > 0 || loaded != manyDirs {
		t.Fatalf("%v: %d directories read, git has %d objects", err, loaded, len(found))
	}
	contents := manyDirs*(manyEach-1) + 1
	if want := contents + manyDirs + 1; len(missing) != want || missing[want-1] != m.root {
		t.Fatalf("%d objects are missing, want %d, the root the last", len(missing), want)
	}
	if each := most / contents; each > 64 {
		t.Errorf("%d bytes are held for each object that git lacks", each)
	}
}

// Whoever has compared the snapshot's tree with an earlier one hands over what it has beyond
// that, and no tree is read once more.
func TestWhatIsKnownToLieBeyondIsNotSearchedFor(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b, m := r.open(), newManyTrees()
	since := oid.SHA1.Sum(oid.Tree, []byte("an earlier one"))
	read := 0
	job := &Job{Load: func(oid.ID) (oid.Kind, []byte, error) { return 0, nil, ErrMissing }, Since: since, Beyond: []oid.ID{oid.SHA1.Sum(oid.Blob, nil), m.root}, Tree: func(id oid.ID) ([]byte, bool) {
		read++
		return nil, id != m.root
	}}
	w, err := b.writer(job)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	missing, found, err := w.missing(context.Background(), m.root, []oid.ID{{}, since})
	if err != nil || len(found) > 0 || !slices.Equal(missing, job.Beyond) || read > 0 {
		t.Errorf("%v: missing %v, found %v, with %d trees read", err, missing, found, read)
	}
	if _, _, err := w.missing(context.Background(), m.root, nil); err == nil || read == 0 {
		t.Errorf("not compared with that tree: %v, with %d trees read", err, read)
	}
}
