package worktree

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A store to a mapped page moves the times of its file if the page is clean, and leaves
// them alone until the page has been written back, some 35 s later; on tmpfs for ever. So
// of a file that was touched so lately that a page may not have been, and that somebody
// can store to, the bytes are not believed, however often the same were read: the entry
// stays fresh, and for a watcher the file counts as changed until it is closed.
//
// Whether somebody can is asked for 3 µs ([dirfd.File.Writer]); to open and read a file
// takes 5.7 µs. A first scan of an old tree asks nothing, and a log file that is held open
// is believed by its age. To write the pages back instead (sync_file_range) makes the disk
// work for every file that a turn reads a second time; /proc/*/map_files needs rights, and
// /proc/*/maps 34 µs a process.
//
// Not seen is somebody else's file without CAP_LEASE, network file systems and those of
// programs, on an overlay a mapping whose descriptor is closed, and on tmpfs a store to a
// page that the mapping has read before.

// ask finds out who has a file open for writing before its bytes are read, where the
// answer makes a difference.
//
// Quiet says that nobody had, when the clock had passed the times of the file: then what
// is read is believed at once, however lately it was written, for whoever writes to it
// later moves the times on. The clock is read first, and the kernel's must stamp files.
// Where the root's file system never says so, that is not asked.
//
// Stored says that the bytes may change without a trace after they were read, by
// somebody who has the file open, or mapped: whoever maps it later finds none of its pages
// mapped, and the first store to each moves the times.
func (a *attempt) ask(f *dirfd.File, st *dirfd.Stat, began int64) (quiet, stored bool) {
	age := began - touched(st)
	again := a.old != nil && a.old.Flags&stattable.Fresh != 0 && sameStat(a.old, st)
	over := a.tells && a.cfg.Now == nil && passed(st, began)
	lately := age < writing(st.Size)
	if !again && !(lately && over) && (lately || age >= a.unwritten(st.Size)) {
		return false, false
	}
	w := f.Writer()
	if w < dirfd.SomeWriter || lately && !again {
		return over && w == dirfd.NoWriter, false
	}
	a.tell(func(r *Result) { r.Writing = append(r.Writing, tree.Join(a.n.path, a.name)) })
	return false, w == dirfd.WriterInMemory || age < a.unwritten(st.Size)
}

// writing is for how long a write in place to a file of this size may go on after it set
// the times.
func writing(size int64) int64 { return int64(writeTime) + min(size, hugeBytes)*int64(writePerByte) }

// unwritten is for how long a page of a file of this size may not have been written back
// after a store to it set the times.
func (s *scan) unwritten(size int64) int64 {
	if d := s.writeback(); d < math.MaxInt64 {
		return int64(d) + writing(size)
	}
	return math.MaxInt64
}

const (
	vmDir = "/proc/sys/vm"

	writebackUsual = 35 * time.Second // what the kernel begins with
	writebackNever = time.Duration(math.MaxInt64)
)

// writebackTime is how long the kernel leaves a page before it begins to write it back:
// it looks every now and then (dirty_writeback_centisecs, never if that is 0) for what
// is so old (dirty_expire_centisecs).
func writebackTime(dir string) time.Duration {
	var sum time.Duration
	for _, name := range []string{"dirty_expire_centisecs", "dirty_writeback_centisecs"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		n, malformed := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
		switch {
		case err != nil || malformed != nil:
			return writebackUsual
		case n == 0 && name == "dirty_writeback_centisecs":
			return writebackNever
		}
		sum += time.Duration(n) * 10 * time.Millisecond
	}
	return sum
}
