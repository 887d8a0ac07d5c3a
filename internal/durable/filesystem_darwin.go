package durable

import "golang.org/x/sys/unix"

func fileSystem(dir string) (string, error) {
	var s unix.Statfs_t
	err := unix.Statfs(dir, &s)
	return unix.ByteSliceToString(s.Fstypename[:]), err
}
