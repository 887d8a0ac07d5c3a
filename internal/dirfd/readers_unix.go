//go:build unix

package dirfd

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

// ReadersOf returns who may read a file without write permission that is made
// below a directory, which is absolute. It gets the permission bits of shared
// beside what the umask leaves, or these alone. Where that cannot be found out
// everybody counts as a reader.
func ReadersOf(dir string, shared tree.Mode, exact bool) *Readers {
	const asMade = 0o444
	r := &Readers{someone: true, all: true}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return r
	}
	group := uint32(os.Getegid())
	for at := real; ; at = filepath.Dir(at) {
		st, err := statOf(at)
		if err != nil {
			return &Readers{someone: true, all: true}
		}
		if at == real && st.Mode&unix.S_ISGID != 0 {
			group = st.GID
		}
		r.through = append(r.through, at)
		if r.enter(&st); !r.someone {
			return r
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if !exact {
		shared |= asMade &^ umask()
	}
	r.open(shared, group)
	return r
}

// KeptOffPath reports whether one of the readers may not enter a directory, which
// is absolute, or one above it.
func (r *Readers) KeptOffPath(dir string) bool {
	if r == nil || !r.someone {
		return false
	}
	for at := dir; !slices.Contains(r.through, at); at = filepath.Dir(at) {
		if st, err := statOf(at); err != nil || r.KeptOff(&st) {
			return true
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return false
}

func statOf(path string) (Stat, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return Stat{Mode: tree.Mode(st.Mode), GID: st.Gid}, pathError("stat", path, err)
}

// umask returns the process's mask. The system tells, or has to be given another
// one for a moment; then the strictest.
func umask() tree.Mode {
	status, _ := os.ReadFile("/proc/self/status")
	if _, rest, ok := bytes.Cut(status, []byte("\nUmask:\t")); ok {
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		if n, err := strconv.ParseUint(string(line), 8, 16); err == nil {
			return tree.Mode(n)
		}
	}
	old := unix.Umask(0o077)
	unix.Umask(old)
	return tree.Mode(old)
}
