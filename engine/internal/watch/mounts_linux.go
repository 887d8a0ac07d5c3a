package watch

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mounts are what is mounted at, above and below a directory: something that is
// mounted over a directory changes all below it, and no event tells.
type mounts struct {
	fd   int // not an os.File: the runtime would ask the kernel for news of it, and have them in our place
	root string
	were string

	// below are the directories below the root, by their paths from there, at which
	// something is mounted. Where that is a directory that has another name as well it
	// may be deleted under that name, which is told there, if anybody hears it.
	below []string
}

const mountsPath = "/proc/self/mountinfo"

func mountsAt(root string) (m mounts, err error) {
	m.root = root
	if m.fd, err = unix.Open(mountsPath, unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		m.were, m.below, err = m.now()
	}
	return m, err
}

func (m *mounts) close() {
	if m.fd > 0 {
		unix.Close(m.fd)
	}
}

// changed reports whether something was mounted or unmounted. The kernel says
// whether the table must be read.
func (m *mounts) changed() error {
	fds := []unix.PollFd{{Fd: int32(m.fd), Events: unix.POLLPRI}}
	if n, err := unix.Poll(fds, 0); err == nil && n == 0 {
		return nil
	}
	now, _, err := m.now()
	if err != nil {
		return doubt(err.Error())
	}
	if now != m.were {
		return doubt("something was mounted or unmounted")
	}
	return nil
}

// now returns the lines of the table that matter, and the places below the root.
func (m *mounts) now() (lines string, below []string, err error) {
	table, err := os.ReadFile(mountsPath)
	if err != nil {
		return "", nil, err
	}
	return m.of(table)
}

// of is now for a table. It refuses lines by which changes would be missed.
func (m *mounts) of(table []byte) (lines string, below []string, err error) {
	var out strings.Builder
	var around, kind string // where the file system of the root is mounted
	for line := range bytes.Lines(table) {
		fields := bytes.Fields(line)
		i := slices.IndexFunc(fields, func(field []byte) bool { return string(field) == "-" })
		if len(fields) < 5 || i < 0 || i+1 >= len(fields) {
			return "", nil, errEvent
		}
		at, of := unescape(string(fields[4])), string(fields[i+1])
		if !m.concerns(at) {
			continue
		}
		out.Write(line)
		if !inside(m.root, at) {
			if err := suits(at, of); err != nil {
				return "", nil, err
			}
			below = append(below, strings.TrimPrefix(at[len(m.root):], "/"))
		} else if len(at) >= len(around) { // a later one lies over an earlier one
			around, kind = at, of
		}
	}
	return out.String(), below, tells(around, kind)
}

// suits refuses a file system below the root that others may change without this
// system's knowledge, and a file that is mounted by itself: it is written under
// another name as well.
func suits(at, kind string) error {
	if err := tells(at, kind); err != nil {
		return err
	}
	if st, err := os.Lstat(at); err != nil || !st.IsDir() {
		return fmt.Errorf("a file is mounted at %s", at)
	}
	return nil
}

// tells refuses a file system that others may change.
func tells(at, kind string) error {
	if !local[kind] {
		return fmt.Errorf("%s is a file system of type %s, whose changes are not all told", at, kind)
	}
	return nil
}

// local are the file systems that only this system changes.
var local = map[string]bool{"ext2": true, "ext3": true, "ext4": true, "xfs": true, "btrfs": true, "tmpfs": true, "f2fs": true, "overlay": true, "zfs": true, "bcachefs": true}

func inside(path, dir string) bool {
	return dir == "/" || path == dir || strings.HasPrefix(path, dir+"/")
}

func (m *mounts) concerns(at string) bool {
	return inside(at, m.root) || inside(m.root, at)
}

// unescape undoes what the table does to spaces and the like.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
