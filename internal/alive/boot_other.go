//go:build !linux

package alive

// Boot names this run of the system; it is not known here.
func Boot() string { return "" }
