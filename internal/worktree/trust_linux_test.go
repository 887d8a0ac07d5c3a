package worktree

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestAnEditInTheSameSecondIsSeenWhereTimesAreWholeSeconds needs root, for a
// mount.
func TestAnEditInTheSameSecondIsSeenWhereTimesAreWholeSeconds(t *testing.T) {
	for _, make := range [][]string{{"mkfs.ext4", "-I", "128"}, {"mkfs.ext3", "-I", "128"}, {"mkfs.ext2", "-I", "128"}} {
		t.Run(make[0], func(t *testing.T) {
			p := newPlace(t)
			mountImage(t, p.dir, make)
			for round := range 4 {
				p.sameSecond(round)
			}
		})
	}
}

// sameSecond edits a file, a link and a directory twice in one second, with a
// scan after each edit.
func (p *place) sameSecond(round int) {
	next := time.Now().Truncate(time.Second).Add(time.Second)
	time.Sleep(time.Until(next))
	file, dir := fmt.Sprintf("d/file%d", round), fmt.Sprintf("e%d", round)
	p.write(file, "one")
	p.write(dir+"/one", "1")
	time.Sleep(150 * time.Millisecond)
	p.checkDisk(p.scan())
	p.write(file, "two")
	p.write(dir+"/two", "2")
	if p.touched(file) != next.UnixNano() || p.touched(dir) != next.UnixNano() {
		p.t.Logf("round %d was too slow to say anything", round)
	}
	time.Sleep(150 * time.Millisecond)
	p.checkDisk(p.scan())
	p.write(file, "thr")
	p.write(dir+"/three", "3")
	p.checkDisk(p.scan())
}

// mountImage makes a file system in a file, and mounts it.
func mountImage(t *testing.T, at string, make []string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root may mount a file system")
	}
	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 16<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath(make[0]); err != nil {
		t.Skipf("SKIPPED: there is no %s", make[0])
	}
	if out, err := exec.Command(make[0], append(make[1:len(make):len(make)], "-q", "-F", image)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", make, err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // one stuck loop device of another test stops them all
	defer cancel()
	mount := exec.CommandContext(ctx, "mount", "-o", "loop", image, at)
	mount.WaitDelay = time.Second
	if out, err := mount.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: what %s made cannot be mounted: %v: %s", make[0], err, out)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
}

// TestAWriteThatOutlastsTheScanIsSeenByTheNextOne stops a single write(2) half
// way, at a page of its source that is not there yet. The times of the file are
// those of its beginning.
func TestAWriteThatOutlastsTheScanIsSeenByTheNextOne(t *testing.T) {
	const pages = 16
	size := pages * os.Getpagesize()
	p := newPlace(t)
	p.write("f", strings.Repeat("o", size))
	p.age("f")
	p.scan()
	source := newLazySource(t, pages)
	source.supply(0, pages/2, 'n')
	f, err := os.OpenFile(p.path("f"), os.O_WRONLY, 0)
	p.must(err)
	t.Cleanup(func() { f.Close() })
	ended := make(chan error, 1)
	go func() {
		n, err := unix.Write(int(f.Fd()), source.bytes)
		if err == nil && n != size {
			err = fmt.Errorf("%d bytes written", n)
		}
		ended <- err
	}()
	half := strings.Repeat("n", size/2) + strings.Repeat("o", size/2)
	wait(t, "half of the write is done", func() bool { return contentOf(t, p.path("f")) == half })
	begun := p.touched("f")
	p.now = begun + int64(3*time.Second)
	p.checkDisk(p.scan())
	source.supply(pages/2, pages, 'n')
	p.must(<-ended)
	if p.touched("f") != begun {
		t.Skip("SKIPPED: here the end of a write can be seen, so that there is nothing to miss")
	}
	p.now += int64(10 * time.Second)
	r := p.scan()
	p.checkDisk(r)
	if contentOf(t, p.path("f")) != strings.Repeat("n", size) {
		t.Error("the write did not do what this test needs")
	}
	p.must(f.Close())
	p.now += int64(10 * time.Second)
	p.scan()
	if r := p.scan(); r.Counters.Opened != 0 {
		t.Errorf("%d files are opened still", r.Counters.Opened)
	}
}

// A lazySource is memory whose pages come when the test says so; who reads one
// before waits, also inside of the kernel.
type lazySource struct {
	t     *testing.T
	fd    uintptr
	bytes []byte
}

// The numbers of userfaultfd(2) and ioctl_userfaultfd(2).
const (
	uffdVersion  = 0xaa
	uffdAPI      = 0xc018aa3f
	uffdRegister = 0xc020aa00
	uffdCopy     = 0xc028aa03
	uffdMissing  = 1
)

func newLazySource(t *testing.T, pages int) *lazySource {
	t.Helper()
	fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|unix.O_NONBLOCK, 0, 0)
	if errno != 0 {
		t.Skipf("SKIPPED: memory that comes late cannot be made here (userfaultfd: %v)", errno)
	}
	t.Cleanup(func() { unix.Close(int(fd)) })
	mem, err := unix.Mmap(-1, 0, pages*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	s := &lazySource{t: t, fd: fd, bytes: mem}
	s.ioctl(uffdAPI, unsafe.Pointer(&[3]uint64{uffdVersion}))
	s.ioctl(uffdRegister, unsafe.Pointer(&[4]uint64{s.at(0), uint64(len(mem)), uffdMissing}))
	return s
}

func (s *lazySource) at(page int) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(s.bytes)))) + uint64(page*os.Getpagesize())
}

func (s *lazySource) ioctl(request uintptr, arg unsafe.Pointer) {
	s.t.Helper()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, s.fd, request, uintptr(arg)); errno != 0 {
		s.t.Fatalf("userfaultfd, request %x: %v", request, errno)
	}
}

// supply fills pages, and lets those go on who wait for them.
func (s *lazySource) supply(from, to int, fill byte) {
	s.t.Helper()
	data := []byte(strings.Repeat(string(fill), (to-from)*os.Getpagesize()))
	arg := [5]uint64{s.at(from), uint64(uintptr(unsafe.Pointer(unsafe.SliceData(data)))), uint64(len(data))}
	s.ioctl(uffdCopy, unsafe.Pointer(&arg))
}
