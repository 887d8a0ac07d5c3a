// Package power proves that what rewind acknowledged survives a loss of power.
//
// A disk in memory, served to the kernel through FUSE and a loop device,
// carries a real file system with its journal. It logs each write and each
// flush. A session of real programs works there: a user's edits, git, rewind.
// A cut is a position in the log: the disk then has all that was written
// before the last flush, and of the writes since then only some, or pieces of
// some. The file system is mounted from such a disk, as after a reboot, and
// every snapshot that rewind acknowledged before the cut must be there, to the
// byte. docs/testing.md says how to run it longer.
//
// Killing a process shows nothing of this: what it wrote stays in the page cache. The
// kernel's own tools for it, dm-log-writes and dm-flakey, need a device mapper, which
// most test machines lack. To record system calls and replay the first of them takes
// an opinion on what a file system may reorder, where the real one can be asked.
//
// The process that serves the disks is not the one that uses them: who waits for a disk
// that he serves himself can no longer be killed. The tests run in a second one with a
// mount namespace of its own; if either dies the other ends. The checks use the built
// program and git alone, and know nothing of the store. What a cut takes from the user's
// own git is not held against rewind: an empty HEAD or index is counted, and mended as
// its user would.
package power
