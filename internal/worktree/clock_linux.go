package worktree

import (
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// coarseNow reads the clock that file systems stamp files with. The precise
// clock runs up to a tick ahead of it.
func coarseNow() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &ts) != nil {
		return time.Now().UnixNano() - int64(slackLocal)
	}
	return ts.Nano()
}

// boot names this run of the system. The stat table is not synced: after a
// power loss its rows may be of different ages.
var boot = sync.OnceValue(func() string {
	p, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(p))
})
