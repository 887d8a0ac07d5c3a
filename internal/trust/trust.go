// Package trust decides whether a git directory, a worktree, a store or a state
// directory on disk is the user's own. Nothing of one that is not may be obeyed
// or written. This is the one place that decides it (docs/decisions/0013-trust.md).
//
// It promises git's rule (safe.directory in git-config(1)): a path belongs to
// the effective user, or, where that is root, to the user who called sudo. It is
// stricter in one thing: of a symbolic link what it leads to has to belong to
// the user too. It reads no file and writes nothing.
package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrForeign is what every [Foreign] is, for [errors.Is].
var ErrForeign = errors.New("belongs to somebody else")

// A Foreign is the error for a path that is not the user's own.
type Foreign struct {
	Path  string // what is not the user's own
	Owner string // whose it is, "" where that cannot be told
	Named string // what a setting safe.directory would have to name to allow it; "" where no setting does
	Why   string // what else is wrong than its owner, as a part of a sentence; "" for nothing
}

// Error says whose the path is.
func (f *Foreign) Error() string {
	switch {
	case f.Why != "":
		return f.Path + " " + f.Why
	case f.Owner == "":
		return f.Path + " may not be looked at, and so is not known to be yours"
	}
	return fmt.Sprintf("%s belongs to %s, not to you", f.Path, f.Owner)
}

// Is makes every Foreign an [ErrForeign].
func (f *Foreign) Is(target error) bool { return target == ErrForeign }

// A Judge decides for one user.
type Judge struct {
	// Env looks up an environment variable; nil is [os.Getenv].
	Env func(name string) string
	// Allowed reports whether the user's own settings make an exception for a
	// name; nil makes none. It is asked only about what is not the user's own.
	Allowed func(name string) bool
}

// Owns returns nil if all the paths are the user's own, and a [Foreign] for the
// first that is not. A path at which nothing is, and an empty one, is nobody's
// and no hindrance; one that may not even be looked at is somebody else's. If
// the user made an exception for name, all of them are allowed.
func (j *Judge) Owns(name string, paths ...string) error {
	for _, path := range paths {
		f := j.foreign(path)
		if f == nil {
			continue
		}
		if name != "" && j.Allowed != nil && j.Allowed(name) {
			return nil
		}
		f.Named = name
		return f
	}
	return nil
}

// foreign looks at a path, and at what it leads to if it is a link.
func (j *Judge) foreign(path string) *Foreign {
	if path == "" {
		return nil
	}
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if !j.owned(path, info) {
			return &Foreign{Path: path, Owner: ownerOf(path, info)}
		}
		info, err = os.Stat(path)
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return &Foreign{Path: path}
	case err != nil || j.owned(path, info):
		return nil
	}
	return &Foreign{Path: path, Owner: ownerOf(path, info)}
}

// Owned reports whether a file, of which info tells, is the user's own. The path
// counts only where info does not tell whose it is.
func Owned(path string, info fs.FileInfo) bool { return (&Judge{}).owned(path, info) }

func (j *Judge) env(name string) string {
	if j.Env == nil {
		return os.Getenv(name)
	}
	return j.Env(name)
}

// SameOwner reports whether two paths are known to belong to one user.
func SameOwner(a, b string) bool {
	infoA, errA := os.Lstat(a)
	infoB, errB := os.Lstat(b)
	if errA != nil || errB != nil {
		return false
	}
	return ownerOf(a, infoA) == ownerOf(b, infoB)
}
