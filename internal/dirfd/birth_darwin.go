package dirfd

import (
	"os"
	"strconv"
	"syscall"
)

// Birth returns what tells the directory at a path from any other that stood or
// will stand there: a name that a rename does not change and a copy does not
// take along. It is the time at which it was made, and the inode where the file
// system does not keep that.
func Birth(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", nil
	}
	if at := sys.Birthtimespec.Nano(); at > 0 {
		return "born " + strconv.FormatInt(at, 16), nil
	}
	return "inode " + strconv.FormatUint(sys.Ino, 16), nil
}
