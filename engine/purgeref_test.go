package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// append puts a commit that git has into our ref, as another program would.
func (p *place) append(id oid.ID) {
	p.t.Helper()
	empty := p.git("hash-object", "-w", "-t", "tree", "/dev/null")
	old, args := "", []string{"commit-tree", empty}
	if now, err := p.tryGit("rev-parse", "--verify", "-q", gitbridge.StoreRef); err == nil {
		old, args = now, append(args, "-p", now)
	}
	p.git("update-ref", gitbridge.StoreRef, p.git(append(args, "-p", id.String(), "-m", "pi rewind store")...), old)
}

// loseStore deletes the store and opens the worktree again.
func (p *place) loseStore(e *Engine) *Engine {
	p.t.Helper()
	p.must(errors.Join(e.Close(), os.RemoveAll(filepath.Join(p.dir, ".git", "rewind"))))
	return p.open()
}

// wantPurged checks that neither ref nor git has the secret after a collection,
// and that old ids find their snapshots.
func (p *place) wantPurged(e *Engine, old []oid.ID) {
	p.t.Helper()
	p.wantSecretGone(e)
	for _, id := range old {
		s := p.find(e, id.String())
		if s.ID == id || !has(p.inRef(e), s.ID) || has(p.inRef(e), id) {
			p.t.Errorf("%v became %v, the ref keeps %v", id, s.ID, p.inRef(e))
		}
		p.do(e, Op{To: s.ID})
	}
	p.wantClean(e)
}

func TestAPurgeAfterALostStoreTakesWhatTheRefHas(t *testing.T) {
	ctx := context.Background()
	p := newPlace(t, true)
	e := p.open()
	p.write("secret", secret)
	p.write("odd", "an overlay has its permissions")
	p.must(os.Chmod(filepath.Join(p.dir, "odd"), 0o600))
	old := []oid.ID{p.snap(e, "one", nil).ID, p.snap(e, "two", nil).ID, p.hookWith("secret", secret)}
	p.must(os.Remove(filepath.Join(p.dir, "secret")))
	last := p.snap(e, "three", nil).ID
	e = p.loseStore(e)
	dry, err := e.Purge(ctx, []string{"secret"}, true)
	p.must(err)
	if dry.Purged != 3 || !slices.Equal(dry.Paths, []Path{"secret"}) || p.storeOf(e) != nil {
		t.Errorf("a dry run: %+v, a store was made: %v", dry, p.storeOf(e) != nil)
	}
	out := p.purge(e, "secret")
	if out.Purged != 3 || len(out.Left) > 0 || out.Bridge != nil || !slices.Equal(out.Paths, dry.Paths) {
		t.Errorf("%+v", out)
	}
	if got := p.records(e); len(got) != 4 || !has(got, last) {
		t.Errorf("records: %v", got)
	}
	p.wantPurged(e, old)
	// Nobody takes a snapshot without its overlay for a whole one, now or after
	// another loss: what git cannot hold stays. Windows has no such permissions.
	for range 2 {
		s, err := e.Find(ctx, old[0].String())
		if err != nil && p.storeOf(e) == nil {
			s, err = e.Find(ctx, p.inRef(e)[0].String())
		}
		if err != nil || (s.Limits == nil || !s.Limits.GitOnly) && runtime.GOOS != "windows" {
			t.Errorf("%v: %+v", err, s)
		}
		e = p.loseStore(e)
	}
}

func TestAPurgeTakesWhatCameByFetch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t, true)
	e := p.open()
	p.write("secret", secret)
	old := []oid.ID{p.snap(e, "one", nil).ID, p.snap(e, "two", nil).ID}
	q := newPlace(t, true)
	f := q.open()
	q.write("secret", "another one")
	mine := q.snap(f, "mine", nil).ID
	q.git("fetch", "-q", p.dir, gitbridge.StoreRef+":refs/fetched")
	for _, id := range old {
		q.append(id)
	}
	q.git("update-ref", "-d", "refs/fetched")
	out, err := f.Purge(ctx, []string{"secret"}, false)
	q.must(err)
	if out.Purged != 3 || len(out.Left) > 0 || out.Bridge != nil {
		t.Errorf("%+v", out)
	}
	q.must(os.Remove(filepath.Join(q.dir, "secret")))
	q.wantPurged(f, append(old, mine))

	// The same snapshots come once more: they only go from the ref.
	before := q.records(f)
	q.git("fetch", "-q", p.dir, gitbridge.StoreRef+":refs/fetched")
	q.append(old[1])
	q.git("update-ref", "-d", "refs/fetched")
	if out, err = f.Purge(ctx, []string{"secret"}, false); err != nil || out.Purged != 1 || len(out.Left) > 0 || out.Bridge != nil {
		t.Errorf("%v: %+v", err, out)
	}
	if after := q.records(f); !slices.Equal(before, after) {
		t.Errorf("records %v became %v", before, after)
	}
	q.wantPurged(f, old)
}

func TestAPurgeNamesWhatItCouldNotPurge(t *testing.T) {
	ctx := context.Background()
	p := newPlace(t, true)
	e := p.open()
	p.write("secret", secret)
	p.write("d/f", "other")
	mine := p.snap(e, "one", nil)
	// Of one that came from elsewhere git lacks a tree, of another a file.
	commit := func(tree string) oid.ID {
		id, err := oid.Parse(tree)
		p.must(err)
		payload := gitbridge.EncodeSnapshot(gitbridge.Commit{Tree: id, Time: mine.Time, Identity: "a <a@b>"}, e.alg)
		made, err := oid.Parse(p.gitReading(string(payload), "hash-object", "-t", "commit", "-w", "--stdin", "--literally"))
		p.must(err)
		return made
	}
	tree := func(entries string) string { return p.gitReading(entries, "mktree", "--missing") }
	secretBlob := p.git("hash-object", "secret")
	noTree := commit(strings.Repeat("1", 40))
	noFile := commit(tree("100644 blob " + strings.Repeat("2", 40) + "\tgone\n100644 blob " + secretBlob + "\tsecret\n"))
	untouched := commit(tree("100644 blob " + strings.Repeat("3", 40) + "\tgone too\n"))
	for _, id := range []oid.ID{noTree, noFile, untouched} {
		p.append(id)
	}
	out := p.purge(e, "secret")
	left := pathsOf(out.Left)
	want := []string{noTree.String(), noFile.String()}
	slices.Sort(want)
	if out.Purged != 1 || !slices.Equal(left, want) || out.Bridge != nil {
		t.Errorf("%+v, left %v, want %v", out, left, want)
	}
	if s, err := e.Find(ctx, mine.ID.String()); err != nil || s.ID == mine.ID || has(p.inRef(e), mine.ID) {
		t.Errorf("%v: %v", err, s)
	}

	// A ref that cannot be read at all is made anew of what the store has, first.
	p.write("other secret", secret+"2")
	p.snap(e, "two", nil)
	p.must(os.WriteFile(filepath.Join(p.dir, ".git", filepath.FromSlash(gitbridge.StoreRef)), []byte(strings.Repeat("4", 40)+"\n"), 0o644))
	out = p.purge(e, "other secret")
	if got := p.inRef(e); out.Purged != 1 || len(out.Left) > 0 || out.Bridge != nil || len(got) != 2 || !slices.Equal(got, p.records(e)) {
		t.Errorf("%+v, the ref keeps %v", out, got)
	}
}

// A snapshot that is not whole any more hinders neither a purge of the others
// nor a prune.
func TestAPurgeLeavesWhatIsLostAndNamesIt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p, _, one := borrowed(t)
	p.write("tracked/7", secret)
	p.forget()
	e := p.open()
	two := p.take(e)
	if lost, err := e.Find(ctx, one.ID.String()); err != nil || lost.Lost == "" {
		t.Fatalf("%v: nothing is lost: this test proves nothing", err)
	}
	out := p.purge(e, "tracked/7")
	if out.Purged != 1 || out.Bridge != nil || len(out.Left) != 1 || string(out.Left[0].Path) != one.ID.String() || !strings.Contains(out.Left[0].Reason, "is gone") {
		t.Errorf("%+v", out)
	}
	if inFile(t, filepath.Join(e.dir, storeFile), secret) {
		t.Error("the store's file has it still")
	}
	if s, err := e.Find(ctx, two.ID.String()); err != nil || s.ID == two.ID {
		t.Errorf("%v: %v", err, s)
	}
	p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
}
