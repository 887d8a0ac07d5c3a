//go:build unix

package gitconf

import (
	"os"
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
