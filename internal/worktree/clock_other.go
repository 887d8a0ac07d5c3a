//go:build !linux

package worktree

import "time"

// coarseNow takes off what a file system's clock may lag behind; the slack of
// an unknown file system is added to that.
func coarseNow() int64 { return time.Now().UnixNano() - int64(slackLocal) }
