package engine

import (
	"strings"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// What a plan asks of a capture: what the scan saw at a path, or left out.

// inTheWay reports whether something that the scan left out stands where a
// plan wants something else than a directory that is there already.
func (c *capture) inTheWay(change tree.Change) bool {
	st, ok := c.e.lstat(change.Path)
	return ok && !(change.To.Mode.IsDir() && st.Mode.IsDir())
}

// leftOut returns why the scan left out a directory that it named, "" if it
// named none there. What the settings leave out is never deleted, also where
// it could be recorded first.
func (c *capture) leftOut(path string) string {
	for _, s := range c.skipped {
		if string(s.Path) == path && c.directory(path).Mode.IsDir() {
			return s.Reason
		}
	}
	return ""
}

// hides reports whether what seems to be gone was left out: a directory where
// there was one, or a file or link where there was one of them.
func (c *capture) hides(change tree.Change) bool {
	st, ok := c.e.lstat(change.Path)
	return ok && st.Mode.IsDir() == change.From.Mode.IsDir()
}

// directory returns the directory at a path that the scan left out, because it
// is ignored; nothing if there is none.
func (c *capture) directory(path string) apply.Node {
	st, ok := c.e.lstat(path)
	if !ok || !st.Mode.IsDir() {
		return apply.Node{}
	}
	return apply.Node{Mode: st.Mode}
}

// lstat looks at a path, and not through a symbolic link on the way to it;
// false if nothing is there.
func (e *Engine) lstat(path string) (st dirfd.Stat, ok bool) {
	at, err := dirfd.Open(e.root)
	if err != nil {
		return st, false
	}
	defer at.Close()
	dir := parent(path)
	if dir != "" {
		if at, err = at.OpenDir(dir); err != nil {
			return st, false
		}
		defer at.Close()
	}
	st, err = at.Lstat(strings.TrimPrefix(path[len(dir):], "/"))
	return st, err == nil
}

// isRepository reports whether a directory has a ".git" of its own. A gitlink
// that is not checked out has none.
func (c *capture) isRepository(path string) bool {
	_, ok := c.e.lstat(path + "/.git")
	return ok
}

// fingerprint is what the scan saw at a path, for a restore to expect. What was
// young then has none: where clocks are coarse it may have been written again
// within the same tick, and then only its content can tell.
func (c *capture) fingerprint(path string) apply.Fingerprint {
	seen, ok := c.result.Lookup(path)
	if !ok || seen.Young {
		return apply.Fingerprint{}
	}
	return apply.Fingerprint{Mode: seen.Stat.Mode, Ino: seen.Stat.Ino, Size: seen.Stat.Size, Mtime: seen.Stat.Mtime, Ctime: seen.Stat.Ctime}
}
