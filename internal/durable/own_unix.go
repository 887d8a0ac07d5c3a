//go:build unix

package durable

import (
	"fmt"
	"io/fs"
	"syscall"

	"github.com/seed-82afce7a/rewind/internal/trust"
)

// unwaiting lets opening a pipe return at once.
const unwaiting = syscall.O_NONBLOCK | syscall.O_NOCTTY

// owned returns nil if something is the user's own, as internal/trust judges it,
// or belongs to the owner of the directory that it lies in.
func owned(path string, info, above fs.FileInfo) error {
	uid := info.Sys().(*syscall.Stat_t).Uid
	if trust.Owned(path, info) || uid == above.Sys().(*syscall.Stat_t).Uid {
		return nil
	}
	return foreign(path, fmt.Sprintf("it belongs to another user (%d)", uid))
}
