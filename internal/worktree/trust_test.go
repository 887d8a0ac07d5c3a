package worktree

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
)

func TestAFileReadSoonAfterItWasWrittenIsReadOnceMoreAndThenBelieved(t *testing.T) {
	p := newPlace(t)
	p.Write("a", "one")
	written := p.touched("a")
	for _, step := range []struct {
		after  time.Duration
		opened int64
	}{
		{100 * time.Millisecond, 1},
		{200 * time.Millisecond, 1}, // too soon after the first to tell anything
		{2200 * time.Millisecond, 1},
		{2201 * time.Millisecond, 0},
		{time.Hour, 0},
	} {
		p.now = written + int64(step.after)
		p.opens(step.opened, step.after.String())
	}
}

func TestAFileReadLongAfterItWasWrittenIsBelievedAtOnce(t *testing.T) {
	p := newPlace(t)
	p.Write("a", "one")
	p.now = p.touched("a") + int64(writeTime) + 3*int64(writePerByte)
	p.scan()
	p.opens(0, "it was read")
}

// A store to a mapped page, or the rest of a long write, leaves no trace.
func TestAFileThatChangedWithoutATraceIsReadUntilItStays(t *testing.T) {
	p := newPlace(t)
	p.Write("a", "one")
	p.now = p.touched("a") + int64(time.Second)
	p.scan()
	other := p.alg.Sum(oid.Blob, []byte("0ne"))
	p.forge("a", func(it *stattable.Item) { it.Raw, it.Git = other, other })
	p.now += int64(time.Hour)
	p.checkDisk(p.scanned(func(r *Result) {
		if e, ok := r.Lookup("a"); !ok || !e.Young {
			t.Error("what had just changed without a trace was believed")
		}
	}))
	p.now += int64(readsApart)
	p.opens(1, "it had other bytes")
	p.opens(0, "it has stayed")
}

func TestAClockThatWentBackDoesNotMakeAFileBelieved(t *testing.T) {
	p := newPlace(t)
	p.Write("a", "one")
	written := p.touched("a")
	p.now = written + int64(5*time.Second)
	p.scan()
	for _, after := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second} {
		p.now = written + int64(after)
		p.opens(1, after.String())
	}
	p.opens(0, "it has stayed")
}

func TestTheGrainOfTimesIsWhatAFileShows(t *testing.T) {
	second := int64(time.Second)
	for _, c := range []struct {
		mtime, ctime int64
		want         time.Duration
	}{
		{7*second + 1, 7*second + 1, 1},
		{7 * second, 7*second + 123456789, 1}, // somebody set the time of writing
		{7*second + 1, 7 * second, time.Second},
		{7 * second, 7 * second, time.Second},
		{8 * second, 8 * second, 2 * time.Second},
		{7*second + 120e6, 7*second + 120e6, 10 * time.Millisecond},
		{7*second + 5, 0, 1}, // no time of change at all
		{7 * second, 0, time.Second},
		{-7 * second, -7 * second, time.Second},
	} {
		if got := grain(&dirfd.Stat{Mtime: c.mtime, Ctime: c.ctime}); got != c.want {
			t.Errorf("grain of %d, %d = %v, want %v", c.mtime, c.ctime, got, c.want)
		}
	}
}

// touched is the time that a file shows.
func (p *place) touched(rel string) int64 {
	p.T.Helper()
	d, err := dirfd.Open(filepath.Dir(p.Path(rel)))
	p.must(err)
	defer d.Close()
	st, err := d.Lstat(filepath.Base(rel))
	p.must(err)
	return touched(&st)
}

// forge changes what the root's row says of a name.
func (p *place) forge(name string, change func(*stattable.Item)) {
	p.T.Helper()
	table := stattable.Load(p.table)
	row, _, ok := table.Row("")
	if !ok {
		p.T.Fatal("no row")
	}
	c, found := unpack(row), false
	for i := range c.items {
		if c.items[i].Name == name {
			change(&c.items[i])
			found = true
		}
	}
	if !found {
		p.T.Fatalf("the row has no %q", name)
	}
	defer table.Close()
	p.must(table.Save(table.Bound(), map[string]stattable.Row{"": stattable.Encode("", &c.head, c.items, c.notes)}, nil))
}
