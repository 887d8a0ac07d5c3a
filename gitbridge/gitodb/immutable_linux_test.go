package gitodb

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// immutable is FS_IMMUTABLE_FL of linux/fs.h, which nobody can rename over (ioctl_iflags(2)).
const immutable = 0x10

// An object's file that is damaged is written anew. Where that fails, the one that is
// there counted as written: Windows does not replace what somebody has open.
func TestADamagedObjectThatCannotBeReplacedIsNotSaidToBeWritten(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	d := r.open()
	p := []byte("a few bytes")
	id := oid.SHA1.Sum(oid.Blob, p)
	path := loosePath(d.dir, id)
	r.Write(strings.TrimPrefix(path, r.Dir), "damaged")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, immutable); err != nil {
		t.Skipf("SKIPPED: no file can be made immutable here: %v", err)
	}
	defer unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0)
	if err := d.ReplaceLoose(id, Payload(oid.Blob, p)); err == nil {
		t.Error("it is said to be written")
	}
}
