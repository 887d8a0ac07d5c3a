//go:build !windows

package worktree

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// TestRandomWorktreesGiveGitsTree takes random steps in random repositories.
// After each the incremental scan must give the tree that git gives, and hold
// exactly what is on disk and not ignored.
func TestRandomWorktreesGiveGitsTree(t *testing.T) {
	seeds := 10
	if testing.Short() {
		seeds = 2
	}
	first := seed.Of(t)
	for i := range uint64(seeds) {
		seed := first + i
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { walk(t, seed, 12) })
	}
}

func walk(t *testing.T, seed uint64, steps int) {
	p := newRepo(t)
	w := &walker{place: p, r: rand.New(rand.NewPCG(seed, 1))}
	if w.r.IntN(2) == 0 { // a clock that trusts everything: these file systems tell every write apart
		p.now = time.Now().Add(time.Hour).UnixNano()
	}
	if w.r.IntN(3) == 0 {
		p.run("config", "core.autocrlf", []string{"true", "input"}[w.r.IntN(2)])
	}
	for i := range steps {
		var done []string
		for range 1 + w.r.IntN(4) {
			done = append(done, w.step())
		}
		r := p.scan()
		w.check(r)
		if t.Failed() {
			t.Fatalf("seed %d: after step %d: %q", seed, i, done)
		}
	}
	r := p.scan()
	p.table = p.table + ".none"
	if fresh := p.scan(); fresh.State != r.State {
		w.check(fresh)
		t.Fatalf("seed %d: without a table %+v\n%v\nwith it %+v\n%v", seed, fresh.State, p.recorded(fresh), r.State, p.recorded(r))
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
	path := w.path(rel)
	dir := path[:strings.LastIndexByte(path, '/')]
	kind := w.r.IntN(16)
	switch kind {
	case 0, 1, 2, 3:
		os.MkdirAll(dir, 0o755)
		os.WriteFile(path, []byte(w.data()), 0o644)
	case 4:
		os.RemoveAll(path)
	case 5:
		os.Rename(path, w.path(w.name()))
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
		w.try(w.dir, "add", "-f", rel)
	case 12:
		w.try(w.dir, "rm", "-rq", "--cached", rel)
	case 13:
		w.try(w.dir, "add", "-A", ".")
		w.try(w.dir, "commit", "-qm", "x")
	case 14:
		w.try(w.dir, "update-index", "--refresh")
	case 15:
		os.MkdirAll(path, 0o755)
	}
	return fmt.Sprint(kind, " ", rel)
}

func (w *walker) inSomeDir(name, data string) {
	rel := w.name()
	for strings.Contains(rel, "/") && w.r.IntN(2) == 0 {
		rel = rel[:strings.LastIndexByte(rel, '/')]
		if st, err := os.Lstat(w.path(rel)); err == nil && st.IsDir() {
			os.WriteFile(w.path(rel+"/"+name), []byte(data), 0o644)
			return
		}
	}
	os.WriteFile(w.path(name), []byte(data), 0o644)
}

func (w *walker) check(r *Result) {
	w.t.Helper()
	if len(r.Skipped) > 0 || len(r.Unstable) > 0 {
		w.t.Errorf("skipped %v, unstable %v", r.Skipped, r.Unstable)
	}
	w.checkGit(r)
	ignored := map[string]bool{}
	for _, path := range strings.Split(w.run("ls-files", "-z", "-o", "-i", "--exclude-standard"), "\x00") {
		ignored[path] = true
	}
	got, want := w.recorded(r), w.onDisk()
	for path, what := range got {
		if want[path] != what {
			w.t.Errorf("%s: recorded %q, on disk %q", path, what, want[path])
		}
	}
	for path, what := range want {
		isDir := strings.HasSuffix(what, " "+oid.ID{}.String())
		if _, ok := got[path]; !ok && !isDir && !ignored[path] {
			w.t.Errorf("%s is not recorded", path)
		}
	}
}
