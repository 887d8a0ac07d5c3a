package dirfd

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// opened makes a file and opens it for reading.
func opened(t *testing.T) (path string, f *File) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "f")
	must(t, os.WriteFile(path, make([]byte, 4096), 0o600))
	d := open(t, dir)
	if !d.Local() {
		t.Skip("SKIPPED: temporary files lie on a file system that is not asked")
	}
	var err error
	if f, err = d.OpenFile("f"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return path, f
}

func TestAFileHasAWriterUntilTheLastMappingEnds(t *testing.T) {
	path, f := opened(t)
	expect := func(want bool, when string) {
		t.Helper()
		if got := f.Writer() >= SomeWriter; got != want {
			t.Errorf("%s: a writer %v, want %v", when, got, want)
		}
	}
	expect(false, "nobody has it open")
	reader, err := os.Open(path)
	must(t, err)
	defer reader.Close()
	expect(false, "it is open for reading")
	w, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	expect(true, "it is open for writing")
	page, err := unix.Mmap(int(w.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	w.Close()
	var s unix.Statfs_t
	must(t, unix.Statfs(path, &s))
	expect(s.Type != unix.OVERLAYFS_SUPER_MAGIC, "it is mapped, and closed")
	must(t, unix.Munmap(page))
	expect(false, "the mapping has ended")
}

const openerEnv = "REWIND_TEST_OPENS"

// The lease is given back at once: who opens the file for writing is never refused, and
// the signal that the kernel sends us for it does no harm.
func TestWhoOpensAFileForWritingIsNotRefusedWhileItIsAsked(t *testing.T) {
	path, f := opened(t)
	cmd := exec.Command(os.Args[0], "-test.run", "^TestHelperOpens$")
	cmd.Env = append(os.Environ(), openerEnv+"="+path)
	ended := make(chan error, 1)
	go func() {
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		ended <- err
	}()
	met := 0
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the other process: %v", err)
			}
			if met == 0 {
				t.Error("the file was never met open for writing")
			}
			return
		default:
			if f.Writer() >= SomeWriter {
				met++
			}
		}
	}
}

// TestHelperOpens is the other process.
func TestHelperOpens(t *testing.T) {
	path := os.Getenv(openerEnv)
	if path == "" {
		t.SkipNow() // nobody asks for it
	}
	for range 20_000 {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		must(t, err)
		f.Close()
	}
}
