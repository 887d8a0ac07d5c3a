package command

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
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

func (k *kept) ids() (ids []string) {
	k.t.Helper()
	for _, s := range k.must("list", map[string]any{"all": true})["snapshots"].([]any) {
		ids = append(ids, s.(map[string]any)["id"].(string))
	}
	return ids
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
