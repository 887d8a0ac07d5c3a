//go:build !linux

// Package localfs tells file systems whose times are fine, and made by the clock of
// this machine, from others.
package localfs
