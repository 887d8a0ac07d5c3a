package gitbridge

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// loose writes an object that nothing refers to, and returns its file.
func (r *repo) loose(text string) string {
	r.T.Helper()
	r.Write("file", text)
	id := r.Git("hash-object", "-w", "file")
	return r.Path(".git", "objects", id[:2], id[2:])
}

func TestACollectionTakesWhatIsOldAndLeavesAllElse(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	for i, text := range []string{"one", "two", "three"} {
		r.loose(text)
		r.Git("add", "-A")
		r.Git("commit", "-q", "-m", text)
		if i == 1 {
			r.Git("branch", "lost")
		}
	}
	gone := r.Git("rev-parse", "HEAD")
	r.Git("reset", "-q", "--hard", "HEAD~1") // the reflog alone keeps it
	log := r.Path(".git", "logs", "HEAD")
	young, old := r.loose("young"), r.loose(strings.Repeat("old and large ", 1<<16))
	ago := time.Now().Add(-15 * 24 * time.Hour)
	if err := os.Chtimes(old, ago, ago); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`> \d+ `).ReplaceAll(text, []byte("> 1000000000 ")) // long expired, if anybody asked
	if err := os.WriteFile(log, text, 0o644); err != nil {
		t.Fatal(err)
	}
	ran := r.Path("ran")
	r.Script(".git/hooks/reference-transaction", "touch "+ran)
	b := r.open()
	before, after, err := b.Collect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if before <= after {
		t.Errorf("%d bytes before, %d after", before, after)
	}
	has := func(path string) bool {
		id := filepath.Base(filepath.Dir(path)) + filepath.Base(path)
		_, err := r.Try("cat-file", "-e", id)
		return err == nil
	}
	if !has(young) || has(old) {
		t.Errorf("young %v, old %v", has(young), has(old))
	}
	if now, _ := os.ReadFile(log); string(now) != string(text) {
		t.Errorf("the reflog is %q", now)
	}
	if _, err := r.Try("cat-file", "-e", gone); err != nil {
		t.Error("what the reflog keeps is gone")
	}
	if _, err := os.Stat(r.Path(".git", "refs", "heads", "lost")); err != nil {
		t.Errorf("a ref was moved to another file: %v", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a hook ran")
	}
	r.Git("fsck", "--strict")
}

func TestACollectionIsRefusedWhereAProgramSaysWhatToKeep(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	old := r.loose("kept by a program")
	ago := time.Now().Add(-15 * 24 * time.Hour)
	if err := os.Chtimes(old, ago, ago); err != nil {
		t.Fatal(err)
	}
	r.Git("config", "gc.recentObjectsHook", "true")
	if _, _, err := r.open().Collect(context.Background()); !errors.Is(err, ErrUnsupportedRepository) || !strings.Contains(err.Error(), "recentObjectsHook") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(old); err != nil {
		t.Error("it was collected")
	}
}

// An archive may bring such a link along, and a configuration that lets git collect at
// once.
func TestACollectionThroughALinkTakesNothingFromAnotherRepository(t *testing.T) {
	gittest.Links(t)
	for _, name := range []string{"objects", "objects/pack"} {
		other := newRepo(t, oid.SHA1)
		other.loose("the other's")
		other.Git("add", "-A")
		other.Git("commit", "-q", "-m", "the other's")
		other.Git("repack", "-q", "-a", "-d")
		r := newRepo(t, oid.SHA1)
		r.loose("one")
		r.Git("add", "-A")
		r.Git("config", "gc.pruneExpire", "now")
		place := r.Path(".git", name)
		if err := errors.Join(os.RemoveAll(place), os.Symlink(filepath.Join(other.Dir, ".git", name), place)); err != nil {
			t.Fatal(err)
		}
		r.Git("hash-object", "-w", "file")
		r.Git("commit", "-q", "--allow-empty", "-m", "one")
		if _, _, err := r.open().Collect(context.Background()); !errors.Is(err, ErrUnsupportedRepository) || !strings.Contains(err.Error(), place+" is a link") {
			t.Errorf("%s: %v", name, err)
		}
		other.Git("fsck", "--full", "--strict")
		other.Git("cat-file", "-e", "HEAD:file")
	}
}

func TestWhatWeWroteIsWeighedAndWhatGitPackedIsNot(t *testing.T) {
	for _, files := range []int{3, 2 * looseMax} { // in files of their own, in a pack
		r := newRepo(t, oid.SHA1)
		r.loose(strings.Repeat("the user's own", 1<<10))
		b := r.openNoted()
		if n := b.Weight(); n != 0 {
			t.Errorf("%d bytes before anything was written", n)
		}
		var ids []oid.ID
		payloads := map[oid.ID][]byte{}
		for i := range files {
			p := []byte(strings.Repeat(string(rune('a'+i%26)), 100+i))
			id := r.alg.Sum(oid.Blob, p)
			ids, payloads[id] = append(ids, id), p
		}
		release, err := b.Put(context.Background(), ids, func(id oid.ID) (Object, error) { return gitodb.Payload(oid.Blob, payloads[id]), nil })
		if err != nil {
			t.Fatal(err)
		}
		release()
		weight := b.Weight()
		objects, size, err := b.DiskSize(context.Background(), append(ids, r.alg.Sum(oid.Blob, []byte("nowhere"))))
		if err != nil || objects != files || size == 0 || weight < size {
			t.Errorf("%d files: %d bytes weighed; %d objects of %d bytes, %v", files, weight, objects, size, err)
		}
		if weight > 1<<20 {
			t.Errorf("%d bytes weighed", weight)
		}
		r.Git("update-ref", "refs/heads/keep", r.Git("commit-tree", "-m", "x", r.Git("write-tree")))
		r.Git("gc", "-q", "--prune=now")
		if n := b.Weight(); n != 0 {
			t.Errorf("%d bytes are left after git collected", n)
		}
	}
}
