//go:build !linux

package gitodb

import "os"

const unpolled = 0

func rename(from, to string) error { return os.Rename(from, to) }

// WriteOut is for systems that tell; the others are left to their next sync.
func WriteOut(*os.File) {}

func startWriteOut(*os.File) {}
