package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A scan that began before a restore, and went on while that was under way, has seen
// some files as they were before and some as they are afterwards, and the restore's
// temporary files.
func TestASnapshotBesideARestoreIsOfWhatIsThereAfterwards(t *testing.T) {
	t.Parallel()
	p := newPlace(t, true)
	control := t.TempDir() // armed: the next filter waits until go is there
	armed, started, goOn := filepath.Join(control, "armed"), filepath.Join(control, "started"), filepath.Join(control, "go")
	p.git("config", "filter.slow.clean", fmt.Sprintf("cat; if rm %q 2>/dev/null; then touch %q; while [ ! -e %q ]; do sleep 0.01; done; fi", armed, started, goOn))
	p.write(".gitattributes", "*.slow filter=slow\n")
	all := func(text string) {
		for i := range 20 {
			p.write(fmt.Sprintf("d/%d", i), text)
		}
		p.write("a.slow", text)
	}
	all("one")
	e := p.open()
	one := p.take(e)
	all("second")
	p.take(e)
	all("as the third")
	p.must(os.WriteFile(armed, nil, 0o600))

	slow, scanned := p.open(), make(chan struct{})
	var once sync.Once
	slow.seen = func() { once.Do(func() { close(scanned) }) }
	var r *Recorded
	var err error
	var both sync.WaitGroup
	both.Go(func() { r, err = slow.Snapshot(context.Background(), nil) })
	for _, bad := os.Lstat(started); bad != nil; _, bad = os.Lstat(started) {
		time.Sleep(time.Millisecond)
	}
	restores := p.open()
	var first sync.Once
	restores.opt.Progress = func(at Progress) {
		if at.Step == "restore" {
			first.Do(func() {
				p.must(os.WriteFile(goOn, nil, 0o600))
				<-scanned
			})
		}
	}
	p.do(restores, Op{To: one.ID})
	both.Wait()
	p.must(err)
	for at, err := range tree.Walk(r.State(), e.alg, e.objects.Trees(context.Background(), objects.Reading{})) {
		p.must(err)
		if strings.Contains(at.Path, "rewind-tmp") {
			t.Errorf("the snapshot has %s", at.Path)
		}
	}
	d := p.diff(e, r.Snapshot, nil)
	if len(d.Changes) > 0 {
		t.Errorf("the snapshot differs from the files, first in %+v", d.Changes[0])
	}
	here, err := e.Here(context.Background())
	if err != nil || here.ID != one.ID && here.ID != r.ID {
		t.Errorf("the files stand at %v, %v", here, err)
	}
}

// A snapshot that found nothing unfinished may read what is known only after another
// process has begun a restore, and be recorded before that ends.
func TestASnapshotThatBeginsDuringARestoreIsOfWhatIsThereAfterwards(t *testing.T) {
	t.Parallel()
	p := newPlace(t, true)
	all := func(text string) {
		for i := range 20 {
			p.write(fmt.Sprintf("d/%d", i), text)
		}
	}
	all("one")
	e := p.open()
	one := p.take(e)
	all("second")
	p.take(e)

	begun, scanned, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	restores := p.open()
	restores.opt.Progress = func(at Progress) {
		if at.Step != "restore" || at.Done < 10 {
			return
		}
		select {
		case <-begun:
		default:
			close(begun)
			<-scanned
			select { // the snapshot waits until this has ended, or should have
			case <-ended:
			case <-time.After(300 * time.Millisecond):
			}
		}
	}
	slow := p.open()
	var once sync.Once
	slow.seen = func() { once.Do(func() { close(scanned) }) }
	var both sync.WaitGroup
	both.Go(func() {
		_, err := restores.Do(context.Background(), Op{To: one.ID})
		if err != nil {
			t.Error(err)
		}
	})
	<-begun
	turn := slow.beginTurn(context.Background())
	defer func() { turn.Close() }()
	taken, err := slow.recordPresent(context.Background(), Recorded{}, Point{}, &turn)
	close(ended)
	both.Wait()
	p.must(err)
	defer taken.present.Close()
	p.must(taken.way.Finish(context.Background()))
	d := p.diff(e, taken.result.Snapshot, nil)
	if len(d.Changes) > 0 {
		t.Errorf("the snapshot differs from the files, first in %+v", d.Changes[0])
	}
}

// Afterwards undo wants what it did before, and the files are what they were.
func TestASnapshotBeginsAgainWhereTheFilesWereAwayDuringItsScan(t *testing.T) {
	t.Parallel()
	p := newPlace(t, true)
	ctx := context.Background()
	p.write("f", "one")
	e := p.open()
	one := p.take(e)
	p.write("f", "second")
	p.take(e)
	p.do(e, Op{To: one.ID})
	p.write("f", "as the third")
	slow, scans := p.open(), 0
	slow.seen = func() {
		if scans++; scans > 1 {
			return
		}
		home, err := e.StartBisect(ctx, nil)
		p.must(err)
		for _, id := range []oid.ID{one.ID, home.ID} {
			p.do(e, Op{To: id})
		}
		p.must(e.SetBisect(ctx, oid.ID{}, nil))
	}
	if r, err := slow.Snapshot(ctx, nil); err != nil || scans != 2 {
		t.Errorf("%+v, %v: after %d scans", r, err, scans)
	}
}
