package settings

import (
	"path"

	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// What rewind.ignored may be: which ignored files are recorded that no pattern
// of rewind.include names.
const (
	IgnoredNone  = "none"
	IgnoredSmall = "small" // small ones, of directories that are not ignored
	IgnoredAll   = "all"   // every one
)

// ignoredValues are in order: each records what the one before does, and more.
var ignoredValues = []string{IgnoredNone, IgnoredSmall, IgnoredAll}

// The limits of IgnoredSmall, as docs/cli.md has them. A file of settings has
// less than a megabyte; a directory has few of them; and the sums are small
// beside a repository, but large beside what people keep in such files.
const (
	ignoredFileBytes = 1 << 20
	ignoredDirFiles  = 32
	ignoredDirBytes  = 4 << 20
	ignoredFiles     = 1024
	ignoredBytes     = 64 << 20
)

// small returns the limits that are in force, nil where no limit is.
func (s *Settings) small() *worktree.Small {
	if s.Ignored != IgnoredSmall {
		return nil
	}
	limits := &worktree.Small{FileBytes: ignoredFileBytes, DirFiles: ignoredDirFiles, DirBytes: ignoredDirBytes, Files: ignoredFiles, Bytes: ignoredBytes, Product: isProduct}
	if s.MaxFileSize > 0 {
		limits.FileBytes = min(limits.FileBytes, s.MaxFileSize)
	}
	return limits
}

// products are the endings of the names that compilers and linkers give to what
// they make, as docs/cli.md has them.
var products = map[string]bool{
	".a": true, ".class": true, ".cmd": true, ".d": true, ".dll": true, ".dylib": true, ".exe": true, ".gcda": true, ".gcno": true, ".ko": true, ".la": true,
	".lib": true, ".lo": true, ".mod": true, ".o": true, ".obj": true, ".order": true, ".pyc": true, ".pyo": true, ".rlib": true, ".rmeta": true, ".so": true,
}

func isProduct(name string) bool {
	switch ext := path.Ext(name); {
	case ext == ".cmd" && name[0] != '.', name == "go.mod": // those of make are hidden; people write the others
		return false
	default:
		return products[ext]
	}
}

// Small says which ignored files are recorded unasked, as [worktree.Policy] says.
func (p *policy) Small() *worktree.Small { return p.small }

// Names reports whether rewind.include names an ignored file.
func (s *Settings) Names(path string) bool {
	return len(s.Include) > 0 && chainOf(s.Include).Ignored(path, false, noFile)
}
