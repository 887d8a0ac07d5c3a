package gitodb

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/internal/localfs"
)

// stampOf returns the stamp of a directory, false for anything else.
func stampOf(dir string) (stamp, bool) {
	var st unix.Stat_t
	if unix.Lstat(dir, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return stamp{}, false
	}
	return stamp{uint64(st.Dev), st.Ino, st.Mtim.Nano(), st.Ctim.Nano()}, true
}

// stampIn returns the stamp of what was looked at.
func stampIn(st fs.FileInfo) stamp {
	raw := st.Sys().(*syscall.Stat_t)
	return stamp{uint64(raw.Dev), raw.Ino, raw.Mtim.Nano(), raw.Ctim.Nano()}
}

// stampOpened returns the stamp of a file that was opened, the zero stamp where a later
// change of the file may not show in it: the file was changed a moment ago, or the times
// are by the clock of another machine.
func stampOpened(path string, st fs.FileInfo) stamp {
	at := stampIn(st)
	if !settled(time.Unix(0, max(at.mtime, at.ctime))) || !localfs.Holds(path) {
		return stamp{}
	}
	return at
}

// lasting reports whether a directory's stamp may be relied upon for longer than a
// request: its times are by the clock of this machine.
func lasting(dir string) bool { return localfs.Holds(dir) }
