package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine/away"
)

// quiet is how long who follows waits for another snapshot.
const quiet = 80 * time.Millisecond

// following pushes in the background until the test ends, or stop is called.
func (p *place) following(e *Engine, m away.Remote, f *failing, with away.Follow) (pushes chan error, stop func() error) {
	p.t.Helper()
	r := e.Remotes()
	if f != nil {
		r.Place = f.open
	}
	ctx, cancel := context.WithCancel(context.Background())
	pushes = make(chan error, 100)
	ended := make(chan error, 1)
	with.Remote = m
	if with.Quiet == 0 {
		with.Quiet = quiet
	}
	with.Open = func(ctx context.Context) (*away.Session, error) { return r.OpenToPush(ctx, m, remotePassword) }
	with.Told = func(out *away.Pushed, err error) {
		if err != nil || out.Snapshots > 0 {
			pushes <- err
		}
	}
	go func() { ended <- r.Follow(ctx, with) }()
	var err error
	done := false
	stop = func() error {
		if !done {
			cancel()
			err, done = <-ended, true
		}
		return err
	}
	p.t.Cleanup(func() { _ = stop() })
	return pushes, stop
}

func soon[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		t.Fatalf("%s: nothing happens", what)
	}
	return v
}

func TestSnapshotsOfAMomentArePushedTogether(t *testing.T) {
	p := newPlace(t, false)
	p.write("f", "0")
	e := p.open()
	p.snap(e, "0", nil)
	m := p.newRemote(e)
	pushes, stop := p.following(e, m, nil, away.Follow{})
	p.must(soon(t, pushes, "the first push"))
	begun := time.Now()
	for i := range 3 {
		p.write("f", fmt.Sprint("next", i))
		p.snap(e, fmt.Sprint("turn", i), nil)
	}
	most, n := 1+int(time.Since(begun)/quiet), 0 // where snapshots take long, there is quiet between them
	for waits := true; waits; n++ {
		p.must(soon(t, pushes, "a push of three"))
		b, err := e.Remotes().Behind(context.Background(), m)
		p.must(err)
		waits = b.Waiting != 0
	}
	if n += len(pushes); n > most {
		t.Errorf("%d pushes, and there was quiet before %d", n, most)
	}
	f, runs, err := e.Remotes().Following()
	if err != nil || !runs || f.Error != "" || f.Done.IsZero() || f.PID != os.Getpid() || e.Remotes().Wants() {
		t.Errorf("%+v %v, %v", f, runs, err)
	}
	if err := e.Remotes().Follow(context.Background(), away.Follow{Remote: m}); !errors.Is(err, away.ErrFollowed) {
		t.Errorf("another one says %v", err)
	}
	p.must(stop())
	if _, runs, err = e.Remotes().Following(); runs || err != nil || !e.Remotes().Wants() {
		t.Errorf("after its end it runs: %v, %v", runs, err)
	}
	p.snap(e, "again", nil)
	if len(p.distant(e, m)) != 4 {
		t.Errorf("there is %v", p.distant(e, m))
	}
}

// TestWhatWaitsIsPushedByTheNextOneThatFollows has followers that were killed, at each request.
func TestWhatWaitsIsPushedByTheNextOneThatFollows(t *testing.T) {
	p := newPlace(t, false)
	p.write("f", "0")
	e := p.open()
	p.snap(e, "0", nil)
	m := p.newRemote(e)
	p.mustPush(e, m)
	for at := 1; at < 10; at++ {
		p.write("f", fmt.Sprint("text", at))
		p.snap(e, fmt.Sprint("turn", at), nil)
		pushes, stop := p.following(e, m, &failing{left: at, kills: true}, away.Follow{})
		if err := soon(t, pushes, "a push that ends"); !errors.Is(err, errKilled) {
			t.Fatalf("request %d: %v", at, err)
		}
		if err := stop(); err != nil && !errors.Is(err, errKilled) { // nil: it met the lock of the one before
			t.Errorf("it ends with %v", err)
		}
		if f, runs, err := e.Remotes().Following(); err != nil || runs || !strings.Contains(f.Error, "killed") || e.Remotes().Wants() {
			t.Errorf("%+v %v, %v: it is not begun again at once", f, runs, err)
		}
		pushes, stop = p.following(e, m, nil, away.Follow{})
		p.must(soon(t, pushes, "the next push"))
		p.must(stop())
		if n := len(p.distant(e, m)); n != at+1 {
			t.Fatalf("request %d: %d snapshots are there", at, n)
		}
	}
}

// What status tells is what a snapshot goes by.
func TestAFailureIsFollowedByAnotherProcessFromTheMomentThatIsTold(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.snap(e, "0", nil)
	r, m := e.Remotes(), p.newRemote(e)
	pushes, stop := p.following(e, m, &failing{left: 1, kills: true}, away.Follow{})
	if err := soon(t, pushes, "a push that ends"); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	_ = stop() // it ends with what the push met
	f, runs, err := r.Following()
	if err != nil || runs || !f.Begins().After(time.Now()) || r.Wants() {
		t.Fatalf("%+v %v %v: %v", f, runs, err, f.Begins())
	}
	f.Failed = f.Failed.Add(-time.Until(f.Begins()) - time.Millisecond)
	text, err := json.Marshal(f)
	p.must(errors.Join(err, os.WriteFile(filepath.Join(r.Dir, "remotes", "follow"), text, 0o600)))
	if f.Begins().After(time.Now()) || !r.Wants() {
		t.Errorf("after %v none is wanted", f.Begins())
	}
	if f = new(away.Following); !f.Begins().IsZero() {
		t.Errorf("without a failure there is a wait until %v", f.Begins())
	}
}

func TestWhoFollowsEndsWithTheRemoteOrTheStore(t *testing.T) {
	for _, what := range []string{"remote", "stopped", "store", "unwanted", "idle"} {
		t.Run(what, func(t *testing.T) {
			p := newPlace(t, false)
			p.write("f", "0")
			e := p.open()
			p.snap(e, "0", nil)
			m := p.newRemote(e)
			ended := make(chan error, 1)
			r := e.Remotes()
			wanted := true
			with := away.Follow{Remote: m, Quiet: quiet, Wanted: func() bool { return wanted }}
			if what == "idle" {
				with.Idle = 200 * time.Millisecond
			}
			first := make(chan error, 9)
			with.Open = func(ctx context.Context) (*away.Session, error) { return r.OpenToPush(ctx, m, remotePassword) }
			with.Told = func(_ *away.Pushed, err error) { first <- err }
			go func() { ended <- r.Follow(context.Background(), with) }()
			p.must(soon(t, first, "the first push"))
			switch what {
			case "remote":
				p.must(e.Remotes().Remove(context.Background(), m.Name))
			case "stopped":
				p.must(e.Remotes().StopFollowing(context.Background()))
			case "store":
				p.must(os.Remove(filepath.Join(e.Remotes().Dir, storeFile)))
			case "unwanted":
				wanted = false
				p.write("f", "1")
				p.snap(e, "1", nil)
			}
			p.must(soon(t, ended, "its end"))
		})
	}
}

func TestASnapshotSaysWhereItIsToBePushed(t *testing.T) {
	p := newPlace(t, false)
	p.write("f", "0")
	var told []string
	open := func(remote string) *Engine {
		e, err := Open(context.Background(), p.dir, &Options{AutoPush: func(_ *Engine, remote string) { told = append(told, remote) }, Getenv: func(name string) string {
			if name == "REWIND_AUTO_PUSH" {
				return remote
			}
			return p.getenv(name)
		}})
		p.must(err)
		t.Cleanup(func() { _ = e.Close() })
		return e
	}
	p.snap(open(""), "0", nil)
	p.snap(open("cloud"), "0", nil)
	_, err := open("cloud").Snapshot(context.Background(), &SnapshotOptions{DryRun: true})
	p.must(err)
	if len(told) != 1 || told[0] != "cloud" {
		t.Errorf("told %q", told)
	}
}
