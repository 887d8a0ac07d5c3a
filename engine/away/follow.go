package away

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/remote/depot"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// A Following says what a process does that pushes in the background, or what the last one did.
type Following struct {
	Remote string    `json:"remote"`
	PID    int       `json:"pid"`
	Done   time.Time `json:"done,omitzero"`   // when everything was there last
	Error  string    `json:"error,omitempty"` // of the last push, if it failed
	Failed time.Time `json:"failed,omitzero"`
	Next   time.Time `json:"next,omitzero"` // when it is tried again
}

const (
	followFile = "follow"      // what is done; who follows ends when it is gone
	followLock = "follow.lock" // held while somebody follows
)

// ErrFollowed is reported where another process pushes in the background.
var ErrFollowed = errors.New("another process pushes in the background here")

// Following tells of the process that pushes in the background; nil: none ever did. It asks nobody.
func (r *Remotes) Following() (f *Following, runs bool, err error) {
	text, err := durable.ReadFile(r.at(followFile), listMost)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	f = &Following{}
	if err == nil {
		err = json.Unmarshal(text, f)
	}
	if err != nil {
		return nil, false, err
	}
	lock, err := durable.TryLock(r.at(followLock), durable.Exclusive)
	if err == nil {
		return f, false, lock.Unlock()
	}
	return f, true, nil
}

// again is how long after a failure that no waiting ends another process is worth beginning.
const again = time.Minute

// Begins returns the moment from which on a snapshot begins another process, once this one has ended; zero: any does.
func (f *Following) Begins() time.Time {
	if f.Error == "" {
		return time.Time{}
	}
	return f.Failed.Add(again)
}

// Wants reports whether a process that pushes in the background is to be begun.
func (r *Remotes) Wants() bool {
	f, runs, err := r.Following()
	return err != nil || f == nil || !runs && time.Now().After(f.Begins())
}

// StopFollowing ends the process that pushes in the background, and waits for that.
func (r *Remotes) StopFollowing(ctx context.Context) error {
	if _, err := os.Lstat(r.at(followLock)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopMost)
	defer cancel()
	for {
		// Who follows may just write it anew.
		if err := durable.Remove(r.at(followFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		lock, err := durable.TryLock(r.at(followLock), durable.Exclusive)
		if !errors.Is(err, durable.ErrLocked) {
			if err == nil {
				err = lock.Unlock()
			}
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w, and does not end: %w", ErrFollowed, ctx.Err())
		case <-time.After(followQuiet / followLooks / 4):
		}
	}
}

// stopMost is how long the end of who follows is waited for: it gives back its lock there.
const stopMost = 30 * time.Second

// A Follow says how to push in the background.
type Follow struct {
	Remote Remote
	Open   func(context.Context) (*Session, error)
	Told   func(*Pushed, error) // of each push
	Wanted func() bool          // asked before each push: false ends it; may be nil
	Idle   time.Duration        // it ends when nothing was to be done for so long; 0: never
	Quiet  time.Duration        // after a snapshot, in which others are waited for; 0: two seconds
}

// Times of following: parts and multiples of what is quiet, and what failures may take.
const (
	followQuiet = 2 * time.Second
	followLooks = 4 // times that it looks meanwhile
	followMost  = 8 // quiet times that a snapshot waits at most
	followLast  = 5 * time.Minute
	followLong  = 24 * time.Hour
)

// A follower is a process that pushes in the background.
type follower struct {
	r       *Remotes
	f       Follow
	session *Session
	said    Following

	stamp   string
	first   time.Time // the oldest change that was not pushed; zero: there is none
	last    time.Time // the newest change
	active  time.Time // when something was done or seen last
	failing time.Time // since when
	wait    time.Duration
}

// Follow pushes what is there, and what is recorded from now on, until it is told to end, the remote or the store is
// gone, or nothing was to be done for long. It tries again what may pass, as where there is no network; other errors
// end it. One process does so for a store: [ErrFollowed] for another.
func (r *Remotes) Follow(ctx context.Context, f Follow) error {
	lock, err := durable.TryLock(r.at(followLock), durable.Exclusive) // beside the list that has the remote
	if errors.Is(err, durable.ErrLocked) {
		return ErrFollowed
	}
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if f.Quiet == 0 {
		f.Quiet = followQuiet
	}
	w := &follower{r: r, f: f, said: Following{Remote: f.Remote.Name, PID: os.Getpid()}, active: time.Now(), stamp: r.Stamp(), first: time.Now(), last: time.Now(), wait: 2 * f.Quiet}
	if old, _, err := r.Following(); err == nil && old != nil && old.Remote == f.Remote.Name {
		w.said.Done = old.Done
	}
	if err := w.say(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { w.watch(ctx, stop) })
	defer watching.Wait()
	defer stop()
	defer w.leave()
	return w.loop(ctx)
}

// watch ends a follower that is not wanted any more, also in the middle of a push.
func (w *follower) watch(ctx context.Context, stop func()) {
	tick := time.NewTicker(w.f.Quiet / followLooks)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_, err := os.Lstat(w.r.at(followFile))
		m, bad := w.r.Find(w.f.Remote.Name)
		if err != nil || bad != nil || m.URL != w.f.Remote.URL || w.r.Stamp() == "" {
			stop()
			return
		}
	}
}

// say writes down what is done, for status. Whoever ends the process removes it, until that has ended.
func (w *follower) say() error {
	text, err := json.Marshal(w.said)
	if err != nil {
		return err
	}
	return durable.WriteFile(w.r.at(followFile), append(text, '\n'), 0o600)
}

func (w *follower) loop(ctx context.Context) error {
	tick := time.NewTicker(w.f.Quiet / followLooks)
	defer tick.Stop()
	for {
		now := time.Now()
		if s := w.r.Stamp(); s != w.stamp {
			w.stamp, w.last, w.active = s, now, now
			if w.first.IsZero() {
				w.first = now
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case w.first.IsZero() && w.f.Idle > 0 && now.Sub(w.active) > w.f.Idle, !w.failing.IsZero() && now.Sub(w.failing) > followLong:
			return nil
		case w.first.IsZero(), now.Before(w.said.Next), now.Sub(w.last) < w.f.Quiet && now.Sub(w.first) < followMost*w.f.Quiet:
		case w.f.Wanted != nil && !w.f.Wanted():
			return nil
		default:
			if err := w.push(ctx); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// leave closes what a push has opened; the next one opens it anew.
func (w *follower) leave() {
	if w.session != nil {
		_ = w.session.Close() // what was read is of no use any more
		w.session = nil
	}
}

// push pushes once. An error is one that no waiting ends.
func (w *follower) push(ctx context.Context) (err error) {
	first := w.first
	w.first = time.Time{}
	if w.session == nil {
		w.session, err = w.f.Open(ctx)
	}
	var out *Pushed
	if err == nil {
		out, err = w.r.Push(ctx, w.session)
	}
	if ctx.Err() != nil {
		return nil
	}
	if w.f.Told != nil {
		w.f.Told(out, err)
	}
	w.active = time.Now()
	if err == nil {
		w.failing, w.wait = time.Time{}, 2*w.f.Quiet
		if out.Snapshots == 0 && w.said.Error == "" && !w.said.Done.IsZero() {
			return nil // nothing to tell
		}
		w.said.Done, w.said.Error, w.said.Failed, w.said.Next = w.active, "", time.Time{}, time.Time{}
		return w.say()
	}
	w.leave()
	w.first = first
	if w.failing.IsZero() {
		w.failing = w.active
	}
	w.said.Error, w.said.Failed, w.said.Next = err.Error(), w.active, time.Time{}
	if !depot.Passes(err) && !errors.Is(err, restic.ErrLocked) {
		return errors.Join(err, w.say())
	}
	w.said.Next = w.active.Add(w.wait/2 + rand.N(w.wait/2))
	w.wait = min(2*w.wait, followLast)
	return w.say()
}
