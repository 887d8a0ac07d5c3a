//go:build !linux

package durable

import "errors"

// SyncFS is not available on this system, where nothing promises that all of a
// file system is durable: it reports [errors.ErrUnsupported], and the caller
// syncs file by file.
func SyncFS(dir string) error { return errors.ErrUnsupported }
