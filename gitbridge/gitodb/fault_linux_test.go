package gitodb

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// faulty is mapped memory that cannot be read, as where a disk fails.
func faulty(t *testing.T, size int) []byte {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "gone"))
	if err == nil {
		err = f.Truncate(int64(size))
	}
	if err != nil {
		t.Fatal(err)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err = errors.Join(err, f.Truncate(0), f.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(data) })
	return data
}

// packedRepo is a repository with one pack, which is open.
func packedRepo(t *testing.T) (*repo, map[oid.ID]string, *DB, *pack) {
	t.Helper()
	r := newRepo(t, oid.SHA1)
	ids := r.fill(21)
	r.Git("repack", "-q", "-a", "-d")
	r.Git("prune-packed")
	d := r.open()
	p := d.all()[0].list()[0]
	p.lookUp()
	if _, err := p.open(); err != nil {
		t.Fatal(err)
	}
	return r, ids, d, p
}

func TestWhatAMapCannotGiveIsReadFromTheFile(t *testing.T) {
	r, ids, d, p := packedRepo(t)
	was := p.data
	p.data = faulty(t, len(was))
	r.wantAll(d, ids)
	p.data = was
}

func TestADiskThatCannotBeReadIsNoProofOfDamage(t *testing.T) {
	r, ids, d, p := packedRepo(t)
	data, file := p.data, p.file
	p.data = faulty(t, len(data))
	var err error
	if p.file, err = os.Open(r.objects()); err != nil { // a directory cannot be read as a file
		t.Fatal(err)
	}
	for id := range ids {
		if _, _, err := d.Read(id); err == nil || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNotFound) {
			t.Fatalf("it says %v", err)
		}
	}
	if err := p.check(p.file); err == nil || errors.Is(err, ErrCorrupt) {
		t.Errorf("the whole pack: %v", err)
	}
	_ = p.file.Close()
	p.data, p.file = data, file
}

func TestAnIndexThatCannotBeReadIsNoProofThatAnObjectIsGone(t *testing.T) {
	_, ids, d, p := packedRepo(t)
	if err := d.Complete(); err != nil {
		t.Fatal(err)
	}
	was := p.index.data
	p.index.data = faulty(t, len(was))
	for id := range ids {
		if d.Has(id) {
			t.Fatal("it is found")
		}
	}
	if err := d.Complete(); err == nil {
		t.Error("nothing may be hidden, it says")
	}
	p.index.data = was
}
