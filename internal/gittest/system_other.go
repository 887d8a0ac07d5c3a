//go:build !windows

package gittest

import (
	"os/exec"
	"testing"
)

// Run runs git.
func Run(cmd *exec.Cmd) error { return cmd.Run() }

// Nameable reports whether a file of this system can have a name or path.
func Nameable(string) bool { return true }

// Folded is one text for all paths that are the same on this system.
func Folded(path string) string { return path }

// Programs skips a test under Wine, where git runs no program for Windows.
func Programs(testing.TB) {}

// Slashes skips a test of paths, names or programs that Windows does not have.
func Slashes(testing.TB) {}

// Stats skips a test under Wine, where git's index has other stat data.
func Stats(testing.TB) {}

// Real skips a test of what Wine does otherwise than Windows.
func Real(testing.TB, string) {}
