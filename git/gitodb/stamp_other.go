//go:build !linux

package gitodb

// stampOf tells nothing on this system: a directory is listed whenever it is asked for.
func stampOf(string) (stamp, bool) { return stamp{}, false }
