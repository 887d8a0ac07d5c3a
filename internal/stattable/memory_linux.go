package stattable

import "golang.org/x/sys/unix"

// mapWhole makes mmap(2) bring in all pages of a file at once: all of it will
// be read.
const mapWhole = unix.MAP_POPULATE
