package dirfd

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Birth returns what tells the directory at a path from any other that stood or
// will stand there: a name that a rename does not change and a copy does not
// take along. It is the time at which it was made; where the file system does
// not keep that, the inode, which may be given to another directory later.
func Birth(path string) (string, error) {
	var x unix.Statx_t
	_, err := retry(func() (int, error) {
		return 0, unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &x)
	})
	if err != nil {
		return "", pathError("stat", path, err)
	}
	if x.Mask&unix.STATX_BTIME != 0 && (x.Btime.Sec != 0 || x.Btime.Nsec != 0) {
		return "born " + strconv.FormatInt(x.Btime.Sec*1e9+int64(x.Btime.Nsec), 16), nil
	}
	return "inode " + strconv.FormatUint(x.Ino, 16), nil
}
