package engine

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/locate"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// rename gives the worktree another name.
func (p *place) rename(to string) {
	p.t.Helper()
	p.must(os.Rename(p.dir, to))
	p.dir = to
}

func (p *place) storeDir() *locate.Stores {
	p.t.Helper()
	s, err := locate.OpenStores(func(name string) string { return p.env[name] })
	p.must(err)
	return s
}

// folder is where the store of the worktree belongs by its name (docs/format.md).
func (p *place) folder() string {
	p.t.Helper()
	found, err := filepath.Glob(filepath.Join(p.home, ".local", "state", "rewind", "*-"+oid.BLAKE3.Sum(oid.Blob, []byte(p.dir)).String()[:16]))
	p.must(err)
	if len(found) != 1 {
		p.t.Fatalf("%d folders for %s", len(found), p.dir)
	}
	return found[0]
}

// stores lists the stores without git as "directory state snapshots".
func (p *place) stores() map[string]locate.Store {
	p.t.Helper()
	list, err := p.storeDir().List(context.Background())
	p.must(err)
	all := map[string]locate.Store{}
	for _, st := range list {
		all[st.Directory] = st
	}
	return all
}

// born skips where the file system keeps no time at which a directory was made.
func (p *place) born() {
	p.t.Helper()
	if birth, err := dirfd.Birth(p.dir); err != nil || !strings.HasPrefix(birth, "born ") {
		p.t.Skipf("SKIPPED: the file system of the tests does not tell when a directory was made: %q, %v", birth, err)
	}
}

func TestARenamedDirectoryFindsItsHistoryAgain(t *testing.T) {
	p := newPlace(t, false)
	p.born()
	e := p.open()
	one := p.snap(e, "one", nil)
	two := p.snap(e, "two", nil)
	ctx := context.Background()
	p.do(e, Op{To: one.ID})
	old := p.dir
	p.rename(p.dir + "-renamed")
	p.must(os.MkdirAll(filepath.Join(p.dir, "sub"), 0o755))
	e = p.openAt(filepath.Join(p.dir, "sub"))
	if e.Root() != p.dir || e.dir != p.folder() {
		t.Errorf("root %s, store in %s", e.Root(), e.dir)
	}
	if w := e.Warnings(); len(w) != 1 || !strings.Contains(w[0], old) {
		t.Errorf("warnings %q", w)
	}
	if got := p.records(e); !slices.Contains(got, one.ID) || !slices.Contains(got, two.ID) {
		t.Errorf("records %v", got)
	}
	if _, err := e.Do(ctx, Op{Verb: Undo}); err != nil || p.read("file") != "two" {
		t.Errorf("undo after the rename: %v, %q", err, p.read("file"))
	}
	p.snap(e, "three", nil)
	if w := p.open().Warnings(); len(w) != 0 {
		t.Errorf("said again: %q", w)
	}
	if st := p.stores(); len(st) != 1 || st[p.dir].State != locate.Stands || st[p.dir].Snapshots != 4 {
		t.Errorf("%+v", st)
	}

	// The directory above is renamed too, and another one takes the old place.
	above := filepath.Dir(p.dir)
	p.must(os.Rename(above, above+"-too"))
	t.Cleanup(func() { os.Rename(above+"-too", above) })
	gone := p.dir
	p.dir, p.env["HOME"] = filepath.Join(above+"-too", filepath.Base(p.dir)), filepath.Join(above+"-too", "home")
	p.must(os.MkdirAll(gone, 0o755))
	if _, err := p.open().Do(ctx, Op{To: one.ID}); err != nil || p.read("file") != "one" {
		t.Errorf("%v, %q", err, p.read("file"))
	}
	if e := p.openAt(gone); p.storeOf(e) != nil {
		t.Error("another directory at the old path has the history")
	}
}

func TestACopyTakesNoHistory(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	one := p.snap(e, "one", nil)
	twin := p.dir + "-copy"
	if out, err := exec.Command("cp", "-a", p.dir, twin).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no cp: %v %s", err, out)
	}
	if c := p.openAt(twin); p.storeOf(c) != nil || len(c.Warnings()) > 0 {
		t.Error("the copy has the history")
	}
	if got := p.records(p.open()); !slices.Equal(got, p.records(e)) || got[0] != one.ID {
		t.Errorf("records %v", got)
	}
	p.must(os.RemoveAll(p.dir))
	if c := p.openAt(twin); p.storeOf(c) != nil {
		t.Error("the copy has the history once the original is gone")
	}
	if st := p.stores()[p.dir]; st.State != locate.Gone || st.Snapshots != 1 {
		t.Errorf("%+v", st)
	}
}

// TestWhoseStoreItIsIsDecidedByBirthAndInode forges notes, as a file system makes
// them that gives an inode again, or two directories in one moment; and an image of a
// disk, in which the original is where it was.
func TestWhoseStoreItIsIsDecidedByBirthAndInode(t *testing.T) {
	p := newPlace(t, false)
	p.born()
	p.snap(p.open(), "one", nil)
	path := filepath.Join(p.folder(), "directory")
	text, err := os.ReadFile(path)
	p.must(err)
	was := p.dir
	p.rename(p.dir + "-renamed")
	forge := func(change func(note map[string]any)) {
		t.Helper()
		note := map[string]any{}
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		p.must(d.Decode(&note))
		change(note)
		forged, err := json.Marshal(note)
		p.must(err)
		p.must(os.WriteFile(path, forged, 0o600))
	}
	for what, change := range map[string]func(note map[string]any){
		"another birth":            func(n map[string]any) { n["birth"] = "born 1" },
		"no birth":                 func(n map[string]any) { n["birth"] = "inode 5" },
		"another inode":            func(n map[string]any) { n["inode"] = 1 },
		"no inode":                 func(n map[string]any) { delete(n, "inode") },
		"no note":                  func(n map[string]any) { clear(n) },
		"an original that stands":  func(n map[string]any) { n["root"] = p.dir + "/../" + filepath.Base(p.dir) },
		"a place nobody can enter": func(n map[string]any) { n["root"] = strings.Repeat("x", 300) },
	} {
		forge(change)
		if e := p.open(); p.storeOf(e) != nil {
			t.Errorf("%s: the history is taken", what)
		}
	}
	forge(func(map[string]any) {})
	p.must(os.WriteFile(was, nil, 0o644)) // a file in its place is not it
	if e := p.open(); p.storeOf(e) == nil {
		t.Error("the true note is not believed")
	}
}

func TestAStoreInUseIsFoundWhereItIsAndMovedLater(t *testing.T) {
	p := newPlace(t, false)
	p.born()
	one := p.snap(p.open(), "one", nil)
	folder := p.folder()
	p.rename(p.dir + "-renamed")
	held, err := durable.TryLock(filepath.Join(folder, lockFile), durable.Exclusive)
	p.must(err)
	e := p.open()
	if e.dir != folder {
		t.Errorf("the store of somebody at work was moved to %s", e.dir)
	}
	two := p.snap(e, "two", nil) // notes the new name in the old folder
	p.must(e.Close())
	p.must(held.Unlock())
	e = p.open()
	if got := p.records(e); e.dir != p.folder() || len(got) != 2 || got[0] != two.ID || got[1] != one.ID {
		t.Errorf("in %s: %v", e.dir, got)
	}
}

func TestAStoreIsRemovedWhollyAndNotWhereItMayBeWanted(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.snap(e, "one", nil)
	st := p.stores()[p.dir]
	if err := st.Remove(false); err == nil || p.stores()[st.Directory].ID != st.ID {
		t.Errorf("the store of a directory that stands: %v", err)
	}
	p.must(os.RemoveAll(p.dir))
	st = p.stores()[p.dir]
	held, err := durable.TryLock(filepath.Join(st.Folder, lockFile), durable.Exclusive)
	p.must(err)
	if err := st.Remove(true); err == nil || p.stores()[st.Directory].ID != st.ID {
		t.Errorf("a store in use: %v", err)
	}
	p.must(held.Unlock())
	// A removal that was killed after it began.
	p.must(os.Rename(st.Folder, st.Folder+".removed"))
	if len(p.stores()) != 0 {
		t.Error("a store that is being removed is listed")
	}
	if _, err := os.Stat(st.Folder + ".removed"); err == nil {
		t.Error("what was left of it is there still")
	}
}
