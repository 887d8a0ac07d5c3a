//go:build linux

package power

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A system is a file system that a disk is formatted with.
type system struct {
	name   string
	bytes  int64
	format []string // a command; the disk's file follows
}

var (
	ext4 = system{"ext4", 256 << 20, []string{"mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", "-J", "size=16"}}
	xfs  = system{"xfs", 320 << 20, []string{"mkfs.xfs", "-q", "-f", "-K"}}
)

// there says whether the system can be made here.
func (s system) there() bool {
	_, err := exec.LookPath(s.format[0])
	return err == nil
}

// A machine has one disk at a time, mounted at one place: what rewind keeps
// without git is bound to the path of the directory.
type machine struct {
	*disks
	mnt    string
	bootID string // a file that stands for the kernel's
}

// bootID is where a program learns which boot of the machine this is.
const bootID = "/proc/sys/kernel/random/boot_id"

// newMachine makes a machine below a directory.
func newMachine(dir string, d *disks) (*machine, error) {
	m := &machine{d, filepath.Join(dir, "mnt"), filepath.Join(dir, "boot_id")}
	if err := os.Mkdir(m.mnt, 0o755); err != nil {
		return nil, err
	}
	if err := m.boot(); err != nil {
		return nil, err
	}
	if err := unix.Mount(m.bootID, bootID, "", unix.MS_BIND, ""); err != nil {
		return nil, fmt.Errorf("mount over %s: %w", bootID, err)
	}
	return m, nil
}

func (m *machine) close() error { return unix.Unmount(bootID, unix.MNT_DETACH) }

// boot makes it another boot of the machine: rewind looks at that.
func (m *machine) boot() error {
	n := time.Now().UnixNano()
	id := fmt.Sprintf("%08x-%04x-4000-8000-%012x\n", uint32(n>>32), uint16(n>>16), uint16(n))
	return os.WriteFile(m.bootID, []byte(id), 0o444)
}

// newDisk formats a disk.
func (m *machine) newDisk(s system) (uint64, error) {
	d, err := m.add(s.bytes)
	if err != nil {
		return 0, err
	}
	out, err := exec.Command(s.format[0], append(s.format[1:len(s.format):len(s.format)], m.file(d))...).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %s", s.format[0], err, out)
	}
	return d, nil
}

// mount mounts a disk; the file system mends what an earlier cut left.
func (m *machine) mount(d uint64, s system, options string) error {
	loop, err := attach(m.file(d))
	if err != nil {
		return err
	}
	defer unix.Close(loop.fd) // the mount keeps it from here on, and frees it
	if err := unix.Mount(loop.name, m.mnt, s.name, unix.MS_NOATIME, options); err != nil {
		return fmt.Errorf("mount of %s with %q: %w", s.name, options, err)
	}
	return nil
}

// unmount takes the disk out. Programs that have just ended may hold it for a moment.
func (m *machine) unmount() error {
	var err error
	for range 100 {
		if err = unix.Unmount(m.mnt, 0); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.Join(err, unix.Unmount(m.mnt, unix.MNT_DETACH))
}

type loopDevice struct {
	fd   int
	name string
}

// attach makes a block device of a disk's file, without a cache between them.
func attach(file string) (loopDevice, error) {
	none := loopDevice{}
	back, err := unix.Open(file, unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return none, fmt.Errorf("open %s: %w", file, err)
	}
	defer unix.Close(back)
	control, err := unix.Open("/dev/loop-control", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return none, fmt.Errorf("open /dev/loop-control: %w", err)
	}
	defer unix.Close(control)
	for range 20 {
		n, err := unix.IoctlRetInt(control, unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return none, fmt.Errorf("no free loop device: %w", err)
		}
		name := fmt.Sprintf("/dev/loop%d", n)
		fd, err := unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return none, fmt.Errorf("open %s: %w", name, err)
		}
		err = unix.IoctlLoopConfigure(fd, &unix.LoopConfig{
			Fd: uint32(back), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR | unix.LO_FLAGS_DIRECT_IO},
		})
		if err == nil {
			return loopDevice{fd, name}, nil
		}
		unix.Close(fd)
		if !errors.Is(err, unix.EBUSY) { // somebody else was faster
			return none, fmt.Errorf("configure %s: %w", name, err)
		}
	}
	return none, errors.New("every free loop device was taken by somebody else")
}
