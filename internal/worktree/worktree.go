// Package worktree looks at a worktree and says what it holds: the scan.
//
// It promises: the git tree of a result is what a copy of the index, git add -A
// and git write-tree would give (tree function 1, docs/decisions/0003-scan.md),
// and the overlay over it is exactly what was on disk; every path is recorded
// or named with the reason why it is not; an unchanged file is not opened and
// an unchanged directory not listed; and a file that changed since the last
// scan is read again, even within one tick of the file system's clock. It
// follows no link, never leaves the root, and writes nothing into it.
//
// It knows neither where bytes are kept nor where git's files lie: both come
// as functions and values in the [Config].
package worktree

import (
	"context"
	"io"

	"github.com/seed-82afce7a/rewind/gitbridge/gitindex"
	"github.com/seed-82afce7a/rewind/internal/attr"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/ignore"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// TreeFunction is the number of the rules by which a worktree becomes a tree.
const TreeFunction = 1

// A Saver keeps what a scan reads. It is called by many goroutines at once. Its
// errors end the scan.
type Saver interface {
	// Blob keeps exactly size bytes of r and returns their id. Base is an
	// earlier content of the same path, or zero. An error of r is returned as
	// it is.
	Blob(ctx context.Context, r io.Reader, size int64, base oid.ID) (oid.ID, error)

	// Tree keeps a tree or an overlay and returns its id. The payload belongs
	// to the caller again when Tree returns.
	Tree(ctx context.Context, payload []byte, base oid.ID) (oid.ID, error)
}

// A Repo is a repository as its worktree is seen by a scan. The zero Repo is a
// directory without one.
type Repo struct {
	Ignore *ignore.Chain
	Attr   *attr.Chain
	Clean  *attr.Config

	// AttrTree is the tree from which attributes are read instead of from the
	// worktree (attr.tree); zero without one.
	AttrTree oid.ID

	// Head is the commit that a nested repository is on, zero if there is none
	// yet. HeadErr says why it cannot be known.
	Head    oid.ID
	HeadErr error

	// Around says of a nested repository that it is the one around it, to which
	// the directory has a link.
	Around bool

	// Cone is what a sparse checkout in cone mode wants on disk: git reads no
	// attributes from the index for a directory outside of it. Nil without one.
	Cone *ignore.Cone

	// IndexStat is of the index file, the zero Stat if it has none. Index
	// decodes it; it is called at most once, and only if IndexStat differs
	// from what the last scan saw or something new must be looked up.
	IndexStat dirfd.Stat
	Index     func() (*gitindex.Index, error)
}

// Settings are what git's configuration says about looking at files. The zero
// value is git's default on Linux.
type Settings struct {
	NoFileMode bool // core.fileMode=false
	NoSymlinks bool // core.symlinks=false
	FoldCase   bool // core.ignoreCase
	AllowNTFS  bool // core.protectNTFS=false
	ProtectHFS bool // core.protectHFS

	// Compose gives the name that git records for one on disk (core.precomposeUnicode);
	// nil: as it is on disk.
	Compose func(name string) string
}

// A Place says where a path goes.
type Place uint8

// The places a [Policy] can name.
const (
	Usual   Place = iota // as the ignore rules say
	Overlay              // kept, but not in the git tree; of an ignored directory: look inside
	Nowhere              // left out, and named with the reason
	Unasked              // as Overlay, of what is ignored and no pattern names
)

// A Policy decides about what the index does not know: opted-in ignored files,
// secrets, exclusions, sizes.
type Policy interface {
	// Place decides about one path. Size is 0 for directories. The reason is
	// for Nowhere.
	Place(path string, isDir, ignored bool, size int64) (p Place, reason string)

	// Full says why a directory with so many files that the index does not
	// know, and that are not ignored, is left out but for what the index has in
	// it and below it; "" if it is not. What holds for a number holds for all
	// above it. The root is never asked about.
	Full(files int) (reason string)

	// Small says which ignored files are recorded although [Policy.Place] says
	// Usual of them; nil: none.
	Small() *Small

	// Digest is equal for policies that decide equally.
	Digest() uint64
}

// Small bounds what is recorded of the ignored files that lie in directories
// which are not ignored. Each such file counts, but those that are products.
type Small struct {
	FileBytes int64                  // a larger file is not recorded
	DirFiles  int                    // where a directory has more of them, none of it is recorded; at most 254
	DirBytes  int64                  // of one directory at most so many bytes are recorded, the smallest files first
	Files     int                    // of the worktree at most so many: of more, the deepest levels of directories are left out
	Bytes     int64                  // of the worktree at most so many, in the same way
	Product   func(name string) bool // a tool makes files of this name anew
}

// A Config says what to scan and how. Root, Algorithm, StatTable and Save are
// needed; of everything else the zero value is the recommended one.
type Config struct {
	Root      string
	Algorithm oid.Algorithm
	Umask     tree.Mode
	Repo      Repo
	Settings  Settings
	Policy    Policy
	StatTable *stattable.Table
	Save      Saver

	// Readers are those who may read git's objects, besides the user. What one of
	// them may not read on disk, and the index does not know, is kept in the
	// overlay alone. Private: one of them cannot enter the root.
	Readers *dirfd.Readers
	Private bool

	// OverLimit says why the new content of a file that the index does not know is
	// not to be taken in, "" if it is: then it is left out, with that reason.
	// It is called by several goroutines. Nil: everything is.
	OverLimit func(size int64) (reason string)

	// Has reports whether a content or tree is kept already, by the store or
	// by git. Nil: nothing is, except what a row of the table names. With
	// Recheck rows are not believed either, and every id is asked for.
	Has     func(oid.ID) bool
	Recheck bool

	// Sizes looks up n contents in git. It calls id for the bytes of the i-th id, and
	// sets the i-th of sizes to the size of that content, or to -1 if git does not
	// have it. A file whose id the index knows is taken over unread only if it has
	// that size: git may have converted it under rules that hold no more, and
	// conversions of line ends and keywords only shrink. Nil: every file is read
	// once.
	Sizes func(n int, id func(i int) []byte, sizes []int64)

	// Load returns an object of the repository: a tree of a sparse index, a
	// rule file that is in the index only, the blob that end-of-line rules
	// depend on. Nil: there are none.
	Load func(kind oid.Kind, id oid.ID) ([]byte, error)

	// Filter runs a configured clean filter; nil: filters are not run.
	Filter func(ctx context.Context, f attr.Filter, path string, raw []byte) ([]byte, error)

	// Nested resolves the repository of a directory below the root that has a
	// ".git"; nil if that is no repository. With a repository an error says that
	// something of it cannot be known; without one it ends the scan. Nil
	// function: there are none.
	Nested func(ctx context.Context, dir string) (*Repo, error)

	// Leave names files of ours that lie in the worktree, and are left out with a
	// reason, as long as the index does not know them.
	Leave map[string]bool

	// Force names paths that are captured into the overlay whatever the rules
	// say; what lies below a named directory is meant too.
	Force []string

	// Only says where to look. All else is as the rows have it, which then must
	// be in memory ([Result.Keep]). Nil: everywhere.
	Only *Changes

	// Skip is the directory of the store, known by device and inode. It is
	// never entered.
	Skip dirfd.Stat

	Progress func(Counters)    // called now and then while the scan runs
	Now      func() int64      // the clock that stamps files, in ns; nil: the kernel's
	sleep    func(path string) // tests: between the stat and the read of a file
}

// A Skip is a path that was left out, and why.
type Skip struct {
	Path, Reason string
	Kept         bool // only the git tree lacks it; the overlay has it
}

// Counters count the work of a scan.
type Counters struct {
	Dirs      int64 // directories entered
	Listed    int64 // directories listed
	Stats     int64 // files looked at
	Opened    int64 // files opened
	ReadBytes int64
	Trees     int64 // trees and overlays given to the Saver

	recorded int64 // files and links, of the directories that were encoded
	kept     int64 // directories that were not encoded: the trees of their rows hold
	workers  int64 // that were started
}

// A Result is what a worktree held.
type Result struct {
	State    tree.State
	Skipped  []Skip   // sorted by path
	Unstable []string // kept changing while they were read; recorded as last read
	Nested   []string // nested repositories
	Writing  []string // files that somebody had open for writing, of those that were asked about
	Counters Counters

	statTable *stattable.Table
	rows      map[string]stattable.Row // of this scan, where they differ from the table's
	unsaved   map[string]bool          // rows that hold for this scan only; true: nothing of the directory is known otherwise
	closed    map[string]bool          // directories that could not be looked at
	seen      []bool                   // the table's rows that are still true, by number
	partial   bool                     // only what changed was looked at: seen says nothing
	only      *Changes                 // where that was, if it is partial
	lost      []string                 // directories whose rows go then, with all below

	found map[string][]stattable.Entry // of the directories that were asked about, in order
}
