package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// checkpoint makes a snapshot through an empty index and keeps it by a ref, as
// pi-rewind-hook did before 1.8 and in the same way does since.
func (p *place) checkpoint(ms string) oid.ID {
	p.t.Helper()
	index := filepath.Join(p.dir, ".git", "index")
	own, err := os.ReadFile(index)
	p.must(errors.Join(err, os.Remove(index)))
	p.git("add", "-A")
	made := p.git("commit-tree", p.git("write-tree"), "-m", "rewind backup")
	p.git("update-ref", "refs/pi-checkpoints/checkpoint-"+ms, made)
	p.must(os.WriteFile(index, own, 0o644))
	id, err := oid.Parse(made)
	p.must(err)
	return id
}

// What a fresh index cannot have seen, and what its own rules ignored, stays:
// files that were force-added, ignored then and not now, or ignored now.
func TestWhatAFreshIndexCouldNotSeeStays(t *testing.T) {
	p := newPlace(t, true)
	p.write(".gitignore", "*.log\nlocal.env\n")
	p.write("a", "1")
	p.write("forced.log", "tracked though ignored")
	p.write("local.env", "secret")
	p.git("add", "-A")
	p.git("add", "-f", "forced.log")
	p.git("commit", "-q", "-m", "first")
	id := p.checkpoint("1772600767089")
	p.write(".gitignore", "data/\n") // local.env and *.log are no longer ignored, data is
	p.write("data/set", "never seen")
	p.write("late.log", "not ignored now, but by the rules of then")
	p.write("a", "2")
	p.write("later", "new")
	r := p.do(p.open(), Op{To: id})
	p.want("a", "1", ".gitignore", "*.log\nlocal.env\n", "later", "-",
		"forced.log", "tracked though ignored", "local.env", "secret", "data/set", "never seen",
		"late.log", "not ignored now, but by the rules of then")
	if got := pathsOf(r.Kept); !slices.Contains(got, "forced.log") || !slices.Contains(got, "local.env") || !slices.Contains(got, "late.log") {
		t.Errorf("kept and named: %q", got)
	}
	p.undo(p.open())
	p.want("a", "2", "later", "new", "data/set", "never seen", "local.env", "secret", ".gitignore", "data/\n")
}

// Git's tree says nothing of permissions, empty directories and what lies in
// repositories inside the worktree: a restore leaves them as they are.
func TestWhatGitCannotHoldStays(t *testing.T) {
	gittest.Modes(t)
	p := newPlace(t, false)
	p.git("init", "-q", "-b", "main", "--object-format=sha256")
	p.initGit()
	p.write("same", "1")
	p.write("changed", "1")
	p.commit("first")
	p.git("init", "-q", "--object-format=sha256", "inner")
	p.write("inner/file", "1")
	p.git("-C", "inner", "add", "-A")
	p.git("-C", "inner", "commit", "-q", "-m", "inner")
	id := p.checkpoint("1772600767089")
	p.write("changed", "2")
	p.write("inner/file", "2")
	p.write("inner/new", "2")
	p.git("init", "-q", "--object-format=sha256", "cloned")
	p.write("cloned/unpushed", "work")
	p.must(errors.Join(os.Chmod(filepath.Join(p.dir, "same"), 0o600), os.Chmod(filepath.Join(p.dir, "changed"), 0o640),
		os.Mkdir(filepath.Join(p.dir, "empty"), 0o700)))
	e := p.open()
	if d := p.diff(e, p.find(e, id.String()), nil); len(d.Changes) != 1 || d.Changes[0].Path != "changed" {
		t.Errorf("diff %v: want changed alone", d.Changes)
	}
	r := p.do(e, Op{To: id})
	p.want("same", "1", "changed", "1", "inner/file", "2", "inner/new", "2", "cloned/unpushed", "work")
	for name, want := range map[string]os.FileMode{"same": 0o600, "changed": 0o640, "empty": 0o700} {
		if info, err := os.Stat(filepath.Join(p.dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if got := pathsOf(r.Kept); !slices.Equal(got, []string{"cloned", "empty"}) || len(r.Conflicts) > 0 {
		t.Errorf("kept %q, conflicts %v", got, r.Conflicts)
	}
}

// Of a file whose bytes git converts the checkpoint has git's form alone.
func TestAConvertedFileIsAConflict(t *testing.T) {
	p := newPlace(t, true)
	p.write(".gitattributes", "*.txt text eol=crlf\n")
	p.write("a.txt", "1\r\n")
	p.write("same.txt", "1\r\n")
	p.commit("first")
	id := p.checkpoint("1772600767089")
	p.write("a.txt", "2\r\n")
	r := p.do(p.open(), Op{To: id})
	p.want("a.txt", "2\r\n", "same.txt", "1\r\n")
	if len(r.Conflicts) != 1 || r.Conflicts[0].Path != "a.txt" {
		t.Errorf("conflicts %v, want a.txt", r.Conflicts)
	}
}

// A sparse checkout hides files from a fresh index; when it is turned off they
// are there, and the checkpoint does not say that they were not.
func TestWhatASparseCheckoutHidStays(t *testing.T) {
	p := newPlace(t, true)
	p.write("in/a", "1")
	p.write("out/b", "1")
	p.commit("first")
	p.git("sparse-checkout", "set", "in")
	id := p.checkpoint("1772600767089")
	p.git("sparse-checkout", "disable")
	p.write("in/a", "2")
	p.write("later", "1")
	p.do(p.open(), Op{To: id})
	p.want("in/a", "1", "out/b", "1", "later", "-")
}

// Two systems that keep the same commit are one snapshot, with the limits of
// both; an import makes it one of ours, findable by the id it had.
func TestOneCommitIsOneSnapshot(t *testing.T) {
	p := newPlace(t, true)
	p.write("a", "1")
	p.commit("first")
	for _, ref := range []string{"refs/tallow/rewind/s1/turn-1", "refs/tallow/rewind/s2/turn-9"} {
		p.git("update-ref", ref, "HEAD")
	}
	ctx, e := context.Background(), p.open()
	all, err := e.List(ctx, &ListOptions{All: true})
	if err != nil || len(all) != 1 || len(all[0].Points) != 2 || !all[0].Limits.Incomplete {
		t.Fatalf("%+v, %v", all, err)
	}
	if of, err := e.List(ctx, &ListOptions{All: true, Session: "s2"}); err != nil || len(of) != 1 {
		t.Errorf("of the session: %v, %v", of, err)
	}
	done, err := e.Import(ctx, "", false)
	if err != nil || len(done.Imported) != 1 || done.Bridge != nil || len(done.Left) > 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	s, err := e.Find(ctx, all[0].ID.String())
	if err != nil || s.ID != done.Imported[0].ID || s.Source.Kind != "tallow" || !s.Limits.Incomplete {
		t.Errorf("by its old id: %+v, %v", s, err)
	}
	if s, err := e.Find(ctx, all[0].ID.String()[:8]); err != nil || s.ID != done.Imported[0].ID {
		t.Errorf("by a prefix: %+v, %v", s, err)
	}
	if _, err := e.Find(ctx, "@"); !errors.Is(err, ErrNoSnapshot) {
		t.Errorf("@ is an import: %v", err)
	}
	if !strings.Contains(p.git("log", "--format=%H", "refs/pi-rewind/store"), done.Imported[0].ID.String()) {
		t.Error("the store ref does not keep it")
	}
}

// A time beyond the calendar is a checkpoint's own mistake and stops no other.
func TestAnImpossibleTimeIsSkipped(t *testing.T) {
	p := newPlace(t, true)
	p.write("a", "1")
	p.commit("first")
	p.git("update-ref", "refs/checkpoints/main/1", p.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "checkpoint:999999999999:before:a"))
	p.git("update-ref", "refs/checkpoints/main/2", p.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "checkpoint:1772600767:before:a"))
	e := p.open()
	done, err := e.Import(context.Background(), "", false)
	if err != nil || len(done.Imported) != 1 || len(done.Left) != 1 || done.Left[0].Path != "refs/checkpoints/main/1" {
		t.Fatalf("%+v, %v", done, err)
	}
	if r, err := e.Snapshot(context.Background(), nil); err != nil || r.Bridge != nil {
		t.Errorf("a snapshot afterwards: %v, %v", r, err)
	}
}

// The commits of pi-rewind-hook say nothing; its ledger says what they are for.
func TestTheLedgerTellsWhatAHooksSnapshotsAreFor(t *testing.T) {
	p := newPlace(t, true)
	p.write("a", "1")
	p.commit("first")
	id := p.hook("of the hook")
	talk := p.session(filepath.Join(p.home, ".pi", "agent"), "s1", p.dir, "")
	asked := talk.entry("message", map[string]any{"message": map[string]any{"role": "user", "content": "fix the parser"}})
	answered := talk.entry("message", map[string]any{"message": map[string]any{"role": "assistant", "content": []any{}}})
	talk.entry("custom", map[string]any{"customType": "rewind-turn", "data": map[string]any{
		"v": 2, "snapshots": []string{id.String()}, "bindings": []any{[]any{asked, 0}, []any{answered, 0}},
	}})
	talk.save(p)
	e := p.open()
	list, err := e.List(context.Background(), &ListOptions{All: true, Session: "s1"})
	if err != nil || len(list) != 1 || list[0].Label() != "fix the parser" || len(list[0].Points) != 2 || list[0].Points[1].Entry != "00000002" {
		t.Fatalf("%+v, %v", list, err)
	}
	done, err := e.Import(context.Background(), "pi-rewind-hook", false)
	if err != nil || len(done.Imported) != 1 || done.Imported[0].Label() != "fix the parser" {
		t.Fatalf("%+v, %v", done, err)
	}
	if dropped, err := e.Prune(context.Background(), nil); err != nil || len(dropped.Dropped) != 0 {
		t.Errorf("prune: %+v, %v", dropped, err)
	}
}

// Many processes may import at once: each checkpoint is imported once.
func TestImportsAtOnceMakeEachSnapshotOnce(t *testing.T) {
	p := newPlace(t, true)
	p.write("a", "1")
	p.commit("first")
	for _, ms := range []string{"1772600767001", "1772600767002", "1772600767003"} {
		p.write("a", ms)
		p.checkpoint(ms)
	}
	var wg sync.WaitGroup
	made := make([]int, 8)
	for i := range made {
		e := p.open()
		wg.Go(func() {
			done, err := e.Import(context.Background(), "", false)
			if err != nil || done.Bridge != nil {
				t.Errorf("%+v, %v", done, err)
				return
			}
			made[i] = len(done.Imported)
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range made {
		sum += n
	}
	all, err := p.open().List(context.Background(), &ListOptions{All: true})
	if err != nil || sum != 3 || len(all) != 3 {
		t.Errorf("%d imported, %d listed, %v: want 3", sum, len(all), err)
	}
	if out := p.git("fsck", "--strict", "--full"); strings.Contains(out, "missing") {
		t.Error(out)
	}
}
