//go:build !windows

package gittest

import "testing"

// Nameable reports whether a file of this system can have a name or path.
func Nameable(string) bool { return true }

// Programs skips a test under Wine, where git runs no program for Windows.
func Programs(testing.TB) {}
