//go:build linux && (amd64 || arm64)

package fuzz

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// durableCalls are the system calls by which anything gets onto a disk, or off it.
var durableCalls = []uintptr{
	unix.SYS_WRITEV, unix.SYS_PWRITE64, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNCFS, unix.SYS_FTRUNCATE,
	unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT, unix.SYS_SYMLINKAT,
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_COPY_FILE_RANGE,
}

// notification is struct seccomp_notif of seccomp_unotify(2), response struct
// seccomp_notif_resp.
type notification struct {
	id    uint64
	pid   uint32
	flags uint32
	nr    int32
	_     uint32
	ip    uint64
	args  [6]uint64
}

type response struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

const (
	notifyReceive = 0xc0502100
	notifySend    = 0xc0182101
	notifyGoOn    = 1
)

// dieAt kills this process, as kill -9 does, before its n-th durable call from
// now on. The kernel reports each of them to a thread of this process, which
// counts; nothing of the program under test knows of it. The count so far goes
// to the function that is returned.
func dieAt(n int) (count func() int, err error) {
	fd, err := report(durableCalls)
	if err != nil {
		return nil, err
	}
	var seen atomic.Int64
	got, answer := new(notification), new(response)
	go func() {
		runtime.LockOSThread()
		for {
			*got = notification{} // the kernel wants it so
			if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, fd, notifyReceive, uintptr(unsafe.Pointer(got))); e != 0 {
				continue
			}
			if seen.Add(1) == int64(n) {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			*answer = response{id: got.id, flags: notifyGoOn}
			_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, fd, notifySend, uintptr(unsafe.Pointer(answer)))
		}
	}()
	return func() int { return int(seen.Load()) }, nil
}

// report makes the kernel report these calls of every thread of this process.
func report(calls []uintptr) (fd uintptr, err error) {
	const nr, third = 0, 32 // offsets in struct seccomp_data: the call, and the low half of its third argument
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	equal := func(v uintptr, yes, no int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(v), Jt: uint8(yes), Jf: uint8(no)}
	}
	// A write of eight bytes is how Go's scheduler wakes itself: it cannot wait.
	filter := []unix.SockFilter{load(nr), equal(unix.SYS_WRITE, 0, 2), load(third), equal(8, len(calls), len(calls)+1)}
	for i, call := range calls {
		filter = append(filter, equal(call, len(calls)-i, 0))
	}
	filter = append(filter,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH | unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	fd, _, e := syscall.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if e != 0 {
		return 0, fmt.Errorf("seccomp: %w", e)
	}
	return fd, nil
}
