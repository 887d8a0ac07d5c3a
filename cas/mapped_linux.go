package cas

import "syscall"

// giveBack takes the pages of a mapped file out of the memory of this process. Their
// bytes stay where they are: the mapping is shared with the file, and nobody writes
// through it. A failure leaves all as it was.
func giveBack(at, bytes uintptr) {
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, at, bytes, syscall.MADV_DONTNEED)
}
