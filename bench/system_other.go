//go:build !linux

package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// restorePlace gives a place in dir: mounting one is known for Linux only.
func restorePlace(_ context.Context, dir string, _ int64) (place, error) {
	return place{dir: filepath.Join(dir, "restores"), kind: fileSystem(dir)}, nil
}

// fileSystem names the type of a file system; not known here.
func fileSystem(string) string { return "unknown" }

// highWater is the most memory that a process has had; not known here.
func highWater(int) int64 { return 0 }

// resetHighWater lets the count begin anew; not known here.
func resetHighWater(int) {}

// identify gives by what a file is known to be unchanged; nothing is here, so that
// each file is read each time.
func identify(os.FileInfo) (identity, bool) { return identity{}, false }

// kernel names the kernel's version, and how much memory there is; not known here.
func kernel() (version string, memory int64) { return "", 0 }

// statAll is known for Linux alone.
func statAll(string, []dirNames) (int, error) { return 0, errors.ErrUnsupported }
