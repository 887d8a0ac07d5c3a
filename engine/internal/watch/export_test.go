//go:build windows || darwin

package watch

import "testing"

// Misnames is misnames.
func Misnames() bool { return misnames() }

// Deed is deed.
var Deed = deed

// Believe does without the proof, until the test ends.
func Believe(t *testing.T) {
	was := proof
	proof = func() error { return nil }
	t.Cleanup(func() { proof = was })
}
