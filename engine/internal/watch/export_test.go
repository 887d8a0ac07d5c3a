//go:build windows || darwin

package watch

import "testing"

// Misnames is misnames.
func Misnames() bool { return misnames() }

// Deed is deed.
var Deed = deed

// Prove has the proof come to this, until the test ends.
func Prove(t *testing.T, late bool) {
	was := proof
	proof = func() (bool, error) { return late, nil }
	t.Cleanup(func() { proof = was })
}
