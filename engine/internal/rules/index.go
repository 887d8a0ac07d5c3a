package rules

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/gitbridge/gitindex"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// An Index is git's index as it was found, to be decoded.
type Index struct {
	Read func() (*gitindex.Index, error) // decodes it; nil, nil where nothing was added
	Stat dirfd.Stat                      // of its file; zero if there is none
}

// indexBytesMax bounds an index: some three million entries. What is made of it
// takes twice as much.
const indexBytesMax = 256 << 20

// OpenIndex finds the index of the repository at a path below the worktree. What
// makes it unreadable is an [*IndexError].
func OpenIndex(l *gitconf.Layout, at string) (Index, error) {
	dir, err := dirfd.Open(filepath.Dir(l.IndexFile))
	if err != nil {
		return Index{}, err
	}
	defer dir.Close()
	st, err := dir.Lstat(filepath.Base(l.IndexFile))
	if os.IsNotExist(err) { // nothing was added yet
		return NoIndex(), nil
	}
	if err != nil {
		return Index{}, err
	}
	bad := func(err error) error {
		return &IndexError{path.Join(at, ".git"), fmt.Errorf("git's index %s: %w", l.IndexFile, err)}
	}
	return Index{Stat: st, Read: func() (*gitindex.Index, error) {
		data, err := regular.Read(l.IndexFile, indexBytesMax)
		if err != nil {
			return nil, bad(err)
		}
		x, err := gitindex.Decode(data, &gitindex.Options{Algorithm: l.Algorithm, Mtime: st.Mtime, Shared: func(id oid.ID) ([]byte, error) {
			return regular.Read(filepath.Join(filepath.Dir(l.IndexFile), "sharedindex."+id.String()), indexBytesMax)
		}})
		if err != nil {
			return nil, bad(err)
		}
		return x, nil
	}}, nil
}

// An IndexError is an index that cannot be read or decoded.
type IndexError struct {
	DotGit string // the path of the ".git" that it belongs to
	Err    error
}

// Error says what is wrong, and of which file.
func (e *IndexError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *IndexError) Unwrap() error { return e.Err }

// NoIndex is the index of a repository to which nothing was added.
func NoIndex() Index {
	return Index{Read: func() (*gitindex.Index, error) { return nil, nil }}
}
