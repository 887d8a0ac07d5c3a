//go:build unix

package durable

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/seed-82afce7a/rewind/internal/trust"
)

// unwaiting lets opening a pipe return at once.
const unwaiting = syscall.O_NONBLOCK | syscall.O_NOCTTY

// owned returns nil if something is the user's own, as internal/trust judges it,
// or belongs to the owner of the directory that it lies in, which is looked at only
// then.
func owned(path string, info fs.FileInfo, above func() (fs.FileInfo, error)) error {
	if trust.Owned(path, info) {
		return nil
	}
	in, err := above()
	if err != nil {
		return err
	}
	if uid := ownerOf(info); uid != ownerOf(in) {
		return foreign(path, fmt.Sprintf("it belongs to another user (%d)", uid))
	}
	return nil
}

func ownerOf(info fs.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }

// unchanged reports whether two looks saw one file, with the same owner and mode.
func unchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Mode() == b.Mode() && ownerOf(a) == ownerOf(b)
}
