package worktree

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A mapper is another process that has a file mapped, and its descriptor closed.
type mapper struct {
	p    *place
	cmd  *exec.Cmd
	in   io.WriteCloser
	said *bufio.Scanner
}

const mapperEnv = "REWIND_TEST_MAPS"

func (p *place) mapped(rel string) *mapper {
	p.T.Helper()
	m := &mapper{p: p, cmd: exec.Command(os.Args[0], "-test.run", "^TestHelperMaps$")}
	m.cmd.Env, m.cmd.Stderr = append(os.Environ(), mapperEnv+"="+p.Path(rel)), os.Stderr
	in, err := m.cmd.StdinPipe()
	p.must(err)
	out, err := m.cmd.StdoutPipe()
	p.must(err)
	p.must(m.cmd.Start())
	m.in, m.said = in, bufio.NewScanner(out)
	p.T.Cleanup(m.end)
	m.answered()
	return m
}

// store stores a byte at the beginning of the file.
func (m *mapper) store(c byte) {
	m.p.T.Helper()
	_, err := m.in.Write([]byte{c})
	m.p.must(err)
	m.answered()
}

func (m *mapper) answered() {
	m.p.T.Helper()
	if !m.said.Scan() || m.said.Text() != "done" {
		m.p.T.Fatalf("the other process said %q: %v", m.said.Text(), m.said.Err())
	}
}

func (m *mapper) end() {
	m.in.Close()
	_ = m.cmd.Wait()
}

// TestHelperMaps is the other process.
func TestHelperMaps(t *testing.T) {
	path := os.Getenv(mapperEnv)
	if path == "" {
		t.SkipNow() // nobody asks for it
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	page, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for one := make([]byte, 1); ; page[0] = one[0] {
		fmt.Println("done")
		if _, err := os.Stdin.Read(one); err != nil {
			os.Exit(0)
		}
	}
}

// onDisks runs a test where temporary files lie, and on what can be mounted here.
func onDisks(t *testing.T, test func(t *testing.T, p *place)) {
	t.Run("temporary files", func(t *testing.T) {
		p := newPlace(t)
		if p.kind() == unix.OVERLAYFS_SUPER_MAGIC {
			t.Skip("SKIPPED: temporary files lie on an overlay, which does not tell of a mapping that outlives its descriptor")
		}
		test(t, p)
	})
	t.Run("ext4", func(t *testing.T) {
		p := newPlace(t)
		mountImage(t, p.Dir, []string{"mkfs.ext4"})
		os.Remove(p.Path("lost+found"))
		test(t, p)
	})
	t.Run("tmpfs", func(t *testing.T) {
		p := newPlace(t)
		if err := unix.Mount("none", p.Dir, "tmpfs", 0, "size=1m"); err != nil {
			t.Skipf("SKIPPED: no tmpfs can be mounted here: %v", err)
		}
		t.Cleanup(func() { unix.Unmount(p.Dir, unix.MNT_DETACH) })
		test(t, p)
	})
}

// written is from when on nothing that the file's times tell of is not written back.
func (p *place) written(rel string) int64 {
	p.T.Helper()
	d := writebackTime(vmDir)
	if d == math.MaxInt64 {
		p.T.Skip("SKIPPED: here nothing is written back in time (vm.dirty_writeback_centisecs)")
	}
	return p.touched(rel) + int64(d) + writing(4096)
}

// kind is the type of the file system of a place.
func (p *place) kind() int64 {
	var s unix.Statfs_t
	p.must(unix.Statfs(p.Dir, &s))
	return int64(s.Type)
}

// The first store to a page moves the times, and the next ones do not, until the page is
// written back.
func TestASecondStoreToAMappedPageIsSeen(t *testing.T) {
	onDisks(t, func(t *testing.T, p *place) {
		p.Write("f", strings.Repeat("o", 4096))
		m := p.mapped("f")
		m.store('A')
		first := p.touched("f")
		p.now = first + int64(writeTime+time.Second)
		p.opens(1, "it is new")
		for i, c := range "BCD" {
			m.store(byte(c))
			p.now += int64(readsApart + time.Second)
			p.opens(1, fmt.Sprintf("store %d", i+2))
		}
		if p.touched("f") != first {
			t.Skip("SKIPPED: the page was written back meanwhile, so that the stores could be seen by their times")
		}
		p.now += int64(readsApart)
		p.opens(1, "the last store was just seen")
		p.now = p.written("f")
		p.opens(1, "it is old, and was not believed before")
		more := int64(0)
		if p.kind() == unix.TMPFS_MAGIC {
			more = 1
		}
		p.opens(more, "what is written back is believed, and memory is not written back")
		m.end()
		p.opens(more, "nobody has it mapped any more")
		p.opens(0, "it was read since")
	})
}

func TestAFileThatSomebodyHasOpenIsBelievedWhenItIsOld(t *testing.T) {
	p := newPlace(t)
	p.Write("log", "line\n")
	f, err := os.OpenFile(p.Path("log"), os.O_WRONLY|os.O_APPEND, 0)
	p.must(err)
	defer f.Close()
	p.now = p.written("log")
	p.opens(1, "it is new")
	p.opens(0, "it is open for writing, and old")
}

func TestAFileIsBelievedOnceItsMappingHasEnded(t *testing.T) {
	onDisks(t, func(t *testing.T, p *place) {
		p.Write("f", strings.Repeat("o", 4096))
		m := p.mapped("f")
		m.store('A')
		p.now = p.touched("f") + int64(writeTime+time.Second)
		p.opens(1, "it is new")
		m.store('B')
		m.end()
		p.now += int64(readsApart)
		p.opens(1, "it was mapped")
		p.now += int64(readsApart)
		p.opens(1, "it had other bytes the last time")
		p.opens(0, "it has the same bytes, and nobody has it mapped")
	})
}

// What is mapped after a file was read moves its times at the first store to each page,
// also where the page was stored to by an earlier mapping, and is not written back.
func TestAFirstStoreOfALaterMappingMovesTheTimes(t *testing.T) {
	onDisks(t, func(t *testing.T, p *place) {
		p.Write("f", strings.Repeat("o", 4096))
		m := p.mapped("f")
		m.store('A')
		m.end()
		p.now = p.touched("f") + int64(writeTime+time.Second)
		p.opens(1, "it is new")
		p.opens(0, "nobody had it mapped")
		time.Sleep(20 * time.Millisecond) // the clock that stamps files stands still for a while
		p.mapped("f").store('B')
		p.opens(1, "its times moved")
	})
}

func TestTheTimeUntilPagesAreWrittenBackIsTheSystems(t *testing.T) {
	for _, c := range []struct {
		expire, writeback string
		want              time.Duration
	}{
		{"3000\n", "500\n", 35 * time.Second},
		{"6000\n", "6000\n", 2 * time.Minute},
		{"3000\n", "0\n", writebackNever},
		{"0\n", "500\n", 5 * time.Second},
		{"-1\n", "500\n", writebackUsual},
		{"", "", writebackUsual},
	} {
		dir := t.TempDir()
		if c.expire != "" {
			for name, text := range map[string]string{"dirty_expire_centisecs": c.expire, "dirty_writeback_centisecs": c.writeback} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := writebackTime(dir); got != c.want {
			t.Errorf("expire %q, writeback %q: %v, want %v", c.expire, c.writeback, got, c.want)
		}
	}
}
