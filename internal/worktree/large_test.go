package worktree

import (
	"context"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/attr"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// smaller lets files be large from a sixteenth of the usual sizes on.
func smaller(t *testing.T) {
	large, memory := largeBytesMin, memoryBytesMax
	t.Cleanup(func() { largeBytesMin, memoryBytesMax = large, memory })
	largeBytesMin, memoryBytesMax = large/16, memory/16
}

func TestLargeFilesAreConvertedLikeByGit(t *testing.T) {
	smaller(t)
	p := newRepo(t)
	p.Git("config", "core.autocrlf", "false")
	p.Write(".gitattributes", "* text=auto\n*.ident ident\n*.bin -text\n")
	line := strings.Repeat("x", 1021) + "\r\n" // so that a line end is cut by every kind of buffer
	text := strings.Repeat(line, int(largeBytesMin)/len(line)+2)
	p.Write("old", text)
	p.Git("-c", "core.autocrlf=false", "-c", "core.attributesFile=/dev/null", "add", "old")
	p.Write("crlf", text)
	p.Write("old", text+"more\r\n")
	p.Write("lone", text+"\ra")
	p.Write("zero", text+"\x00")
	p.Write("a.ident", text+"$Id: something $\n")
	p.Write("a.bin", text)
	p.must(os.WriteFile(p.Path("sparse"), nil, 0o644))
	p.must(os.Truncate(p.Path("sparse"), largeBytesMin+1))
	r := p.scan()
	p.checkGit(r)
	p.checkDisk(r)
	p.must(os.Chtimes(p.Path("crlf"), time.Now(), time.Now()))
	p.Git("add", "-A")
	p.checkGit(p.scan())
}

// discard keeps nothing but ids.
type discard struct{ alg oid.Algorithm }

func (d discard) Blob(_ context.Context, r io.Reader, size int64, _ oid.ID) (oid.ID, error) {
	sum := d.alg.NewHasher(oid.Blob, size)
	_, err := io.Copy(sum, r)
	return sum.Sum(), err
}

func (d discard) Tree(_ context.Context, p []byte, _ oid.ID) (oid.ID, error) {
	return d.alg.Sum(oid.Tree, p), nil
}

func TestASparseGiantUnderTextAutoIsNotReadIntoMemory(t *testing.T) {
	p := newRepo(t)
	p.Write(".gitattributes", "* text=auto\n")
	size := 16 * largeBytesMin
	p.must(os.WriteFile(p.Path("giant"), nil, 0o644))
	p.must(os.Truncate(p.Path("giant"), size))
	p.now = time.Now().Add(time.Hour).UnixNano()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := p.scan(func(c *Config) { c.Save = discard{p.alg} })
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 2*uint64(largeBytesMin) {
		t.Errorf("%d bytes of memory were used", n)
	}
	if r.Counters.ReadBytes < size || len(r.Skipped) > 0 {
		t.Errorf("read %d, skipped %v", r.Counters.ReadBytes, r.Skipped)
	}
}

func TestAFileThatIsTooLargeForItsFilterIsNamedAndNotReadAgain(t *testing.T) {
	smaller(t)
	p := newRepo(t)
	p.Write(".gitattributes", "giant filter=f\n")
	p.must(os.WriteFile(p.Path("giant"), nil, 0o644))
	p.must(os.Truncate(p.Path("giant"), memoryBytesMax+1))
	p.now = time.Now().Add(time.Hour).UnixNano()
	want := Skip{Path: "giant", Reason: errTooLarge().Error(), Kept: true}
	for i, opened := range []int64{2, 0, 1} { // the giant and the rules; nothing; the rules again
		if i == 2 {
			p.Write("other", "") // so that the directory is listed
		}
		r := p.scan(func(c *Config) {
			c.Save, c.Has = discard{p.alg}, nil
			c.Repo.Clean = &attr.Config{Filters: map[string]attr.Filter{"f": {Clean: "cat"}}}
			c.Filter = func(context.Context, attr.Filter, string, []byte) ([]byte, error) {
				t.Error("the filter was run")
				return nil, nil
			}
		})
		p.skips(r, want)
		if r.Counters.ReadBytes > memoryBytesMax && i > 0 {
			t.Errorf("scan %d: read %d bytes, opened %d files, want %d", i, r.Counters.ReadBytes, r.Counters.Opened, opened)
		}
	}
}

func TestALargeFileThatChangesBetweenItsTwoReadingsIsReadAgain(t *testing.T) {
	smaller(t)
	p := newRepo(t)
	p.Write(".gitattributes", "* text=auto\n")
	line := strings.Repeat("x", 1021) + "\r\n"
	text := strings.Repeat(line, int(largeBytesMin)/len(line)+2)
	p.Write("f", text)
	changed := false
	r := p.scan(func(c *Config) {
		c.Save = &between{Saver: c.Save, first: func() {
			if !changed {
				changed = true
				p.Write("f", "now\r\n")
			}
		}}
	})
	if !changed || len(r.Unstable)+len(r.Skipped) > 0 {
		t.Errorf("changed %v, unstable %v, skipped %v", changed, r.Unstable, r.Skipped)
	}
	p.checkDisk(r)
	p.checkGit(r)
}

// between does something after each content that is kept.
type between struct {
	Saver
	first func()
}

func (b *between) Blob(ctx context.Context, r io.Reader, size int64, base oid.ID) (oid.ID, error) {
	id, err := b.Saver.Blob(ctx, r, size, base)
	if size > largeBytesMin {
		b.first()
	}
	return id, err
}
