package bench

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// statAll is the least that a look at every file can cost: system calls on
// directory handles by two threads, nothing compared or kept. It opens each
// directory and stats each file, and lists the directories if asked. It gives
// the number of files.
func statAll(root string, dirs []dirNames, list bool) (int, error) {
	rootFD, err := unix.Open(root, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(rootFD)
	var next, count atomic.Int64
	var failed [2]error
	var workers sync.WaitGroup
	for w := range failed {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(dirs) && failed[w] == nil; i = next.Add(1) - 1 {
				failed[w] = statDir(rootFD, dirs[i], list)
				count.Add(int64(len(dirs[i].names)))
			}
		})
	}
	workers.Wait()
	return int(count.Load()), firstError(failed[:]...)
}

// statDir stats the named files of one directory.
func statDir(root int, dir dirNames, list bool) error {
	fd, err := unix.Openat(root, dir.path, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if list {
		var buf [16 << 10]byte
		for n := 1; n > 0; {
			if n, err = unix.Getdents(fd, buf[:]); err != nil {
				return err
			}
		}
	}
	for _, name := range dir.names {
		if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	return nil
}
