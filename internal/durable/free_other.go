//go:build !linux && !darwin && !windows

package durable

import "errors"

// Free is not available on this system: it reports [errors.ErrUnsupported].
func Free(dir string) (int64, error) { return 0, errors.ErrUnsupported }
