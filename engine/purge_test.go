package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-82afce7a/rewind/engine/internal/plan"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// inFile reports whether bytes stand in a file, or in anything that is compressed in it.
func inFile(t *testing.T, path string, text string) bool {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	magic := []byte{0x28, 0xb5, 0x2f, 0xfd}
	for rest := data; ; rest = rest[len(magic):] {
		at := bytes.Index(rest, magic)
		if at < 0 {
			break
		}
		rest = rest[at:]
		if raw, _ := z.DecodeAll(rest, nil); bytes.Contains(raw, []byte(text)) { // its error is of what follows the frame
			return true
		}
	}
	return bytes.Contains(data, []byte(text))
}

const secret = "q7Zk-P3xV9-wB2mT-8LrNd"

func TestPurgedContentIsNowhereAndOldIdsStillFindTheirSnapshots(t *testing.T) {
	for _, git := range []bool{true, false} {
		p := newPlace(t, git)
		e := p.open()
		ctx := context.Background()
		var old []oid.ID
		p.write("keys/a.key", secret)
		p.write("keys/b.txt", "kept")
		old = append(old, p.snap(e, "one", nil).ID)
		p.write("only/deep/b.key", secret+"2")
		old = append(old, p.snap(e, "two", &SnapshotOptions{Session: "s", Entry: "e"}).ID)
		p.remove("only")
		p.must(os.Remove(filepath.Join(p.dir, "keys/a.key")))
		old = append(old, p.snap(e, "three", nil).ID)
		p.do(e, Op{To: old[0]})
		var hook oid.ID
		if git {
			hook = p.hookWith("keys/a.key", secret)
		}
		before := p.records(e)
		if !inFile(t, filepath.Join(e.dir, storeFile), secret) {
			t.Fatal("the store's file never had it readable: this test proves nothing")
		}
		dry, err := e.Purge(ctx, []string{":(glob)*.key"}, true)
		p.must(err)
		if !slices.Equal(p.records(e), before) || dry.Purged == 0 {
			t.Errorf("a dry run did something: %+v", dry)
		}
		out := p.purge(e, ":(glob)*.key")
		if out.Bridge != nil || out.Purged != dry.Purged || !slices.Equal(out.Paths, []Path{"keys/a.key", "only/deep/b.key"}) {
			t.Errorf("%+v, announced %+v", out, dry)
		}
		if inFile(t, filepath.Join(e.dir, storeFile), secret) {
			t.Error("the store's file has it still")
		}
		if git {
			p.gitForgot(e, hook)
		}
		p.wantWithout(e, old)
		// The file in the worktree stays, also through a restore and an undo.
		if p.read("keys/a.key") != secret {
			t.Fatal("the worktree was touched")
		}
		if _, err := e.Do(ctx, Op{To: old[1]}); err != nil || p.read("keys/a.key") != secret || p.read("file") != "two" {
			t.Errorf("%v: %q, %q", err, p.read("keys/a.key"), p.read("file"))
		}
		if _, err := e.Do(ctx, Op{Verb: Undo}); err != nil || p.read("file") != "one" {
			t.Errorf("%v: %q", err, p.read("file"))
		}
		if _, err := e.Do(ctx, Op{Verb: Undo}); err != nil || p.read("file") != "three" {
			t.Errorf("%v: %q", err, p.read("file"))
		}
		if git {
			p.wantClean(e)
		}
	}
}

// wantWithout checks that every old id finds its snapshot, without the path.
func (p *place) wantWithout(e *Engine, old []oid.ID) {
	p.t.Helper()
	ctx := context.Background()
	for i, id := range old {
		s := p.find(e, id.String())
		var buf bytes.Buffer
		if err := e.Cat(ctx, s, "keys/a.key", &buf); err == nil {
			p.t.Errorf("snapshot %d has %q", i, &buf)
		}
		buf.Reset()
		if err := e.Cat(ctx, s, "keys/b.txt", &buf); err != nil || buf.String() != "kept" {
			p.t.Errorf("snapshot %d: %v, %q", i, err, &buf)
		}
	}
	if s, _ := e.Find(ctx, old[1].String()); len(s.Points) != 1 || s.Points[0].Entry != "e" || s.ID == old[1] {
		p.t.Errorf("%+v", s)
	}
}

// hookWith appends a snapshot of pi-rewind-hook's that has one more file.
func (p *place) hookWith(name, text string) oid.ID {
	p.t.Helper()
	p.write(name, text)
	p.git("add", "-A")
	tree := p.git("write-tree")
	p.git("rm", "-r", "-q", "--cached", ".")
	snapshot := p.git("commit-tree", tree, "-m", "pi rewind snapshot")
	empty := p.git("hash-object", "-w", "-t", "tree", "/dev/null")
	old := p.git("rev-parse", gitbridge.StoreRef)
	p.git("update-ref", gitbridge.StoreRef, p.git("commit-tree", empty, "-p", old, "-p", snapshot, "-m", "pi rewind store"), old)
	id, err := oid.Parse(snapshot)
	p.must(err)
	return id
}

// wantSecretGone checks that no ref has the secret, nor git after a collection.
func (p *place) wantSecretGone(e *Engine) {
	p.t.Helper()
	blob := e.alg.Sum(oid.Blob, []byte(secret)).String()
	if out := p.git("rev-list", "--objects", "--all"); strings.Contains(out, blob) {
		p.t.Error("a ref has it still")
	}
	p.collect()
	if _, err := p.tryGit("cat-file", "-e", blob); err == nil {
		p.t.Error("git has it still")
	}
}

// gitForgot checks that a collection takes the purged contents, and that the
// snapshot of another program is found under its old id.
func (p *place) gitForgot(e *Engine, hook oid.ID) {
	p.t.Helper()
	p.wantSecretGone(e)
	s := p.find(e, hook.String())
	if s.Source == nil || s.Source.Commit != hook || !strings.Contains(p.git("cat-file", "commit", s.ID.String()), "\nrewind-from pi-rewind-hook "+hook.String()+"\n") {
		p.t.Errorf("it is not said that the snapshot is %v: %+v", hook, s.Source)
	}
	if got := p.inRef(e); s.ID == hook || !has(got, s.ID) || has(got, hook) {
		p.t.Errorf("%v became %v, the ref keeps %v", hook, s.ID, got)
	}
}

func TestAPurgeSaysWhatGitKeeps(t *testing.T) {
	p := newPlace(t, true)
	p.write("tracked.key", secret)
	p.commit("one")
	p.git("config", "core.logAllRefUpdates", "always")
	p.git("config", "gc.pruneExpire", "3.days.ago")
	e := p.open()
	p.snap(e, "two", nil)
	out := p.purge(e, "tracked.key")
	if g := out.Git; g.Objects != 1 || g.Expire != "3.days.ago" || !g.Reflog || !slices.Equal(g.Tracked, []Path{"tracked.key"}) {
		t.Errorf("%+v", g)
	}
}

func TestAPinByAnOldIdHoldsThePurgedSnapshot(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.write("keys/a.key", secret)
	old := p.snap(e, "one", nil).ID
	p.purge(e, "keys/a.key")
	p.snap(e, "two", nil)
	p.must(e.Pin(context.Background(), "one", old))
	if out := p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1}); len(out.Dropped) > 0 {
		t.Errorf("dropped: %v", out.Dropped)
	}
	p.find(e, old.String())
}

func TestAPurgeWaitsUntilFilesThatAreAwayAreBack(t *testing.T) {
	for _, git := range []bool{true, false} {
		p := newPlace(t, git)
		e := p.open()
		ctx := context.Background()
		p.write("key", "old "+secret)
		first := p.snap(e, "one", nil).Snapshot
		p.write("key", "the only copy of mine")
		home, err := e.StartBisect(ctx, nil)
		p.must(err)
		p.do(e, Op{To: first.ID})
		if out, err := e.Purge(ctx, []string{"key"}, false); !errors.Is(err, ErrRefused) {
			t.Errorf("git %v: while the present is in a snapshot alone: %+v, %v", git, out, err)
		}
		if _, err := e.Do(ctx, Op{To: home.ID}); err != nil || p.read("key") != "the only copy of mine" {
			t.Errorf("git %v: %q, %v", git, p.read("key"), err)
		}
		p.must(e.SetBisect(ctx, oid.ID{}, nil))
		if out, err := e.Purge(ctx, []string{"key"}, false); err != nil || out.Purged == 0 {
			t.Errorf("git %v: when it is back: %+v, %v", git, out, err)
		}
	}
}

func TestAPurgeWaitsForAnInterruptedRestoreOfAnotherWorktree(t *testing.T) {
	p := newPlace(t, true)
	ctx := context.Background()
	name := func(n int) string { return fmt.Sprintf("d/%03d", n) }
	all := func(text string) {
		for n := range 60 {
			p.write(name(n), fmt.Sprint(text, n))
		}
	}
	all("one")
	p.commit("one")
	linked := filepath.Join(filepath.Dir(p.dir), "linked")
	p.git("worktree", "add", "-q", "--detach", linked)
	f := p.openAt(linked)
	p.snap(f, "linked", nil)
	one := p.snap(p.open(), "one", nil).Snapshot
	all("two")
	op := p.edited(p.open(), one, name(59), secret)
	op.Paths = []string{"d"}
	p.cut(doing(op))
	if out, err := f.Purge(ctx, []string{name(59)}, false); !errors.Is(err, ErrRefused) {
		t.Errorf("the store holds what is to be written: %+v, %v", out, err)
	}
	_, err := p.open().recoverNow(ctx)
	p.must(err)
	p.want(name(59), secret)
	if out, err := f.Purge(ctx, []string{name(59)}, false); err != nil || out.Purged == 0 {
		t.Errorf("when it has ended: %+v, %v", out, err)
	}
	if inFile(t, filepath.Join(f.dir, storeFile), secret) {
		t.Error("the store still has it")
	}
}

// A purge that is killed after it has rewritten the records, or that meets a full disk
// then, is begun again by who was told so. No snapshot has the path any more.
func TestAPurgeThatWasKilledIsFinishedByTheNextThoughNoSnapshotHasThePath(t *testing.T) {
	for _, git := range []bool{true, false} {
		p := newPlace(t, git)
		e := p.open()
		p.write("a.key", secret)
		p.write("b", "kept")
		p.snap(e, "one", nil)
		sel, err := plan.Select([]string{"a.key"}, func(string) (bool, error) { return true, nil })
		p.must(err)
		killed := &purging{e: e, sel: sel, removed: map[string]bool{}, blobs: map[oid.ID]bool{}, left: map[Path]string{}}
		if n, err := killed.round(t.Context()); n == 0 || err != nil {
			t.Fatalf("%d snapshots, %v", n, err)
		}
		p.must(e.Close())
		e = p.open()
		if !inFile(t, filepath.Join(e.dir, storeFile), secret) {
			t.Fatal("the store's file has it no more: this test proves nothing")
		}
		out, err := e.Purge(t.Context(), []string{"a.key"}, true)
		p.must(err)
		if out.Purged != 0 || !inFile(t, filepath.Join(e.dir, storeFile), secret) {
			t.Errorf("a dry run: %+v", out)
		}
		out = p.purge(e, "a.key")
		if out.Purged != 0 || out.Bridge != nil {
			t.Errorf("%+v", out)
		}
		if inFile(t, filepath.Join(e.dir, storeFile), secret) {
			t.Error("the store's file has it still")
		}
	}
}
