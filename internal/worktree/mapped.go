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
// Whether somebody can is asked for 2.7 µs ([dirfd.File.Writer]); to open and read a file
// takes 5.7 µs. A first scan of an old tree asks nothing, and a log file that is held open
// is believed by its age. To write the pages back instead (sync_file_range) makes the disk
// work for every file that a turn reads a second time; /proc/*/map_files needs rights, and
// /proc/*/maps 34 µs a process.
//
// Not seen is somebody else's file without CAP_LEASE, network file systems and those of
// programs, on an overlay a mapping whose descriptor is closed, and on tmpfs a store to a
// page that the mapping has read before.

// storedTo reports whether the bytes of a file may change without a trace after they
// were read, by somebody who has it open, or mapped, before. It is asked before they are
// read: whoever maps the file later finds none of its pages mapped, and the first store
// to each moves the times. It is not asked where the answer makes no difference.
func (a *attempt) storedTo(f *dirfd.File, st *dirfd.Stat, began int64) bool {
	age := began - touched(st)
	again := a.old != nil && a.old.Flags&stattable.Fresh != 0 && sameStat(a.old, st)
	if !again && (age < writing(st.Size) || age >= a.unwritten(st.Size)) {
		return false
	}
	some, inMemory := f.Writer()
	if !some {
		return false
	}
	a.tell(func(r *Result) { r.Writing = append(r.Writing, tree.Join(a.n.path, a.name)) })
	return inMemory || age < a.unwritten(st.Size)
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
