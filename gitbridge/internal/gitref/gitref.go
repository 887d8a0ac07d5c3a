// Package gitref reads and writes the refs of a repository whose refs are files
// (loose refs and packed-refs), beside any number of git processes.
//
// A ref moves only by compare-and-swap under git's own "<ref>.lock" protocol:
// who holds the lock file reads the ref again, writes the new value into the
// lock file, and renames it over the ref. So no update is lost and no reader,
// git or other, ever sees half a ref. A lock of somebody else is waited for and
// never removed; one that a killed process of ours left behind is (see
// [Options]).
//
// The package knows no objects: that an id exists is the caller's promise. It
// does not know the reftable format.
package gitref

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// Errors that a caller branches on.
var (
	// ErrNotFound is reported for a ref that does not exist.
	ErrNotFound = errors.New("no such ref")
	// ErrInvalidName is reported for a name that git does not allow.
	ErrInvalidName = errors.New("not a valid ref name")
	// ErrCorrupt is reported for a ref, or a packed-refs file, that is not
	// what git writes. git calls it a broken ref.
	ErrCorrupt = errors.New("ref is broken")
	// ErrMoved is reported for an update whose ref has another value than the
	// caller expected; nothing was changed.
	ErrMoved = errors.New("ref has moved")
	// ErrLocked is reported for a lock file that stayed for too long.
	ErrLocked = errors.New("ref is locked by another process")
	// ErrLockFile is an [ErrLocked] of a lock file that no process of ours has made, or
	// of which that cannot be told. It may stay for ever.
	ErrLockFile = errors.New("a lock file stays")
	// ErrConflict is reported where a ref cannot exist beside another one,
	// because one name lies in the other's directory.
	ErrConflict = errors.New("ref is in conflict with another one")
)

// Options say how refs are written; nil and the zero value are the recommended
// ones.
type Options struct {
	// Patience is how long a lock is waited for; 0 is 30 seconds.
	Patience time.Duration
	// Own is the path, in a directory of the program's own, to which names are
	// appended: a lock on "<Own>.lock" is held by whoever moves a ref, and
	// "<Own>.held" says which lock file of the ref is that one's. So a lock
	// file left by a process that was killed is known and removed. Empty, or
	// where that lock cannot be had: such a lock file is like any other.
	Own string
	// LogAlways creates reflogs that are not there (core.logAllRefUpdates =
	// always). Without it an update is logged only where a log exists.
	LogAlways bool
	// Committer is who a reflog names, "Name <mail>"; empty is rewind itself.
	Committer string
	// Share is called with every file and directory made, before it has its
	// name, to give it the permissions core.sharedRepository asks for. Nil
	// leaves what the umask gives.
	Share func(path string) error
}

// A Store is the refs of one worktree's repository. It holds no files; it may
// be shared by goroutines, and the directories by processes.
type Store struct {
	gitDir    string
	commonDir string
	alg       oid.Algorithm
	opt       Options
}

// Open returns the refs of a repository. In a linked worktree gitDir is the
// worktree's own directory, elsewhere both are the same. Nothing is read.
func Open(gitDir, commonDir string, alg oid.Algorithm, opt *Options) *Store {
	s := &Store{gitDir: gitDir, commonDir: commonDir, alg: alg}
	if opt != nil {
		s.opt = *opt
	}
	if s.opt.Patience == 0 {
		s.opt.Patience = 30 * time.Second
	}
	if s.opt.Committer == "" {
		s.opt.Committer = "rewind <rewind@localhost>"
	}
	return s
}

// A Ref is a name with what it stands for.
type Ref struct {
	Name   string
	ID     oid.ID // zero for a symbolic ref to a ref that does not exist
	Target string // the ref that a symbolic ref ends at, else ""
}

// symbolicDepthMax is how many symbolic refs git follows.
const symbolicDepthMax = 5

// Read returns a ref, following symbolic ones to their end. HEAD of a
// repository without a commit is symbolic and has no id. The errors are
// ErrNotFound, ErrInvalidName, ErrCorrupt and those of the system.
func (s *Store) Read(name string) (Ref, error) {
	ref := Ref{Name: name}
	at := name
	for range symbolicDepthMax + 1 {
		if !readable(at) {
			return Ref{}, fmt.Errorf("%q: %w", at, ErrInvalidName)
		}
		id, target, err := s.value(at)
		if err != nil {
			return Ref{}, err
		}
		if target == "" {
			if ref.ID = id; id.IsZero() && ref.Target == "" {
				return Ref{}, fmt.Errorf("%s: %w", name, ErrNotFound)
			}
			return ref, nil
		}
		ref.Target, at = target, target
	}
	return Ref{}, fmt.Errorf("%s: %w: too many symbolic refs", name, ErrCorrupt)
}

// value returns what a ref's file or packed-refs says: an id or the name of
// another ref, neither where there is none.
func (s *Store) value(name string) (oid.ID, string, error) {
	id, target, err := s.loose(name)
	if err != nil || target != "" || !id.IsZero() {
		return id, target, err
	}
	id, err = s.packed(name)
	return id, "", err
}

// looseBytesMax bounds the file of one ref.
const looseBytesMax = 4096

// loose reads a ref's own file; neither id nor target where there is none.
func (s *Store) loose(name string) (id oid.ID, target string, err error) {
	path := s.path(name)
	if link, err := os.Readlink(path); err == nil && strings.HasPrefix(filepath.ToSlash(link), "refs/") {
		return oid.ID{}, filepath.ToSlash(link), nil // as core.preferSymlinkRefs makes them
	}
	p, err := readFile(path, looseBytesMax)
	if absent(err) {
		return oid.ID{}, "", nil
	}
	if err != nil {
		return oid.ID{}, "", err
	}
	id, target, ok := s.parse(p)
	if !ok {
		return oid.ID{}, "", fmt.Errorf("%s: %w", name, ErrCorrupt)
	}
	return id, target, nil
}

// parse reads the content of a ref's file: an id, or "ref:" and a name.
func (s *Store) parse(p []byte) (id oid.ID, target string, ok bool) {
	if rest, symbolic := bytes.CutPrefix(p, []byte("ref:")); symbolic {
		target = strings.TrimSpace(string(rest))
		return oid.ID{}, target, target != ""
	}
	digits := 2 * s.alg.Size()
	if len(p) < digits || len(p) > digits && !strings.ContainsRune(" \t\r\n", rune(p[digits])) {
		return oid.ID{}, "", false
	}
	id, err := s.alg.Parse(string(p[:digits]))
	return id, "", err == nil
}

// absent reports whether an error says that a path holds no file: nothing is
// there, a directory is, or a file is where a directory would have to be.
func absent(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR)
}

// readFile reads a file that must not be larger than limit.
func readFile(path string, limit int64) ([]byte, error) {
	p, err := regular.Read(path, limit)
	if errors.Is(err, regular.ErrLarge) || errors.Is(err, regular.ErrIrregular) {
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return p, err
}

// perWorktree lists the refs that each worktree has for itself, beside those
// that do not begin with "refs/" (gitrepository-layout, "refs").
var perWorktree = []string{"refs/bisect/", "refs/worktree/", "refs/rewritten/"}

// dir returns the directory that a ref's file lies below.
func (s *Store) dir(name string) string {
	if !strings.HasPrefix(name, "refs/") {
		return s.gitDir
	}
	for _, prefix := range perWorktree {
		if strings.HasPrefix(name, prefix) {
			return s.gitDir
		}
	}
	return s.commonDir
}

func (s *Store) path(name string) string {
	return filepath.Join(s.dir(name), filepath.FromSlash(name))
}

// ValidName reports whether git allows a name for a ref below "refs/"
// (git-check-ref-format).
func ValidName(name string) bool {
	if !strings.HasPrefix(name, "refs/") || strings.HasSuffix(name, ".") ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.ContainsAny(name, " ~^:?*[\\\x7f") {
		return false
	}
	for _, c := range []byte(name) {
		if c < 0x20 {
			return false
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

// readable reports whether a name may be looked up: a valid one, or one of
// capitals, as HEAD.
func readable(name string) bool {
	if ValidName(name) {
		return true
	}
	for _, c := range []byte(name) {
		if (c < 'A' || c > 'Z') && c != '_' && c != '-' {
			return false
		}
	}
	return name != ""
}
