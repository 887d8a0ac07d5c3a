package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// restorePlace makes a place for the workloads that write: an ext4 file system
// with a journal in a file, if this user may mount one; else dir.
// What the disk under it does is then the same on every machine of a kind.
func restorePlace(ctx context.Context, dir string, room int64) (place, error) {
	p, why := mountExt4(ctx, dir, room)
	if why == nil {
		return p, nil
	}
	kind := fmt.Sprintf("%s (no ext4 of its own: %v)", fileSystem(dir), why)
	return place{dir: filepath.Join(dir, "restores"), kind: kind}, nil
}

// mountExt4 makes and mounts a file system of the size in a sparse file.
func mountExt4(ctx context.Context, dir string, size int64) (place, error) {
	if os.Geteuid() != 0 {
		return place{}, fmt.Errorf("not root")
	}
	image, at := filepath.Join(dir, "ext4.img"), filepath.Join(dir, "ext4")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		return place{}, err
	}
	if err := firstError(os.Truncate(image, size), os.Mkdir(at, 0o755)); err != nil {
		return place{}, err
	}
	for _, c := range [][]string{
		{"mkfs.ext4", "-q", "-F", "-i", "8192", "-O", "has_journal", "-E", "lazy_itable_init=0,lazy_journal_init=0", image},
		{"mount", "-o", "loop", image, at},
	} {
		cmd := exec.CommandContext(ctx, c[0], c[1:]...)
		if out, err := cmd.CombinedOutput(); err != nil {
			os.Remove(image)
			return place{}, fmt.Errorf("%s: %w: %s", c[0], err, bytes.TrimSpace(out))
		}
	}
	undo := func() error {
		if out, err := exec.Command("umount", at).CombinedOutput(); err != nil {
			return fmt.Errorf("umount: %w: %s", err, bytes.TrimSpace(out))
		}
		return nil
	}
	return place{dir: at, kind: "ext4 with a journal, loop-mounted from " + fileSystem(dir), undo: undo}, nil
}

// fileSystem names the type of the file system that holds a path.
func fileSystem(path string) string {
	var at unix.Stat_t
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil || unix.Stat(path, &at) != nil {
		return "unknown"
	}
	defer mounts.Close()
	device := fmt.Sprintf("%d:%d", unix.Major(at.Dev), unix.Minor(at.Dev))
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		before, after, _ := strings.Cut(lines.Text(), " - ") // see proc_pid_mountinfo(5)
		if f := strings.Fields(before); len(f) > 2 && f[2] == device {
			kind, _, _ := strings.Cut(after, " ")
			return kind
		}
	}
	return "unknown"
}

// highWater is the most memory that a running process has had resident, since
// it began its program; 0 if it has ended.
func highWater(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	_, value, _ := strings.Cut(string(text), "\nVmHWM:")
	value, _, _ = strings.Cut(value, "kB")
	kb, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64) // 0 for a process that has ended
	return kb << 10
}

// resetHighWater lets the count of a process begin anew, for one that lives on. Where
// that is refused the count includes what it needed before.
func resetHighWater(pid int) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/clear_refs", []byte("5"), 0)
}

// identify gives by what a file is known to be unchanged.
func identify(fi os.FileInfo) (is identity, known bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return is, false
	}
	return identity{st.Ino, st.Size, st.Ctim.Nano()}, true
}

// kernel names the kernel's version, and how much memory there is: the numbers of
// the version alone, as the rest may name a place.
func kernel() (version string, memory int64) {
	var name unix.Utsname
	if err := unix.Uname(&name); err == nil {
		version = unix.ByteSliceToString(name.Release[:])
		if end := strings.IndexFunc(version, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); end >= 0 {
			version = version[:end]
		}
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err == nil {
		memory = int64(info.Totalram) * int64(info.Unit)
	}
	return version, memory
}

// statAll is the least that a look at every file can cost: system calls on
// directory handles by two threads, nothing compared or kept. It opens each
// directory, lists it and stats each file. It gives the number of files.
func statAll(root string, dirs []dirNames) (int, error) {
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
				failed[w] = statDir(rootFD, dirs[i])
				count.Add(int64(len(dirs[i].names)))
			}
		})
	}
	workers.Wait()
	return int(count.Load()), firstError(failed[:]...)
}

// statDir lists one directory, and stats its named files.
func statDir(root int, dir dirNames) error {
	fd, err := unix.Openat(root, dir.path, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	var buf [16 << 10]byte
	for n := 1; n > 0; {
		if n, err = unix.Getdents(fd, buf[:]); err != nil {
			return err
		}
	}
	for _, name := range dir.names {
		if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	return nil
}
