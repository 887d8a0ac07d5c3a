//go:build !linux

package gitref

// place gives a file another name, which must not be in use.
func place(from, to string) error { return placeByLink(from, to) }
