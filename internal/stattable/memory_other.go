//go:build !linux

package stattable

const mapWhole = 0

// spareFaults does nothing on this system.
func spareFaults([]byte) {}
