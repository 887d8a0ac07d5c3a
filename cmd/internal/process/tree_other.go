//go:build !linux

package process

import "errors"

// WorkOf is for Linux, which tells of each process what it has started.
func WorkOf(int) (Work, error) {
	return Work{}, errors.New("this system does not tell what a command and all that it started are doing")
}
