package gitbridge

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// lastParents walks the store as a reader does that knows only links of one
// snapshot: first parents, while they are links, and the last parent of each.
func (r *repo) lastParents() (out []string) {
	r.T.Helper()
	at := r.Git("rev-parse", StoreRef)
	for {
		line := strings.Fields(r.Git("log", "-1", "--format=%P", at))
		if r.Git("log", "-1", "--format=%s", at) != linkMessage || len(line) == 0 {
			return out
		}
		out = append(out, line[len(line)-1])
		if len(line) == 1 {
			return out
		}
		at = line[0]
	}
}

// foreign appends a snapshot with the commands of pi-rewind-hook.
func (r *repo) foreign(n int) string {
	r.T.Helper()
	empty := r.Git("hash-object", "-w", "-t", "tree", "/dev/null")
	id := r.commitTree(epoch.Add(time.Duration(n)*time.Second), snapshotMessage, empty)
	args := []string{"-p", id}
	old, err := r.Try("rev-parse", "--verify", "-q", StoreRef)
	if err == nil {
		args = append([]string{"-p", old}, args...)
	}
	link := r.commitTree(epoch, linkMessage, empty, args...)
	r.Git("update-ref", StoreRef, link, old)
	return id
}

func TestAFoldedChainIsShortAndKeepsEverySnapshot(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	var want []string
	var others []string
	for n := range 150 {
		if n%40 == 20 {
			want = append(want, r.foreign(n))
			others = append(others, want[n])
			continue
		}
		j := r.snapshot(b, n, map[string]string{"a": fmt.Sprint(n)})
		r.bridge(b, j)
		want = append(want, j.Snapshot.String())
		if n == 70 || n == 71 || n == 100 {
			if err := b.Fold(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 { // the second has nothing to do
		if err := b.Fold(context.Background()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for s, err := range b.Snapshots(context.Background()) {
			if err != nil || s.Err != nil {
				t.Fatal(err, s.Err)
			}
			got = append(got, s.ID.String())
		}
		slices.Reverse(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%d snapshots, want %d in their order", len(got), len(want))
		}
	}
	found := r.lastParents()
	for _, id := range others {
		if !slices.Contains(found, id) {
			t.Errorf("a reader of last parents does not find the snapshot %s of another program", id)
		}
	}
	if len(found) > 15 {
		t.Errorf("%d links for %d snapshots", len(found), len(want))
	}
	r.Clean()
	mirror, pushed, bundle := t.TempDir(), filepath.Join(t.TempDir(), "p.git"), filepath.Join(t.TempDir(), "b")
	r.Git("gc", "-q", "--prune=now")
	r.Git("clone", "-q", "--mirror", r.Dir, mirror)
	r.Git("init", "-q", "--bare", pushed)
	r.Git("push", "-q", "--mirror", pushed)
	r.Git("bundle", "create", "-q", bundle, "--all")
	r.Git("bundle", "verify", "-q", bundle)
	for _, dir := range []string{mirror, pushed} {
		r.Git("-C", dir, "fsck", "--strict")
		for _, id := range want {
			r.Git("-C", dir, "cat-file", "-e", id+"^{tree}")
		}
	}
}

func TestAFoldThatRacesASnapshotLosesNeither(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	var jobs []Job
	for n := range 60 {
		jobs = append(jobs, r.snapshot(b, n, map[string]string{"a": fmt.Sprint(n)}))
	}
	other := r.open()
	done := make(chan error)
	go func() {
		var err error
		for range 20 {
			if e := other.Fold(context.Background()); e != nil {
				err = e
			}
		}
		done <- err
	}()
	for _, j := range jobs {
		r.bridge(b, j)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	r.wantChain(b, jobs...)
	r.Clean()
}

func TestARefThatIsNoIDIsNamedAndRepairedOnRequest(t *testing.T) {
	for _, text := range []string{"", "\x00\x00\x00", "not an id\n"} {
		r := newRepo(t, oid.SHA1)
		b := r.open()
		first, second := r.snapshot(b, 1, many(2)), r.snapshot(b, 2, many(3))
		r.bridge(b, first)
		r.Write(".git/"+StoreRef, text)
		if _, err := b.Bridge(context.Background(), second); !errors.Is(err, ErrBroken) {
			t.Errorf("%q: %v, want ErrBroken", text, err)
		}
		r.rebuild(first, second)
		r.wantChain(b, first, second)
		r.Clean()
	}
}
