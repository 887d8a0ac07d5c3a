//go:build !linux

package stattable

import (
	"errors"
	"os"
)

func nameless(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func giveName(*os.File, string) error { return errors.ErrUnsupported }
