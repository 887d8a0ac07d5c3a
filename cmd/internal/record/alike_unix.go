//go:build unix

package record

import (
	"fmt"
	"os"
	"syscall"
)

// powers are what the system lets the process see and make, by name.
func powers() map[string]string {
	mask := syscall.Umask(0o077)
	syscall.Umask(mask)
	groups, _ := os.Getgroups()
	mounts, _ := os.Readlink("/proc/self/ns/mnt")
	return map[string]string{"umask": fmt.Sprint(mask), "groups": fmt.Sprint(os.Getegid(), groups), "mounts": mounts}
}
