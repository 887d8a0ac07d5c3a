//go:build !linux && !windows

package dirfd

import (
	"os"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

func lstat(path string) (Stat, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return Stat{}, err
	}
	return fromInfo(info), nil
}

func fstat(f *os.File) (Stat, error) {
	info, err := f.Stat()
	if err != nil {
		return Stat{}, err
	}
	return fromInfo(info), nil
}

func exactly(string, string) error { return nil }

func nameable(string) bool { return true }

func verbatim(path string) string { return path }

func openShared(path string) (*os.File, error) { return os.Open(path) }

// permissions turns the permission bits of Go into those of stat(2).
func permissions(m os.FileMode) tree.Mode {
	p := tree.Mode(m.Perm())
	if m&os.ModeSetuid != 0 {
		p |= 04000
	}
	if m&os.ModeSetgid != 0 {
		p |= 02000
	}
	if m&os.ModeSticky != 0 {
		p |= 01000
	}
	return p
}
