//go:build !linux

package stattable

// spareFaults does nothing on this system.
func spareFaults([]byte) {}
