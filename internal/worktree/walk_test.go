package worktree

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/seed"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// lstats is what lies below the root, but for git's own.
func (p *place) lstats() map[string]dirfd.Stat {
	all := map[string]dirfd.Stat{}
	p.must(filepath.WalkDir(p.Dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(p.Dir, path)
		rel = filepath.ToSlash(rel)
		if rel == ".git" {
			return fs.SkipDir
		}
		if rel == "." {
			rel = ""
		}
		all[rel], _ = dirfd.Lstat(p.Dir, rel)
		return err
	}))
	return all
}

// changesOf is what differs, as a watcher would tell that misses nothing.
func changesOf(was, is map[string]dirfd.Stat) *Changes {
	c := &Changes{}
	paths := maps.Clone(is)
	maps.Copy(paths, was)
	isDir := func(st dirfd.Stat) bool { return st.Mode.Type() == tree.Dir }
	for path := range paths {
		a, had := was[path]
		b, has := is[path]
		if had && has && a == b {
			continue
		}
		if path != "" {
			c.AddPath(path)
		}
		switch {
		case had && has && isDir(a) && isDir(b) && a.Ino == b.Ino:
			c.Add(path, "")
		case isDir(a) || isDir(b):
			c.AddBelow(path)
		}
	}
	return c
}

// TestAScanOfChangesIsAFullScan takes random steps. After each, a scan that is
// told what changed must find what a full scan finds, and leave the same rows.
func TestAScanOfChangesIsAFullScan(t *testing.T) {
	first := seed.Of(t)
	for i := range uint64(seed.Times(12)) {
		seed := first + i
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { walkChanges(t, seed, 14) })
	}
}

func walkChanges(t *testing.T, seed uint64, steps int) {
	p := newRepo(t)
	w := &walker{place: p, r: rand.New(rand.NewPCG(seed, 7))}
	if w.r.IntN(3) > 0 { // a clock that trusts everything: rows then say the same whoever makes them
		p.now = time.Now().Add(time.Hour).UnixNano()
	}
	if w.r.IntN(2) == 0 { // limits of ignored files that are met all the time
		p.policy = few{Small{FileBytes: 5, DirFiles: 2, DirBytes: 8, Files: 1 + w.r.IntN(6), Bytes: 2 + int64(w.r.IntN(20)), Product: func(string) bool { return false }}}
	}
	for range 20 {
		w.step()
	}
	b, was := p.kept(), p.lstats()
	for i := range steps {
		var done []string
		for range w.r.IntN(4) {
			done = append(done, w.step())
		}
		only := changesOf(was, p.lstats())
		full := p.on(b, nil)
		part := p.on(b, only)
		if w.differ(full, part); t.Failed() {
			t.Fatalf("seed %d: after step %d: %q", seed, i, done)
		}
		was = p.lstats()
		if _, ok := part.Update("store", part.State.Tree); !ok {
			b = p.kept()
		}
		for range w.r.IntN(2) {
			w.must(b.Flush(stattable.LockWait))
		}
	}
	r := p.on(b, nil)
	p.table += ".none"
	if fresh := p.scan(); fresh.State != r.State {
		t.Fatalf("seed %d: without a table %+v, with the base %+v", seed, fresh.State, r.State)
	}
}

// differ fails where two scans of the same do not say the same.
func (w *walker) differ(full, part *Result) {
	w.T.Helper()
	if full.State != part.State || !slices.Equal(full.Skipped, part.Skipped) || !slices.Equal(full.Nested, part.Nested) {
		w.T.Errorf("all: %+v %v %v\nchanges: %+v %v %v\n%v\n%v", full.State, full.Skipped, full.Nested,
			part.State, part.Skipped, part.Nested, w.recorded(full), w.recorded(part))
	}
	if w.now == 0 {
		return
	}
	rows, gone := full.changed()
	rows1, gone1 := part.changed()
	slices.Sort(gone)
	slices.Sort(gone1)
	same := func(a, b stattable.Row) bool { return a.Equal(b) }
	if !maps.EqualFunc(rows, rows1, same) || !slices.Equal(gone, gone1) {
		w.T.Errorf("all: rows of %q, and none of %q\nchanges: rows of %q, and none of %q", slices.Sorted(maps.Keys(rows)), gone,
			slices.Sorted(maps.Keys(rows1)), gone1)
	}
}

type walker struct {
	*place
	r *rand.Rand
}

func (w *walker) name() string {
	parts := []string{"a", "b.o", "c.txt", "d", "e", "out", "x-y", "d.c"}
	rel := parts[w.r.IntN(len(parts))]
	for w.r.IntN(3) > 0 && strings.Count(rel, "/") < 3 {
		rel = parts[3+w.r.IntN(4)] + "/" + rel
	}
	return rel
}

func (w *walker) data() string {
	return []string{"", "1\n", "2\r\n", "1\n2\r\n", "x\x00y\r\n", "$Id: z$\n"}[w.r.IntN(6)]
}

// step changes something; what cannot be done is not done.
func (w *walker) step() string {
	rel := w.name()
	path := w.Path(rel)
	dir := filepath.Dir(path)
	kind := w.r.IntN(16)
	switch kind {
	case 0, 1, 2, 3:
		os.MkdirAll(dir, 0o755)
		os.WriteFile(path, []byte(w.data()), 0o644)
	case 4:
		os.RemoveAll(path)
	case 5:
		os.Rename(path, w.Path(w.name()))
	case 6:
		os.Chmod(path, []os.FileMode{0o755, 0o644, 0o700, 0o600}[w.r.IntN(2)])
	case 7:
		os.MkdirAll(dir, 0o755)
		os.Remove(path)
		os.Symlink("a", path)
	case 8, 9:
		rules := []string{"*.o\n", "out\n", "out/\n!*.o\n", "/d\n", "d/*\n!d/e\n", "*\n!*/\n!a\n", ""}[w.r.IntN(7)]
		w.inSomeDir(".gitignore", rules)
	case 10:
		rules := []string{"*.txt text\n", "* text=auto\n", "*.txt -text\na ident\n", "*.txt eol=crlf\n", ""}[w.r.IntN(5)]
		w.inSomeDir(".gitattributes", rules)
	case 11:
		w.Try("add", "-f", rel)
	case 12:
		w.Try("rm", "-rq", "--cached", rel)
	case 13:
		w.Try("add", "-A", ".")
		w.Try("commit", "-qm", "x")
	case 14:
		w.Try("update-index", "--refresh")
	case 15:
		os.MkdirAll(path, 0o755)
	}
	return fmt.Sprint(kind, " ", rel)
}

func (w *walker) inSomeDir(name, data string) {
	rel := w.name()
	for strings.Contains(rel, "/") && w.r.IntN(2) == 0 {
		rel = rel[:strings.LastIndexByte(rel, '/')]
		if st, err := os.Lstat(w.Path(rel)); err == nil && st.IsDir() {
			os.WriteFile(w.Path(rel+"/"+name), []byte(data), 0o644)
			return
		}
	}
	os.WriteFile(w.Path(name), []byte(data), 0o644)
}
