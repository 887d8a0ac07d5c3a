package stattable

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapWhole makes mmap(2) bring in all pages of a file at once: all of it will
// be read.
const mapWhole = unix.MAP_POPULATE

// spareFaults asks for huge pages (madvise(2)) before memory is written for
// the first time: the rows of a large worktree lie on thousands of small
// pages, and meeting each for the first time takes longer than copying it.
// Whatever the system answers, the memory is as it was.
func spareFaults(arena []byte) {
	page := os.Getpagesize()
	arena = arena[:cap(arena)]
	if len(arena) < 64*page {
		return
	}
	skip := -int(uintptr(unsafe.Pointer(&arena[0]))) & (page - 1)
	arena = arena[skip:]
	_ = unix.Madvise(arena[:len(arena)&^(page-1)], unix.MADV_HUGEPAGE)
}
