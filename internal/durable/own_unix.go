//go:build unix

package durable

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// unwaiting lets opening a pipe return at once.
const unwaiting = syscall.O_NONBLOCK | syscall.O_NOCTTY

// owned returns nil if something belongs to the user, or to the owner of the
// directory that it lies in. Root may own what belongs to the user who called sudo.
func owned(path string, info, above fs.FileInfo) error {
	uid := info.Sys().(*syscall.Stat_t).Uid
	if int64(uid) == int64(os.Geteuid()) || uid == above.Sys().(*syscall.Stat_t).Uid {
		return nil
	}
	if id, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32); err == nil && os.Geteuid() == 0 && uid == uint32(id) {
		return nil
	}
	return foreign(path, fmt.Sprintf("it belongs to another user (%d)", uid))
}
