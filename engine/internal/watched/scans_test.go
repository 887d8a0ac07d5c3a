//go:build linux

package watched_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/watched"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/worktree"
	"golang.org/x/sys/unix"
)

// scans are snapshots that nobody records. Something is added to the clock, so that a
// file is looked at again only where a watcher tells, or somebody may store to it.
type scans struct {
	w     *world
	table string
	ahead time.Duration
}

// old is an age at which bytes are believed, if nobody has the file open for writing.
const old = 12 * time.Second

func newScans(w *world) *scans {
	return &scans{w: w, table: filepath.Join(w.base, "stat.db"), ahead: old}
}

// ids is a saver that keeps nothing.
type ids struct{}

func (ids) Blob(_ context.Context, r io.Reader, size int64, _ oid.ID) (oid.ID, error) {
	p := make([]byte, size)
	_, err := io.ReadFull(r, p)
	return oid.SHA1.Sum(oid.Blob, p), err
}

func (ids) Tree(_ context.Context, payload []byte, _ oid.ID) (oid.ID, error) {
	return oid.SHA1.Sum(oid.Tree, payload), nil
}

func (s *scans) config() *worktree.Config {
	return &worktree.Config{Root: s.w.dir, Algorithm: oid.SHA1, Umask: 0o022, Save: ids{}, Has: func(oid.ID) bool { return true }, Policy: tight{},
		Now: func() int64 { return time.Now().Add(s.ahead).UnixNano() }}
}

// tight is a policy under which the limits of ignored files are met and left again.
type tight struct{}

func (tight) Place(string, bool, bool, int64) (worktree.Place, string) { return worktree.Usual, "" }
func (tight) Full(int) string                                          { return "" }
func (tight) Digest() uint64                                           { return 1 }

func (tight) Small() *worktree.Small {
	return &worktree.Small{FileBytes: 8, DirFiles: 2, DirBytes: 9, Files: 4, Bytes: 14, Product: func(name string) bool { return name == "e" }}
}

// tick is longer than the clock that stamps files stands still. What is done to a
// directory within it may leave its times as they were, which only a scan that
// knows what is young would notice.
const tick = 5 * time.Millisecond

// watched scans as a snapshot of a watched worktree does.
func (s *scans) watched(tree *watched.Tree) *records.Snapshot {
	s.w.t.Helper()
	turn := tree.Begin(s.w.ctx, s.w.dir, 0, "")
	defer turn.Close()
	cfg := s.config()
	cfg.Only = turn.Only()
	if turn.Table != nil {
		cfg.StatTable = turn.Table
	} else {
		cfg.StatTable = stattable.Load(s.table)
	}
	r, err := worktree.Scan(s.w.ctx, cfg)
	s.w.must(err)
	s.w.must(turn.End(r, "store", r.State.Tree))
	time.Sleep(tick)
	return snapshotOf(r)
}

// full scans without a table.
func (s *scans) full() *records.Snapshot {
	s.w.t.Helper()
	cfg := s.config()
	cfg.StatTable = stattable.Load(s.table + ".none")
	r, err := worktree.Scan(s.w.ctx, cfg)
	s.w.must(err)
	return snapshotOf(r)
}

func snapshotOf(r *worktree.Result) *records.Snapshot {
	out := &records.Snapshot{Tree: r.State.Tree, Overlay: r.State.Overlay}
	for _, k := range r.Skipped {
		out.Skipped = append(out.Skipped, records.Note{Path: records.Path(k.Path), Reason: k.Reason, Kept: k.Kept})
	}
	return out
}

// seenByScans compares a watched scan with a full one.
func (w *world) seenByScans(when string) {
	w.t.Helper()
	if only, why := w.tree.State(); !only {
		w.t.Fatalf("%s: it is not watched: %s", when, why)
	}
	if got, want := w.scans.watched(&w.tree.Tree), w.scans.full(); got.Tree != want.Tree {
		w.t.Errorf("%s: the watched scan missed it", when)
	}
}

// Nothing is told of a store, and the first one since the page was written back alone
// moves the times.
func TestStoresToAFileThatWasMetMappedAreSeenUntilTheMappingEnds(t *testing.T) {
	t.Parallel()
	w := plain(t)
	w.scans = newScans(w)
	path := w.file("d/f", "one")
	w.arm()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	w.must(err)
	page, err := unix.Mmap(int(f.Fd()), 0, 3, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	w.must(err)
	defer unix.Munmap(page)
	w.must(f.Close())
	store := func(c byte) {
		time.Sleep(20 * time.Millisecond) // the clock that stamps files stands still for a while
		page[0] = c
	}
	w.must(os.Chmod(path, 0o600)) // which is told, so that the file is met
	store('1')
	w.seenByScans("the first store")
	store('2')
	w.seenByScans("a store that moves no time")
	w.scans.ahead = time.Hour
	w.scans.watched(&w.tree.Tree)
	w.must(unix.Msync(page, unix.MS_SYNC))
	store('3')
	w.seenByScans("a store to a file that was believed by its age")
}
