//go:build linux

package fuzz

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/stattable"
)

// A frozen is what a store of an earlier version must give: written by that
// version, beside the archive of the directory.
type frozen struct {
	Snapshots map[string]picture // by id
	Undone    picture            // what is on disk after undo
}

const formats = "testdata/formats/v1"

// TestStoresOfVersion1AreRead opens a repository and a directory without git
// that were recorded when version 1 of the formats was written, and asks for
// everything. Until the first release the formats may change, and the archives
// are written again by REWIND_FUZZ_WRITE_FORMAT=1; after it never.
func TestStoresOfVersion1AreRead(t *testing.T) {
	needGit(t)
	for _, name := range []string{"repository", "directory"} {
		t.Run(name, func(t *testing.T) {
			if os.Getenv("REWIND_FUZZ_WRITE_FORMAT") != "" {
				writeFrozen(t, name)
			}
			readFrozen(t, name)
		})
	}
}

// brief puts a hash in the place of long contents.
func (p picture) brief() picture {
	out := picture{}
	for path, what := range p {
		if len(what) > 200 {
			what = fmt.Sprintf("%d bytes, SHA-256 %x", len(what), sha256.Sum256([]byte(what)))
		}
		out[path] = what
	}
	return out
}

func frozenWorld(t *testing.T, name string) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, rng: rand.New(rand.NewPCG(0, 0)), dir: dir, home: filepath.Join(dir, "home"), root: filepath.Join(dir, name)}
	w.must(os.MkdirAll(w.home, 0o755))
	w.must(os.MkdirAll(w.root, 0o755))
	return w
}

// writeFrozen makes an archive: a few snapshots, the newest of them restored.
func writeFrozen(t *testing.T, name string) {
	w := frozenWorld(t, name)
	if name == "repository" {
		w.git("init", "-q", "--template=")
	}
	e := w.open()
	defer e.Close()
	want := frozen{Snapshots: map[string]picture{}}
	keep := func(label string) *engine.Recorded {
		r, err := e.Snapshot(t.Context(), &engine.SnapshotOptions{Label: label, Session: "s", Entry: label})
		w.must(err)
		want.Snapshots[r.ID.String()] = w.picture(w.root).brief()
		return r
	}
	var big []byte // large enough to be cut into chunks
	for i := range 20000 {
		big = fmt.Appendf(big, "line %d\n", i)
	}
	w.write("text", "one\n")
	w.write("big", string(big))
	w.write("d/e/f", "deep")
	w.write("secret", "rw-------")
	w.must(os.Chmod(w.path("secret"), 0o600))
	w.must(os.MkdirAll(w.path("empty"), 0o750))
	w.must(os.Symlink("nowhere", w.path("link")))
	first := keep("first")
	if name == "repository" {
		w.git("add", "text", "d")
		w.git("commit", "-qm", "one")
		w.write(".gitattributes", "*.crlf text\n")
		w.write("a.crlf", "line\r\n")
		w.write("sub/in", "nested")
		w.git("init", "-q", "--template=", "sub")
		w.git("-C", "sub", "add", "-A")
		w.git("-C", "sub", "commit", "-qm", "one")
	}
	big[100] = 'X'
	w.write("big", string(big))
	w.write("text", "two\n")
	w.must(os.RemoveAll(w.path("d")))
	keep("second")
	want.Undone = w.picture(w.root).brief()
	_, err := e.Do(t.Context(), engine.Op{To: first.ID})
	w.must(err)
	data, err := json.MarshalIndent(want, "", "\t")
	w.must(err)
	w.must(os.MkdirAll(formats, 0o755))
	w.must(os.WriteFile(filepath.Join(formats, name+".json"), data, 0o644))
	if name == "directory" {
		st, err := e.Status(t.Context())
		w.must(err)
		w.must(os.Rename(filepath.Dir(st.Store), filepath.Join(w.dir, "store")))
	} else {
		w.must(os.Mkdir(filepath.Join(w.dir, "store"), 0o755))
	}
	out, err := exec.Command("tar", "-C", w.dir, "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "-czf",
		filepath.Join(mustAbs(t, formats), name+".tar.gz"), name, "store").CombinedOutput()
	if err != nil {
		t.Fatalf("tar: %v %s", err, out)
	}
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// readFrozen asks an archive for everything that its version recorded.
func readFrozen(t *testing.T, name string) {
	data, err := os.ReadFile(filepath.Join(formats, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var want frozen
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	w := frozenWorld(t, name)
	if out, err := exec.Command("tar", "-C", w.dir, "--no-same-owner", "-xpzf", filepath.Join(mustAbs(t, formats), name+".tar.gz")).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v %s", err, out)
	}
	table := filepath.Join(w.root, ".git", "rewind", "stat.db")
	if name == "directory" { // the store is found by the directory's path, which is another one now
		e := w.open()
		st, err := e.Status(t.Context())
		w.must(err)
		place := filepath.Dir(st.Store)
		w.must(os.MkdirAll(filepath.Dir(place), 0o755))
		w.must(os.Rename(filepath.Join(w.dir, "store"), place))
		table = filepath.Join(place, "stat.db")
	}
	rows := func() int {
		loaded := stattable.Load(table)
		defer loaded.Close()
		return loaded.Len()
	}
	if n := rows(); n != 0 {
		t.Errorf("%d rows of a stat table of format 1 are taken for rows of format %d", n, stattable.Format)
	}
	e := w.open()
	defer e.Close()
	list, err := e.List(t.Context(), nil)
	w.must(err)
	for id, p := range want.Snapshots {
		i := slices.IndexFunc(list, func(s *engine.Snapshot) bool { return s.ID.String() == id })
		if i < 0 {
			t.Fatalf("snapshot %s is not listed", id)
		}
		if d := p.differs(w.export(e, list[i]).brief()); d != "" {
			t.Errorf("snapshot %s (%s): %s", id, list[i].Label(), d)
		}
	}
	if v, err := e.Verify(t.Context()); err != nil || len(v.Damaged) > 0 {
		t.Errorf("verify: %v %+v", err, v)
	}
	r, err := e.Do(t.Context(), engine.Op{Verb: engine.Undo})
	w.must(err)
	if rows() == 0 {
		t.Error("no stat table was made in the place of the old one")
	}
	if d := want.Undone.differs(w.picture(w.root).brief()); d != "" {
		t.Errorf("undo %+v: %s", r, d)
	}
}
