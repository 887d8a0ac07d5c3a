//go:build !linux

package bench

import "errors"

// statAll is known for Linux alone.
func statAll(string, []dirNames, bool) (int, error) { return 0, errors.ErrUnsupported }
