package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	for _, config := range []string{"", "\tbare = true\n", "\tbare = false\n\tworktree = ..\n", "\tbare = false\n\tworktree = ../..\n", "\tworktree = " + p.home + "\n"} {
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
