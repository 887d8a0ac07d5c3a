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
package power
