package cas

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// giveBack takes the pages of a mapped file out of the memory of this process. Their
// bytes stay where they are: the mapping is shared with the file, and nobody writes
// through it. A failure leaves all as it was.
func giveBack(at, bytes uintptr) {
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, at, bytes, syscall.MADV_DONTNEED)
}

// mappedNow returns how many bytes of files are in the memory of this process; -1 if the
// system does not tell. It is the third field of statm, in proc_pid_statm(5).
func mappedNow() int {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return -1
	}
	fields := bytes.Fields(statm)
	if len(fields) < 3 {
		return -1
	}
	pages, err := strconv.Atoi(string(fields[2]))
	if err != nil || pages <= 0 { // gVisor says 0, though a program that runs has some
		return -1
	}
	return pages * os.Getpagesize()
}
