package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// A server keeps the store open from one request to the next. Whatever became of
// the worktree, its repository and its store meanwhile is seen by the next request.

type kept struct {
	*served
	dir, first string
}

// keptIn starts a server that has taken a snapshot of a file "a" and has its store open.
func keptIn(t *testing.T, dir string) *kept {
	t.Helper()
	put(t, dir, "a", "one")
	k := &kept{served: newServed(t, dir), dir: dir}
	k.first = k.must("snapshot", nil)["id"].(string)
	k.must("list", nil)
	return k
}

func (k *kept) git(args ...string) {
	k.t.Helper()
	(&gittest.Repo{T: k.t, Dir: k.dir}).Git(args...)
}

func (k *kept) ids() (ids []string) {
	k.t.Helper()
	for _, s := range k.must("list", map[string]any{"all": true})["snapshots"].([]any) {
		ids = append(ids, s.(map[string]any)["id"].(string))
	}
	return ids
}

func TestAServerSeesASettingThatChanged(t *testing.T) {
	t.Parallel()
	k := keptIn(t, repository(t))
	put(t, k.dir, "b", "two")
	k.git("config", "rewind.gitMaxFileSize", "1k")
	k.git("config", "rewind.nonsense", "1")
	if text := warningsOf(k.must("status", nil)); !strings.Contains(text, "nonsense") {
		t.Errorf("a setting that is unknown is not named: %s", text)
	}
	k.git("config", "--unset", "rewind.nonsense")
	if text := warningsOf(k.must("status", nil)); strings.Contains(text, "nonsense") {
		t.Errorf("a setting that was taken away is named: %s", text)
	}
}

func warningsOf(status map[string]any) string {
	var out []string
	list, _ := status["warnings"].([]any)
	for _, w := range list {
		out = append(out, w.(string))
	}
	return strings.Join(out, "\n")
}

func TestAServerSeesWhereHEADIs(t *testing.T) {
	t.Parallel()
	k := keptIn(t, repository(t))
	k.git("checkout", "-qb", "elsewhere")
	put(t, k.dir, "a", "two")
	k.git("add", "-A")
	k.git("commit", "-qm", "two")
	put(t, k.dir, "a", "three")
	id := k.must("snapshot", nil)["id"].(string)
	for _, s := range k.must("list", nil)["snapshots"].([]any) {
		if s := s.(map[string]any); s["id"] == id && s["branch"] != "elsewhere" {
			t.Errorf("the snapshot is of branch %v", s["branch"])
		}
	}
}

func TestAServerLivesThroughACollectionOfGit(t *testing.T) {
	t.Parallel()
	k := keptIn(t, repository(t))
	for _, text := range []string{"two", "three", "four"} {
		put(t, k.dir, "a", text)
		k.must("snapshot", nil)
		k.git("repack", "-adq")
		k.git("prune", "--expire=now")
		k.must("diff", map[string]any{"from": k.first, "format": "patch"})
	}
	k.git("gc", "-q", "--prune=now")
	k.must("restore", map[string]any{"id": k.first})
	if p, err := os.ReadFile(filepath.Join(k.dir, "a")); err != nil || string(p) != "one" {
		t.Errorf("a has %q, %v", p, err)
	}
	k.git("fsck", "--strict")
}

func TestAServerSeesAnotherRepositoryInThePlace(t *testing.T) {
	t.Parallel()
	k := keptIn(t, repository(t))
	if err := os.RemoveAll(filepath.Join(k.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	k.git("init", "-q")
	if ids := k.ids(); len(ids) != 0 {
		t.Errorf("a new repository has snapshots: %v", ids)
	}
	put(t, k.dir, "a", "two")
	now := k.must("snapshot", nil)["id"].(string)
	if ids := k.ids(); len(ids) != 1 || ids[0] != now {
		t.Errorf("it has %v, and %s was recorded", ids, now)
	}
	k.git("rev-parse", "--verify", "-q", "refs/pi-rewind/store")
	k.fails(3, "restore", map[string]any{"id": k.first})
}

func TestAServerSeesThatARepositoryCameOrWent(t *testing.T) {
	t.Parallel()
	k := keptIn(t, t.TempDir())
	k.git("init", "-q")
	put(t, k.dir, "a", "two")
	if k.must("snapshot", nil); k.must("status", nil)["git"] != true {
		t.Error("git is not seen")
	}
	if err := os.RemoveAll(filepath.Join(k.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if ids := k.ids(); len(ids) != 1 || ids[0] != k.first {
		t.Errorf("without git there are %v, and %s was recorded", ids, k.first)
	}
}

func TestAServerSeesAnotherStoreInThePlace(t *testing.T) {
	t.Parallel()
	k, other := keptIn(t, t.TempDir()), keptIn(t, t.TempDir())
	mine, theirs := filepath.Dir(k.must("status", nil)["store"].(string)), filepath.Dir(other.must("status", nil)["store"].(string))
	if err := errors.Join(os.Rename(mine, filepath.Join(t.TempDir(), "old")), os.Rename(theirs, mine)); err != nil {
		t.Fatal(err)
	}
	ids := k.ids()
	if len(ids) != 1 || ids[0] != other.first {
		t.Errorf("the store of the other has %v, not %s", ids, other.first)
	}
	if ids := other.ids(); len(ids) != 0 {
		t.Errorf("a store that was taken away has %v", ids)
	}
	if err := os.Remove(filepath.Join(mine, "store.db")); err != nil {
		t.Fatal(err)
	}
	if ids := k.ids(); len(ids) != 0 {
		t.Errorf("a store that is gone has %v", ids)
	}
	put(t, k.dir, "a", "two")
	k.must("snapshot", nil)
	if ids := k.ids(); len(ids) != 1 {
		t.Errorf("the new store has %v", ids)
	}
}

func TestAServerSeesAStoreThatIsDamagedNow(t *testing.T) {
	t.Parallel()
	k := keptIn(t, repository(t))
	path := filepath.Join(k.dir, ".git/rewind/store.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	k.fails(4, "list", nil)
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if ids := k.ids(); len(ids) != 1 || ids[0] != k.first {
		t.Errorf("put back it has %v, not %s", ids, k.first)
	}
}

func TestAServerSeesThatAWorktreeIsGone(t *testing.T) {
	t.Parallel()
	k := keptIn(t, repository(t))
	linked := filepath.Join(t.TempDir(), "linked")
	k.git("commit", "-q", "--allow-empty", "-m", "one")
	k.git("worktree", "add", "-q", linked)
	l := keptIn(t, linked)
	k.git("worktree", "remove", "--force", linked)
	l.fails(1, "snapshot", nil)
	k.git("worktree", "add", "-q", "--force", linked, "linked")
	l.git("reset", "-q", "--hard")
	if l.fails(1, "undo", nil); len(k.ids()) == 0 {
		t.Error("the snapshots of the repository are gone")
	}
	put(t, linked, "a", "anew")
	if got := l.must("snapshot", nil); got["id"] == l.first {
		t.Errorf("a worktree that was made anew has the snapshot of the one before: %v", got)
	}
}

func TestAServerSeesWhoseAStoreIsNow(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give a file to another user")
	}
	t.Setenv("SUDO_UID", "")
	for _, name := range []string{"", "config", "rewind", "rewind/store.db", "rewind/store.db.lock"} {
		k := keptIn(t, repository(t))
		at := filepath.Join(k.dir, ".git", name)
		if err := os.Chown(at, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		trusted := name == "config" // of a repository that is ours a single file may be anybody's
		if git := k.must("status", nil)["git"]; git != trusted {
			t.Errorf("%q is another user's, and git is in it: %v", name, git)
		}
		if err := os.Chown(at, 0, 0); err != nil {
			t.Fatal(err)
		}
		if ids := k.ids(); len(ids) != 1 || ids[0] != k.first {
			t.Errorf("%q is ours again, and there are %v, not %s", name, ids, k.first)
		}
	}
}

func TestServeGivesALabelAndTakesItAway(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	s := newServed(t, dir)
	put(t, dir, "a", "one\n")
	id := s.must("snapshot", nil)["id"].(string)
	s.must("label", map[string]any{"id": id, "label": "as it was"})
	s.must("show", map[string]any{"id": "label:as it was"})
	s.must("label", map[string]any{"id": id, "label": "as it was", "remove": true})
	s.fails(3, "show", map[string]any{"id": "label:as it was"})
	s.fails(1, "label", map[string]any{"id": id, "label": " "})
}
