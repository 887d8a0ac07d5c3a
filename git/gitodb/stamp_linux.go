package gitodb

import "golang.org/x/sys/unix"

// stampOf returns the stamp of a directory, false for anything else.
func stampOf(dir string) (stamp, bool) {
	var st unix.Stat_t
	if unix.Lstat(dir, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return stamp{}, false
	}
	return stamp{uint64(st.Dev), st.Ino, st.Mtim.Nano(), st.Ctim.Nano()}, true
}
