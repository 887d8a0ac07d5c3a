//go:build unix

package depot

import (
	"io/fs"
	"syscall"
)

// diskOf tells the file system of a file from others that are there.
func diskOf(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev)
	}
	return 0
}
