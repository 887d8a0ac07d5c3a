package engine

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/remote/depot"
)

// Where a disk was mounted an empty directory is left, in which a process that goes on
// pushing could write what nobody can read.
func TestWhoFollowsWritesNothingWhereADiskIsAway(t *testing.T) {
	p := newPlace(t, false)
	p.write("f", "0")
	e := p.open()
	p.snap(e, "0", nil)
	m := p.newRemote(e)
	pushes, stop := p.following(e, m, nil, away.Follow{})
	p.must(soon(t, pushes, "the first push"))
	parked := m.URL + ".parked"
	p.must(os.Rename(m.URL, parked))
	p.must(os.Mkdir(m.URL, 0o700))
	p.write("f", "1")
	p.snap(e, "1", nil)
	if err := soon(t, pushes, "a push without the disk"); err == nil {
		t.Error("it was pushed to a disk that is away")
	}
	_ = stop() // or it has ended with that error
	if list, err := os.ReadDir(m.URL); err != nil || len(list) > 0 {
		t.Errorf("in the empty directory is %v, %v", list, err)
	}
	if b, err := e.Remotes().Behind(context.Background(), m); err != nil || b.Waiting != 1 {
		t.Errorf("%+v, %v: one waits", b, err)
	}
	p.must(os.Remove(m.URL))
	p.must(os.Rename(parked, m.URL))
	p.mustPush(e, m)
	if n := len(p.distant(e, m)); n != 2 {
		t.Errorf("%d snapshots are there, want 2", n)
	}
}

// A cutting place lets a purge come when all contents are there and no snapshot is.
type cutting struct {
	depot.Place
	cut func()
}

func (c *cutting) Put(ctx context.Context, name string, data []byte) error {
	if strings.HasPrefix(name, "index/") {
		c.cut()
	}
	return c.Place.Put(ctx, name, data)
}

func TestAPushNamesNothingThatAPurgeHasCutMeanwhile(t *testing.T) {
	p := newPlace(t, false)
	p.write("secret", secret)
	p.write("f", "0")
	e := p.open()
	before := p.snap(e, "0", nil)
	m := p.newRemote(e)
	r := e.Remotes()
	var once sync.Once
	r.Place = func(url string) (depot.Place, error) {
		place, err := depot.Open(url)
		return &cutting{place, func() { once.Do(func() { p.purged(p.open(), "secret") }) }}, err
	}
	s, err := r.OpenToPush(context.Background(), m, remotePassword)
	p.must(err)
	out, err := r.Push(context.Background(), s)
	p.must(err)
	if list := p.distant(e, m); out.Snapshots != 0 || len(list) != 0 {
		t.Errorf("%d were pushed, %v are there: %s was cut", out.Snapshots, list, before.ID)
	}
	p.mustPush(e, m)
	if n := len(p.distant(e, m)); n != 1 {
		t.Errorf("%d snapshots are there, want the one without the secret", n)
	}
}
