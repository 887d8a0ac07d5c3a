package exit

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
)

// What ended a restore half-way is said in words, and what to do comes first.
func TestAnErrorSaysWhatToDoInPlaceOfTheWordsOfGo(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	half := func(why error) error {
		return fmt.Errorf("restore %w: the next command finishes it: %w", engine.ErrUnfinished, why)
	}
	full := &os.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}
	for _, c := range []struct {
		err  error
		want string
	}{
		{half(ended.Err()), "restore stopped half-way: the next command finishes it: interrupted"},
		{half(context.DeadlineExceeded), "restore stopped half-way: the next command finishes it: the deadline has passed"},
		{half(full), "make room on the disk, and try again: restore stopped half-way: the next command finishes it: write f: no space left on device"},
		{full, "make room on the disk, and try again: write f: no space left on device"},
		{&os.PathError{Op: "open", Path: "g/.git/rewind/store.db.lock", Err: syscall.EACCES},
			"open g/.git/rewind/store.db.lock: permission denied: the store may not be written: permit that (own it, or chmod u+w), or \"rewind --no-git\" keeps one in your own state directory"},
		{&os.PathError{Op: "open", Path: "g/.git/rewind/store.db.lock", Err: syscall.EROFS}, "open g/.git/rewind/store.db.lock: read-only file system: the store may not be written: mount its file system for writing, or \"rewind --no-git\" records into your own state directory"},
		{&os.PathError{Op: "open", Path: "f", Err: syscall.EACCES}, "open f: permission denied"},
	} {
		if got := Sentence(ended, c.err); got != c.want {
			t.Errorf("it says %q, not %q", got, c.want)
		}
	}
}
