package engine

import (
	"path"

	"github.com/seed-82afce7a/rewind/engine/plan"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// seen returns what a plan is to know of a capture.
func (c *capture) seen() *plan.Present {
	p := &plan.Present{State: c.state, Disk: disk{c}}
	for _, n := range c.skipped {
		p.LeftOut = append(p.LeftOut, plan.Note{Path: string(n.Path), Reason: n.Reason})
	}
	return p
}

// A disk answers a plan's questions about single paths.
type disk struct{ c *capture }

// Mode is what [plan.Disk] asks for.
func (d disk) Mode(path string) tree.Mode {
	st, _ := d.c.e.lstat(path)
	return st.Mode
}

// Empty is what [plan.Disk] asks for.
func (d disk) Empty(path string) bool {
	dir, err := d.c.e.openDir(path)
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.List()
	return err == nil && len(names) == 0
}

// Seen is the fingerprint of what the scan saw. What was young then has none:
// where clocks are coarse it may have been written again within the same tick,
// and then only its content can tell.
func (d disk) Seen(path string) apply.Fingerprint {
	seen, ok := d.c.result.Lookup(path)
	if !ok || seen.Young {
		return apply.Fingerprint{}
	}
	return apply.Fingerprint{Mode: seen.Stat.Mode, Ino: seen.Stat.Ino, Size: seen.Stat.Size, Mtime: seen.Stat.Mtime, Ctime: seen.Stat.Ctime}
}

// lstat looks at a path, and not through a symbolic link on the way to it;
// false if nothing is there.
func (e *Engine) lstat(rel string) (st dirfd.Stat, ok bool) {
	dir, err := e.openDir(parent(rel))
	if err != nil {
		return st, false
	}
	defer dir.Close()
	st, err = dir.Lstat(path.Base(rel))
	return st, err == nil
}

// openDir opens a directory of the worktree, "" for its root.
func (e *Engine) openDir(rel string) (*dirfd.Dir, error) {
	root, err := dirfd.Open(e.root)
	if err != nil || rel == "" {
		return root, err
	}
	defer root.Close()
	return root.OpenDir(rel)
}

// parent returns the directory of a path, "" for the worktree itself.
func parent(rel string) string {
	if dir := path.Dir(rel); dir != "." {
		return dir
	}
	return ""
}
