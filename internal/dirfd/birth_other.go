//go:build !linux && !darwin && !windows

package dirfd

// Birth returns what tells the directory at a path from any other that stood or
// will stand there; here nothing is known.
func Birth(path string) (string, error) { return "", nil }
