//go:build !linux && !darwin && !windows

package durable

import "errors"

func fileSystem(string) (string, error) { return "", errors.ErrUnsupported }
