//go:build !unix

package dirfd

import "github.com/seed-82afce7a/rewind/internal/tree"

// ReadersOf knows nobody: permission bits say nothing of others on this system.
func ReadersOf(dir string, shared tree.Mode, exact bool) *Readers { return nil }

// KeptOffPath is false where nobody is known.
func (r *Readers) KeptOffPath(dir string) bool { return false }
