package dirfd

import "golang.org/x/sys/unix"

// local are the file systems whose times are fine, and made by the clock of this machine,
// by their type, as statfs(2) has it. Only there a file that shows no change has none.
var local = map[int64]bool{
	unix.EXT4_SUPER_MAGIC:      true, // also ext2 and ext3
	unix.XFS_SUPER_MAGIC:       true,
	unix.BTRFS_SUPER_MAGIC:     true,
	unix.TMPFS_MAGIC:           true,
	unix.F2FS_SUPER_MAGIC:      true,
	unix.OVERLAYFS_SUPER_MAGIC: true,
	0x2fc12fc1:                 true, // zfs
}

// Local reports whether the directory lies on a file system whose timestamps
// are fine and made by this machine's clock.
func (d *Dir) Local() bool {
	var s unix.Statfs_t
	return unix.Fstatfs(d.fd, &s) == nil && local[int64(s.Type)]
}

// Tells reports whether [NoWriter] may be the answer for a file on its file system.
func (d *Dir) Tells() bool {
	var s unix.Statfs_t
	return unix.Fstatfs(d.fd, &s) == nil && tells[int64(s.Type)]
}
