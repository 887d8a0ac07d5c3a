package gitbridge

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestTheStoreEqualsWhatPiRewindHookBuilds(t *testing.T) {
	gittest.Both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		b := r.open()
		first, second := r.snapshot(b, 1, map[string]string{"a": "1", "d/b": "2"}), r.snapshot(b, 2, map[string]string{"a": "1", "d/b": "3"})
		one := r.bridge(b, first)
		two := r.bridge(b, second)
		r.wantChain(b, first, second)
		r.Clean()

		// The same by the commands of pi-rewind-hook.
		snapshot := func(n int, j Job) string {
			c, err := DecodeSnapshot(j.Commit, alg)
			if err != nil {
				t.Fatal(err)
			}
			return r.commitTree(c.Time, "pi rewind snapshot", c.Tree.String())
		}
		strip := func(id string) string { // what differs: our header, and so the ids
			var out []string
			for line := range strings.Lines(r.Git("cat-file", "commit", id) + "\n") {
				if !strings.HasPrefix(line, "rewind ") {
					out = append(out, line)
				}
			}
			return strings.Join(out, "")
		}
		for n, j := range []Job{first, second} {
			if got, want := strip(j.Snapshot.String()), strip(snapshot(n, j)); got != want {
				t.Errorf("snapshot\n%s\nwant\n%s", got, want)
			}
		}
		empty := r.Git("hash-object", "-t", "tree", "/dev/null")
		k1 := r.commitTree(epoch.Add(time.Second), "pi rewind store", empty, "-p", first.Snapshot.String())
		k2 := r.commitTree(epoch.Add(2*time.Second), "pi rewind store", empty, "-p", k1, "-p", second.Snapshot.String())
		if one.Link.String() != k1 || two.Link.String() != k2 || r.Git("rev-parse", StoreRef) != k2 {
			t.Errorf("links %v, %v, want %s, %s", one.Link, two.Link, k1, k2)
		}
	})
}

func TestLargeMessagesOfCommitsDoNotStayInMemory(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b, empty := r.open(), r.Git("hash-object", "-t", "tree", "-w", "/dev/null")
	for i := range commitsMax {
		message := fmt.Sprint(i, strings.Repeat(" words", i%2<<20))
		c, err := b.ReadCommit(r.Parse(r.Give(message, "commit-tree", empty)))
		if err != nil || strings.TrimSuffix(c.Message, "\n") != message {
			t.Fatalf("commit %d has a message of %d bytes, error %v", i, len(c.Message), err)
		}
	}
	kept := 0
	for _, c := range b.commits.read {
		kept += len(c.Message)
	}
	if kept > commitsMax*commitBytesMax || len(b.commits.read) == 0 {
		t.Errorf("%d commits with %d bytes of messages are kept", len(b.commits.read), kept)
	}
}

// commitTree runs git commit-tree at a time.
func (r *repo) commitTree(at time.Time, message, tree string, args ...string) string {
	r.T.Helper()
	stamp := fmt.Sprintf("%d %s", at.Unix(), at.Format("-0700"))
	r.T.Setenv("GIT_AUTHOR_DATE", stamp)
	r.T.Setenv("GIT_COMMITTER_DATE", stamp)
	return r.Git(append([]string{"commit-tree", tree, "-m", message}, args...)...)
}

func TestAForeignStoreIsReadAndContinued(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.Write("f", "theirs")
	r.Git("add", "-A")
	treeID := r.Git("write-tree")
	empty := r.Git("hash-object", "-t", "tree", "/dev/null")
	theirs := r.commitTree(epoch, "pi rewind snapshot", treeID)
	k := r.commitTree(epoch, "pi rewind store", empty, "-p", theirs) // its tree is not in git
	r.Git("update-ref", StoreRef, k, strings.Repeat("0", 40))
	b := r.open()
	c := Commit{Tree: r.tree(map[string]string{"f": "ours"}), Time: epoch.Add(5 * time.Second), Identity: b.Identity(), From: "tallow " + theirs}
	p := EncodeSnapshot(c, r.alg) // an import: git finds nothing wrong with that
	r.bridge(b, Job{Snapshot: r.alg.Sum(oid.Commit, p), Commit: p, Load: r.load})
	r.Clean() // the empty tree is there now
	var got []StoreSnapshot
	for s, err := range b.Snapshots(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s)
	}
	if len(got) != 2 || !got[0].Native || got[0].From != c.From || got[1].Native || got[1].ID != r.Parse(theirs) || got[1].Tree != r.Parse(treeID) ||
		!got[1].Time.Equal(epoch.Truncate(time.Second)) || !got[0].Time.Equal(epoch.Add(5*time.Second)) {
		t.Errorf("%+v", got)
	}
}

func TestSnapshotsOfForeignKindsAreNamed(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	job := r.snapshot(b, 1, map[string]string{"f": "1"})
	r.bridge(b, job)
	second := r.snapshot(b, 2, map[string]string{"f": "2"})
	r.bridge(b, second)
	path := job.Snapshot.String()
	if err := os.Remove(r.Path(".git", "objects", path[:2], path[2:])); err != nil {
		t.Fatal(err)
	}
	n, lost := 0, 0
	for s, err := range r.open().Snapshots(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if s.Err != nil && s.ID == job.Snapshot {
			lost++
		}
	}
	if n != 2 || lost != 1 {
		t.Errorf("%d snapshots, %d lost, want 2 and 1", n, lost)
	}
	r.Git("update-ref", StoreRef, r.commitTree(epoch, "something else", r.Git("hash-object", "-t", "tree", "-w", "/dev/null")))
	for s, err := range r.open().Snapshots(context.Background()) {
		t.Errorf("a foreign commit is taken for a store: %v, %v", s, err)
	}
}
