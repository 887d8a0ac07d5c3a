package durable

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileSystems are names of file systems by their number, as statfs(2) has it.
var fileSystems = map[uint32]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.F2FS_SUPER_MAGIC: "f2fs",
	0x2fc12fc1: "zfs", 0xca451a4e: "bcachefs", unix.TMPFS_MAGIC: "tmpfs", unix.RAMFS_MAGIC: "ramfs", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs",
	unix.NFS_SUPER_MAGIC: "nfs", 0xff534d42: "cifs", unix.SMB2_SUPER_MAGIC: "smb2", unix.V9FS_MAGIC: "9p", 0x6a656a63: "virtiofs", unix.CEPH_SUPER_MAGIC: "ceph",
	unix.FUSE_SUPER_MAGIC: "fuse", unix.ECRYPTFS_SUPER_MAGIC: "ecryptfs", unix.MSDOS_SUPER_MAGIC: "vfat", unix.EXFAT_SUPER_MAGIC: "exfat", 0x5346544e: "ntfs", 0x7366746e: "ntfs3",
}

func fileSystem(dir string) (string, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return "", err
	}
	if name := fileSystems[uint32(s.Type)]; name != "" {
		return name, nil
	}
	return fmt.Sprintf("%#x", uint32(s.Type)), nil
}
