//go:build !linux

package cas

// giveBack is known for Linux alone. Elsewhere mapped pages stay until the file is
// closed, or the system needs the memory.
func giveBack(_, _ uintptr) {}

// mappedNow is not known.
func mappedNow() int { return -1 }
