package locate

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// A directory whose permissions were taken away was said to be gone.
func TestADirectoryThatMayNotBeReadIsNotSaidToBeGone(t *testing.T) {
	for cause, want := range map[error]string{syscall.ENOENT: "is gone", syscall.EACCES: "cannot be read"} {
		if err := nowhere(&os.PathError{Op: "stat", Path: ".", Err: cause}); !strings.Contains(err.Error(), "the current directory "+want) {
			t.Errorf("%v: %v", cause, err)
		}
	}
}
