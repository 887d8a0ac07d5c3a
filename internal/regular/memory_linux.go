package regular

import (
	"io/fs"
	"sync"
	"syscall"
	"time"

	"github.com/seed-82afce7a/rewind/internal/localfs"
)

// changed is when something of a file was last changed, which nobody can set.
func changed(st fs.FileInfo) time.Time {
	raw := st.Sys().(*syscall.Stat_t)
	return time.Unix(raw.Ctim.Unix())
}

// local has, for each file system by its device, whether its times are fine and made
// by the clock of this machine.
var local sync.Map

// touched is when a file was last written or changed, by a clock that is ours; false
// where it may be another.
func touched(path string, st fs.FileInfo) (time.Time, bool) {
	device := st.Sys().(*syscall.Stat_t).Dev
	here, known := local.Load(device)
	if !known {
		here = localfs.Holds(path)
		local.Store(device, here)
	}
	at := changed(st)
	if at.Before(st.ModTime()) {
		at = st.ModTime()
	}
	return at, here.(bool)
}
