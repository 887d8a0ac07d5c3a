package show

import (
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"
)

// Colored reports whether output to w may have colours: a terminal, unless
// NO_COLOR is set (no-color.org) or the terminal is a dumb one.
func Colored(w any) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// A Look is how a patch is shown.
type Look struct {
	Color bool
	Bare  bool // on a terminal, with no pager between that takes care of what the terminal would obey
}

// IgnoreClosed is nil for a reader that left early, which is no error.
func IgnoreClosed(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	const broken, closing, notConnected syscall.Errno = 109, 232, 233 // what Windows calls it
	if runtime.GOOS == "windows" && (errors.Is(err, broken) || errors.Is(err, closing) || errors.Is(err, notConnected)) {
		return nil
	}
	return err
}
