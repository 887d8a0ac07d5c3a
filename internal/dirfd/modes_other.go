//go:build !windows

package dirfd

import "github.com/seed-82afce7a/rewind/internal/tree"

// Storable is what a file system of this machine keeps of a mode: all of it.
func Storable(m tree.Mode) tree.Mode { return m }
