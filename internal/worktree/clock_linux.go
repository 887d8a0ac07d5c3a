package worktree

import (
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
