// Package alive tells whether the process lives that wrote its number into a lock, and
// which run of the system this is.
package alive

import "math"

// Process reports whether there may be a process with this number. It says no only if
// the system says so: a process that belongs to somebody else, and may not be asked,
// lives.
func Process(pid int) bool { return pid > 0 && (pid > math.MaxInt32 || process(pid)) }
