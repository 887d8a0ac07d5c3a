package watched

import "github.com/seed-82afce7a/rewind/internal/worktree"

// follow watches directories that are new or may be others than before, and files that
// the scan met open for writing: nobody tells of what is stored to mapped memory.
func (u *Turn) follow(writing []string, changed *worktree.Updated) error {
	t := u.tree
	for _, file := range writing {
		t.watcher.Open(file)
	}
	for top := range u.changes.Below() {
		for dir := range t.table.Below(top) {
			if err := t.watcher.Add(dir); err != nil {
				return err
			}
		}
	}
	if changed == nil || !t.armed {
		for dir := range t.table.Below("") {
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
