//go:build unix

package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// filesMin is how many more files the program must be able to open. A command
// has some ten open at once, and two threads that scan two each. Go's runtime
// ends with a stack trace where it cannot open those that it waits with.
const filesMin = 24

// EnoughFiles reports that the process may open too few files, whoever has
// taken the others: the limit (ulimit -n), or who started the program.
func EnoughFiles() (err error) {
	var open []int
	for len(open) < filesMin && err == nil {
		var fd int
		if fd, err = syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err == nil {
			open = append(open, fd)
		}
	}
	for _, fd := range open {
		_ = syscall.Close(fd)
	}
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return fmt.Errorf("only %d more files can be opened, and %d are needed (ulimit -n): %w", len(open), filesMin, err)
	}
	return nil
}
