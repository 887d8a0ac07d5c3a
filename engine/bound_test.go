package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
)

// unbound makes the store what somebody makes who puts it into an archive: nothing says
// for which directory it is.
func (p *place) unbound() {
	p.t.Helper()
	e := p.open()
	p.must(e.update(context.Background(), func(u *records.Update) error {
		for _, table := range []string{"worktrees", "histories"} {
			p.rebind(u, table, e.key, "")
		}
		return nil
	}))
	p.must(e.Close())
}

// rebind gives a row of a worktree another birth.
func (p *place) rebind(u *records.Update, table, key, birth string) {
	p.t.Helper()
	value, err := u.Table(table).Value([]byte(key))
	p.must(err)
	var row map[string]any
	p.must(json.Unmarshal(value, &row))
	if row["birth"] == nil {
		p.t.Fatalf("%s is bound to nothing: %s", table, value)
	}
	row["birth"] = birth
	value, err = json.Marshal(row)
	p.must(errors.Join(err, u.Table(table).Put([]byte(key), value)))
}

// An archive has the whole of it: a store with a restore that was interrupted, a
// worktree that is the home of whoever unpacks it, and leave to go there.
func TestAnArchiveReachesNoHome(t *testing.T) {
	p := newPlace(t, true)
	ctx := context.Background()
	p.write("victim", "theirs")
	e := p.open()
	one := p.take(e)
	for n := range 60 {
		p.write("d/"+strings.Repeat("x", n+1), "x")
	}
	p.cut(func(e *Engine, ctx context.Context) (*Restored, error) { return e.Do(ctx, Op{To: one.ID}) })
	p.unbound()
	p.git("config", "rewind.force", "true")
	unpacked := filepath.Join(p.home, "src")
	p.must(os.Rename(p.dir, unpacked))
	p.dir = unpacked
	for _, worktree := range []string{p.home, filepath.Join(p.home, ".config")} {
		victim := filepath.Join(worktree, "victim")
		p.must(errors.Join(os.MkdirAll(worktree, 0o755), os.WriteFile(victim, []byte("ours"), 0o644)))
		p.git("config", "core.worktree", worktree)
		e, err := p.tryOpen(unpacked)
		if p.must(err); e.Root() != unpacked || e.repo != nil {
			t.Errorf("the worktree is %s", e.Root())
		} else if r, err := e.Snapshot(ctx, nil); err != nil || r.Recovered != nil || len(e.Warnings()) != 1 {
			t.Errorf("%+v, %v, %q", r, err, e.Warnings())
		}
		if data, _ := os.ReadFile(victim); string(data) != "ours" {
			t.Errorf("%s is %q", victim, data)
		}
	}
}

// Files of a clone may lie as those of a repository do: git takes the directory
// for one, with whatever its file config says.
func TestFilesThatLieAsARepositoryAreNone(t *testing.T) {
	p := newPlace(t, true)
	planted := "sub/planted/"
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "objects/x": "", "refs/x": ""} {
		p.write(planted+name, text)
	}
	for _, config := range []string{"", "\tbare = true\n", "\tbare = false\n\tworktree = ..\n", "\tbare = false\n\tworktree = ../..\n", "\tworktree = " + filepath.ToSlash(p.home) + "\n"} {
		p.write(planted+"config", "[core]\n"+config+"[rewind]\n\tforce = true\n")
		for _, at := range []string{planted, planted + "refs"} {
			_, err := p.tryOpen(filepath.Join(p.dir, at))
			if !errors.Is(err, ErrRefused) {
				t.Errorf("%q, in %s: %v", config, at, err)
			}
		}
	}
	if r, err := p.open().Snapshot(context.Background(), nil); err != nil || len(r.Skipped) > 0 {
		t.Errorf("they are files of the worktree around them: %v, %v", r, err)
	}
}

// Where the file system does not keep when a directory was made, an inode is all
// that there is, and an archive may be unpacked to the same one. Nor may anything say for
// which directory the store is, here or where births are kept.
func TestAnOperationBoundToAnInodeAloneIsNotReplayed(t *testing.T) {
	for i, birth := range []string{"inode 5 in inode 6", "", ""} {
		p, first := interrupted(t)
		ctx := context.Background()
		open := func() *Engine {
			e := p.open()
			if i < 2 {
				e.birth = birth
			}
			return e
		}
		p.write("precious", "bytes")
		e := open()
		p.must(e.update(ctx, func(u *records.Update) error {
			for _, table := range []string{"worktrees", "histories"} {
				p.rebind(u, table, e.key, birth)
			}
			return u.Leftover(false, "precious")
		}))
		edited := p.edit()
		e = open()
		if st, err := e.Status(ctx); err != nil || st.Unfinished != nil || len(st.Warnings) != 1 || st.Undo == 0 {
			t.Errorf("%q: %+v, %v", birth, st, err)
		}
		r := p.take(e)
		if r.Recovered != nil || !errors.Is(r.Unfinished, ErrUnfinished) || p.read(edited) != "edited since" || p.read("precious") != "bytes" {
			t.Errorf("%q: %+v, %v, %q", birth, r.Recovered, r.Unfinished, p.read(edited))
		}
		e = open()
		if r, err := e.Snapshot(ctx, nil); err != nil || r.Unfinished != nil {
			t.Errorf("%q: it is said again: %v, %v", birth, err, r.Unfinished)
		}
		p.do(e, Op{To: first})
		p.wantState("restored", "one")
		p.undo(e)
		if p.read(edited) != "edited since" {
			t.Errorf("%q: after undo %q", birth, p.read(edited))
		}
	}
}

// born skips a test where directories cannot be told apart by their birth.
func born(t *testing.T, e *Engine) {
	t.Helper()
	if !strings.HasPrefix(e.birth, "born ") && runtime.GOOS == "linux" {
		t.Skip("SKIPPED: this file system does not keep when a directory was made")
	}
}

func TestAWorktreeThatIsAddedAgainIsAnotherOne(t *testing.T) {
	p := newPlace(t, true)
	ctx := context.Background()
	p.write("file", "committed")
	p.git("add", ".")
	p.git("commit", "-qm", "one")
	linked := filepath.Join(filepath.Dir(p.dir), "linked")
	main := p.dir
	add := func() *Engine {
		p.git("worktree", "add", "-q", "--detach", linked)
		return p.openAt(linked)
	}
	e := add()
	born(t, e)
	var first *Recorded
	for _, text := range []string{"one", "two"} {
		p.dir = linked
		for n := range 40 {
			p.write("d/"+strings.Repeat("x", n+1), text)
		}
		r := p.take(e)
		if first == nil {
			first = r
		}
	}
	p.do(e, Op{To: first.ID})
	p.undo(e)
	p.cut(doing(Op{Verb: Redo}))
	p.dir = main
	p.git("worktree", "remove", "--force", linked)
	e = add()
	for n := range 40 {
		p.must(os.MkdirAll(filepath.Join(linked, "d"), 0o755))
		p.must(os.WriteFile(filepath.Join(linked, "d", strings.Repeat("x", n+1)), []byte("three"), 0o644))
	}
	st := p.status(e)
	if st.Unfinished != nil || st.Undo+st.Redo != 0 || len(st.Warnings) == 0 {
		t.Errorf("before anything was recorded: %+v", st)
	}
	r := p.take(e)
	if r.Recovered != nil || !errors.Is(r.Unfinished, ErrUnfinished) {
		t.Errorf("finished for another worktree: %+v, %v", r.Recovered, r.Unfinished)
	}
	for n := range 40 {
		if data, _ := os.ReadFile(filepath.Join(linked, "d", strings.Repeat("x", n+1))); string(data) != "three" {
			t.Fatalf("a file of the new worktree is %q", data)
		}
	}
	for _, verb := range []string{Undo, Redo} {
		if _, err := e.Do(ctx, Op{Verb: verb}); !errors.Is(err, ErrNothing) {
			t.Errorf("what another worktree did is offered: %v", err)
		}
	}
	if r, err := e.Snapshot(ctx, nil); err != nil || r.Unfinished != nil {
		t.Errorf("it is said again: %v, %v", err, r.Unfinished)
	}
	_, err := e.Do(ctx, Op{To: first.ID}) // by its id it is there
	p.must(err)
	p.do(e, Op{Verb: Undo})
}

func TestAMovedRepositoryKeepsItsHistoryAndACopyDoesNot(t *testing.T) {
	p := newPlace(t, true)
	ctx := context.Background()
	p.write("d/f", "one")
	e := p.open()
	born(t, e)
	one := p.take(e)
	p.write("d/f", "two")
	p.do(e, Op{To: one.ID})
	moved, copied := p.dir+"-moved", p.dir+"-copied"
	p.must(os.Rename(p.dir, moved))
	if out, err := exec.Command("cp", "-a", moved, copied).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no cp -a here: %s", out)
	}
	c := p.openAt(copied)
	if _, err := c.Do(ctx, Op{Verb: Undo}); !errors.Is(err, ErrNothing) {
		t.Errorf("undo in a copy: %v", err)
	}
	if list, err := c.List(ctx, nil); err != nil || len(list) != 2 {
		t.Errorf("a copy lists %d snapshots, %v", len(list), err)
	}
	p.do(p.openAt(moved), Op{Verb: Undo})
	if data, _ := os.ReadFile(filepath.Join(moved, "d", "f")); string(data) != "two" {
		t.Errorf("undo in the moved repository gives %q", data)
	}
}

func TestADirectoryThatIsMadeAnewIsAnotherOne(t *testing.T) {
	p, _ := interrupted(t)
	born(t, p.open())
	p.must(os.RemoveAll(p.dir))
	time.Sleep(20 * time.Millisecond) // the clock of file systems stands still for some milliseconds
	p.must(os.Mkdir(p.dir, 0o755))
	p.write("d/000", "three0")
	r := p.take(p.open())
	if r.Recovered != nil || !errors.Is(r.Unfinished, ErrUnfinished) || p.read("d/000") != "three0" {
		t.Errorf("%+v, %v, %q", r.Recovered, r.Unfinished, p.read("d/000"))
	}
}
