//go:build unix

package gitconf

import (
	"os"
	"strconv"
	"syscall"
)

// deviceOf returns the number of the file system that a directory lies on.
func deviceOf(dir string) (uint64, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, err
	}
	return uint64(info.Sys().(*syscall.Stat_t).Dev), nil
}

// ownedByUser reports whether a path, not what it links to, belongs to the
// effective user. Root may also own what belongs to the user who called sudo.
func ownedByUser(path, sudo string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	owner, user := info.Sys().(*syscall.Stat_t).Uid, os.Geteuid()
	if user == 0 && owner != 0 {
		if id, err := strconv.ParseUint(sudo, 10, 32); err == nil {
			return owner == uint32(id)
		}
	}
	return int64(owner) == int64(user)
}
