package watched

import (
	"path"

	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// follow watches directories that are new or may be others than before, and files that
// the scan met open for writing: nobody tells of what is stored to mapped memory.
func (u *Turn) follow(changed *worktree.Updated) error {
	t := u.tree
	for _, file := range u.writing {
		t.watcher.Open(file)
	}
	for _, c := range u.changes {
		if !c.Below {
			continue
		}
		for dir := range t.base.Dirs(path.Join(c.Dir, c.Name)) {
			if err := t.watcher.Add(dir); err != nil {
				return err
			}
		}
	}
	if changed == nil || !t.armed {
		for dir := range t.base.Dirs("") {
			if err := t.watchNew(dir); err != nil {
				return err
			}
		}
	}
	if changed == nil {
		return nil
	}
	for _, dir := range changed.Changed {
		if err := t.watchNew(dir); err != nil {
			return err
		}
	}
	for _, dir := range changed.Removed {
		t.watcher.Remove(dir)
	}
	return nil
}

func (t *Tree) watchNew(dir string) error {
	if t.watcher.Watches(dir) {
		return nil
	}
	return t.watcher.Add(dir)
}
