// Package localfs tells file systems whose times are fine, and made by the clock of
// this machine, from others. Only there a file that shows no change has none.
package localfs

import "golang.org/x/sys/unix"

// Is reports that of a file system by its type, as statfs(2) has it.
func Is(kind int64) bool { return known[kind] }

var known = map[int64]bool{
	unix.EXT4_SUPER_MAGIC:      true, // also ext2 and ext3
	unix.XFS_SUPER_MAGIC:       true,
	unix.BTRFS_SUPER_MAGIC:     true,
	unix.TMPFS_MAGIC:           true,
	unix.F2FS_SUPER_MAGIC:      true,
	unix.OVERLAYFS_SUPER_MAGIC: true,
	0x2fc12fc1:                 true, // zfs
}

// Holds reports it of the file system on which a file lies.
func Holds(path string) bool {
	var s unix.Statfs_t
	return unix.Statfs(path, &s) == nil && Is(int64(s.Type))
}
