package engine_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A peers is a repository in which checkpoints are made as other systems make
// them, with the git program.
type peers struct {
	t   *testing.T
	dir string
	tmp string
}

func newPeers(t *testing.T, args ...string) *peers {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: the git program is not here, and it makes the checkpoints of this test")
	}
	for name, value := range map[string]string{
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": t.TempDir(), "XDG_CONFIG_HOME": "",
		"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@localhost", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@localhost",
	} {
		t.Setenv(name, value)
	}
	p := &peers{t: t, dir: t.TempDir(), tmp: t.TempDir()}
	p.git(append([]string{"init", "-q", "-b", "main"}, args...)...)
	return p
}

func (p *peers) gitWith(env []string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *peers) git(args ...string) string { p.t.Helper(); return p.gitWith(nil, args...) }

// commit makes everything a commit of the user's.
func (p *peers) commit(message string) {
	p.t.Helper()
	p.git("add", "-A")
	p.git("commit", "-q", "-m", message)
}

func (p *peers) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		p.t.Fatal(err)
	}
}

// hook makes a snapshot through an empty index and keeps it by a ref, as
// pi-rewind-hook did before 1.8 and in the same way does since.
func (p *peers) hook(ms string) oid.ID {
	p.t.Helper()
	index := filepath.Join(p.tmp, ms)
	env := []string{"GIT_INDEX_FILE=" + index}
	p.gitWith(env, "add", "-A")
	id := p.git("commit-tree", p.gitWith(env, "write-tree"), "-m", "rewind backup")
	p.git("update-ref", "refs/pi-checkpoints/checkpoint-"+ms, id)
	parsed, err := oid.Parse(id)
	if err != nil {
		p.t.Fatal(err)
	}
	return parsed
}

func (p *peers) open() *engine.Engine {
	p.t.Helper()
	e, err := engine.Open(context.Background(), p.dir, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { e.Close() })
	return e
}

func (p *peers) restore(id oid.ID) *engine.Restored {
	p.t.Helper()
	r, err := p.open().Do(context.Background(), engine.Op{To: id})
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// want compares files with what should be in them; "-" means no file.
func (p *peers) want(files map[string]string) {
	p.t.Helper()
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(p.dir, name))
		if errors.Is(err, os.ErrNotExist) {
			got = []byte("-")
		} else if err != nil {
			p.t.Error(err)
		}
		if string(got) != want {
			p.t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
}

func (p *peers) kept(r *engine.Restored) (paths []string) {
	for _, n := range r.Kept {
		paths = append(paths, string(n.Path))
	}
	return paths
}

// What a fresh index cannot have seen, and what its own rules ignored, stays:
// files that were force-added, ignored then and not now, or ignored now.
func TestWhatAFreshIndexCouldNotSeeStays(t *testing.T) {
	p := newPeers(t)
	p.write(".gitignore", "*.log\nlocal.env\n")
	p.write("a", "1")
	p.write("forced.log", "tracked though ignored")
	p.write("local.env", "secret")
	p.git("add", "-A")
	p.git("add", "-f", "forced.log")
	p.git("commit", "-q", "-m", "first")
	id := p.hook("1772600767089")
	p.write(".gitignore", "data/\n") // local.env and *.log are no longer ignored, data is
	p.write("data/set", "never seen")
	p.write("late.log", "not ignored now, but by the rules of then")
	p.write("a", "2")
	p.write("later", "new")
	r := p.restore(id)
	p.want(map[string]string{
		"a": "1", ".gitignore": "*.log\nlocal.env\n", "later": "-",
		"forced.log": "tracked though ignored", "local.env": "secret", "data/set": "never seen",
		"late.log": "not ignored now, but by the rules of then",
	})
	if got := p.kept(r); !slices.Contains(got, "forced.log") || !slices.Contains(got, "local.env") || !slices.Contains(got, "late.log") {
		t.Errorf("kept and named: %q", got)
	}
	if _, err := p.open().Do(context.Background(), engine.Op{Verb: engine.Undo}); err != nil {
		t.Fatal(err)
	}
	p.want(map[string]string{"a": "2", "later": "new", "data/set": "never seen", "local.env": "secret", ".gitignore": "data/\n"})
}

// Git's tree says nothing of permissions, empty directories and what lies in
// repositories inside the worktree: a restore leaves them as they are.
func TestWhatGitCannotHoldStays(t *testing.T) {
	p := newPeers(t, "--object-format=sha256")
	p.write("same", "1")
	p.write("changed", "1")
	p.commit("first")
	p.git("init", "-q", "--object-format=sha256", "inner")
	p.write("inner/file", "1")
	p.git("-C", "inner", "add", "-A")
	p.git("-C", "inner", "commit", "-q", "-m", "inner")
	id := p.hook("1772600767089")
	p.write("changed", "2")
	p.write("inner/file", "2")
	p.write("inner/new", "2")
	p.git("init", "-q", "--object-format=sha256", "cloned")
	p.write("cloned/unpushed", "work")
	for _, err := range []error{
		os.Chmod(filepath.Join(p.dir, "same"), 0o600), os.Chmod(filepath.Join(p.dir, "changed"), 0o640),
		os.Mkdir(filepath.Join(p.dir, "empty"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := p.open().Diff(context.Background(), p.find(id), nil, nil)
	if err != nil || len(d.Changes) != 1 || d.Changes[0].Path != "changed" {
		t.Errorf("diff %v, %v: want changed alone", d.Changes, err)
	}
	r := p.restore(id)
	p.want(map[string]string{"same": "1", "changed": "1", "inner/file": "2", "inner/new": "2", "cloned/unpushed": "work"})
	for name, want := range map[string]os.FileMode{"same": 0o600, "changed": 0o640, "empty": 0o700} {
		if info, err := os.Stat(filepath.Join(p.dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if got := p.kept(r); !slices.Equal(got, []string{"cloned", "empty"}) || len(r.Conflicts) > 0 {
		t.Errorf("kept %q, conflicts %v", got, r.Conflicts)
	}
}

func (p *peers) find(id oid.ID) *engine.Snapshot {
	p.t.Helper()
	s, err := p.open().Find(context.Background(), id.String())
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// Of a file whose bytes git converts the checkpoint has git's form alone.
func TestAConvertedFileIsAConflict(t *testing.T) {
	p := newPeers(t)
	p.write(".gitattributes", "*.txt text eol=crlf\n")
	p.write("a.txt", "1\r\n")
	p.write("same.txt", "1\r\n")
	p.commit("first")
	id := p.hook("1772600767089")
	p.write("a.txt", "2\r\n")
	r := p.restore(id)
	p.want(map[string]string{"a.txt": "2\r\n", "same.txt": "1\r\n"})
	if len(r.Conflicts) != 1 || r.Conflicts[0].Path != "a.txt" {
		t.Errorf("conflicts %v, want a.txt", r.Conflicts)
	}
}

// A sparse checkout hides files from a fresh index; when it is turned off they
// are there, and the checkpoint does not say that they were not.
func TestWhatASparseCheckoutHidStays(t *testing.T) {
	p := newPeers(t)
	p.write("in/a", "1")
	p.write("out/b", "1")
	p.commit("first")
	p.git("sparse-checkout", "set", "in")
	id := p.hook("1772600767089")
	p.git("sparse-checkout", "disable")
	p.write("in/a", "2")
	p.write("later", "1")
	p.restore(id)
	p.want(map[string]string{"in/a": "1", "out/b": "1", "later": "-"})
}

// Two systems that keep the same commit are one snapshot, with the limits of
// both; an import makes it one of ours, findable by the id it had.
func TestOneCommitIsOneSnapshot(t *testing.T) {
	p := newPeers(t)
	p.write("a", "1")
	p.commit("first")
	for _, ref := range []string{"refs/tallow/rewind/s1/turn-1", "refs/tallow/rewind/s2/turn-9"} {
		p.git("update-ref", ref, "HEAD")
	}
	ctx, e := context.Background(), p.open()
	all, err := e.List(ctx, &engine.ListOptions{All: true})
	if err != nil || len(all) != 1 || len(all[0].Points) != 2 || !all[0].Limits.Incomplete {
		t.Fatalf("%+v, %v", all, err)
	}
	if of, err := e.List(ctx, &engine.ListOptions{All: true, Session: "s2"}); err != nil || len(of) != 1 {
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
	if _, err := e.Find(ctx, "@"); !errors.Is(err, engine.ErrNoSnapshot) {
		t.Errorf("@ is an import: %v", err)
	}
	if !strings.Contains(p.git("log", "--format=%H", "refs/pi-rewind/store"), done.Imported[0].ID.String()) {
		t.Error("the store ref does not keep it")
	}
}

// A time beyond the calendar is a checkpoint's own mistake and stops no other.
func TestAnImpossibleTimeIsSkipped(t *testing.T) {
	p := newPeers(t)
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
	p := newPeers(t)
	p.write("a", "1")
	p.commit("first")
	id := p.git("commit-tree", "HEAD^{tree}", "-m", "pi rewind snapshot")
	empty := p.git("hash-object", "-t", "tree", "-w", "/dev/null")
	p.git("update-ref", "refs/pi-rewind/store", p.git("commit-tree", empty, "-p", id, "-m", "pi rewind store"))
	agent := t.TempDir()
	t.Setenv("PI_CODING_AGENT_DIR", agent)
	lines := strings.NewReplacer("DIR", p.dir, "ID", id).Replace(`{"type":"session","version":3,"id":"s1","timestamp":"2026-03-04T05:06:07Z","cwd":"DIR"}
{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-03-04T05:06:08Z","message":{"role":"user","content":"fix the parser"}}
{"type":"message","id":"00000002","parentId":"00000001","timestamp":"2026-03-04T05:06:09Z","message":{"role":"assistant","content":[]}}
{"type":"custom","customType":"rewind-turn","data":{"v":2,"snapshots":["ID"],"bindings":[["00000001",0],["00000002",0]]},"id":"00000003","parentId":"00000002","timestamp":"2026-03-04T05:06:10Z"}
`)
	sessions := filepath.Join(agent, "sessions", "--x--")
	if err := errors.Join(os.MkdirAll(sessions, 0o700), os.WriteFile(filepath.Join(sessions, "s_s1.jsonl"), []byte(lines), 0o600)); err != nil {
		t.Fatal(err)
	}
	e := p.open()
	list, err := e.List(context.Background(), &engine.ListOptions{All: true, Session: "s1"})
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
	p := newPeers(t)
	p.write("a", "1")
	p.commit("first")
	for _, ms := range []string{"1772600767001", "1772600767002", "1772600767003"} {
		p.write("a", ms)
		p.hook(ms)
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
	all, err := p.open().List(context.Background(), &engine.ListOptions{All: true})
	if err != nil || sum != 3 || len(all) != 3 {
		t.Errorf("%d imported, %d listed, %v: want 3", sum, len(all), err)
	}
	if out := p.git("fsck", "--strict", "--full"); strings.Contains(out, "missing") {
		t.Error(out)
	}
}
