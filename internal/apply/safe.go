package apply

import (
	"fmt"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

// safePath reports, as an [ErrUnsafe], why a path must not be written below a
// worktree, nor be put into a git tree: it is not a plain relative path, or a
// component is ".git" in some spelling that a file system folds to it. They
// are the names that git refuses with core.protectNTFS and core.protectHFS on
// (git-config(1)), and one that it overlooks, `\.git`. They are refused on
// every system, because a worktree may lie on a foreign file system or be
// copied to one:
//
//   - ".git" in any case;
//   - NTFS: the short name "git~1", either followed by dots and spaces or by a
//     ":" and a stream name, and a backslash taken for a slash;
//   - HFS+: ".git" with code points strewn in that it ignores.
//
// Paths are slash-separated bytes, as on disk.
func safePath(path string) error {
	if path == "" {
		return fmt.Errorf("%w: empty", ErrUnsafe)
	}
	for name := range strings.SplitSeq(path, "/") {
		switch {
		case name == "", name == ".", name == "..":
			return fmt.Errorf("%w: %q is no plain relative path", ErrUnsafe, path)
		case strings.ContainsRune(name, 0):
			return fmt.Errorf("%w: %q has a NUL byte", ErrUnsafe, path)
		case tree.DotGit(name):
			return fmt.Errorf("%w: %q can lead into a .git", ErrUnsafe, path)
		}
	}
	return nil
}
