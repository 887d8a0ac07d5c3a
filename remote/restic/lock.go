package restic

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/seed-82afce7a/rewind/remote/depot"
)

// What restic keeps to: a lock is written anew every five minutes, and counts for nothing when it is half an hour
// old, or when its process is gone on the same machine. Who has written one looks once more after a moment, since a
// list may lag.
var (
	lockAgain = 5 * time.Minute
	lockStale = 30 * time.Minute
	lockLag   = 200 * time.Millisecond
)

type lockFile struct {
	Time      time.Time `json:"time"`
	Exclusive bool      `json:"exclusive"`
	Hostname  string    `json:"hostname"`
	Username  string    `json:"username"`
	PID       int       `json:"pid"`
	UID       uint32    `json:"uid,omitempty"`
	GID       uint32    `json:"gid,omitempty"`
}

// stale reports whether nobody holds a lock any more.
func (l *lockFile) stale(host string, now time.Time) bool {
	return now.Sub(l.Time) > lockStale || l.Hostname == host && host != "" && l.PID > 0 && !runs(l.PID)
}

// A Lock keeps others from taking away what is in a repository. It is shared: others may
// add at the same time.
type Lock struct {
	repo *Repo
	stop context.CancelCauseFunc
	ends chan struct{}

	mu   sync.Mutex
	name ID
}

// Lock takes a shared lock, and returns a context that ends when it cannot be kept. It is
// [ErrLocked] beside an exclusive lock, which names who has it.
func (r *Repo) Lock(ctx context.Context) (*Lock, context.Context, error) {
	l := &Lock{repo: r, ends: make(chan struct{})}
	var err error
	if l.name, err = r.putLock(ctx); err != nil {
		return nil, nil, err
	}
	held, stop := context.WithCancelCause(ctx)
	l.stop = stop
	select {
	case <-time.After(lockLag):
		err = r.alone(ctx, l.name)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		stop(err)
		close(l.ends)
		return nil, nil, errors.Join(err, l.Unlock())
	}
	go l.keep(held)
	return l, held, nil
}

func (r *Repo) putLock(ctx context.Context) (ID, error) {
	f := lockFile{Time: time.Now(), PID: os.Getpid()}
	f.Username, f.Hostname, f.UID, f.GID = whoami()
	return r.putJSON(ctx, "locks", f)
}

// alone looks whether somebody has an exclusive lock.
func (r *Repo) alone(ctx context.Context, own ID) error {
	list, err := r.place.List(ctx, "locks")
	if err != nil {
		return err
	}
	_, host, _, _ := whoami()
	for _, f := range list {
		if f.Name == own.String() {
			continue
		}
		var other lockFile
		err := r.getJSON(ctx, "locks", f.Name, &other)
		switch {
		case errors.Is(err, depot.ErrNotThere):
		case err != nil: // who cannot be read may be anybody
			return fmt.Errorf("%w: %w (\"restic unlock\" removes locks that nobody holds)", ErrLocked, err)
		case other.Exclusive && !other.stale(host, time.Now()):
			return fmt.Errorf("%w by process %d of %s on %s since %s: wait for its end, or if it is gone \"restic unlock\" removes its lock", ErrLocked,
				other.PID, other.Username, other.Hostname, other.Time.Local().Format(time.DateTime))
		}
	}
	return nil
}

// keep writes the lock anew until it is given back.
func (l *Lock) keep(ctx context.Context) {
	defer close(l.ends)
	written := time.Now()
	again := time.NewTicker(lockAgain)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
		name, err := l.repo.putLock(ctx)
		if err != nil {
			if time.Since(written) > lockStale-lockAgain {
				l.stop(fmt.Errorf("the lock of the repository cannot be kept: %w", err))
			}
			continue
		}
		written = time.Now()
		l.mu.Lock()
		old := l.name
		l.name = name
		l.mu.Unlock()
		_ = l.repo.place.Delete(ctx, "locks/"+old.String()) // it is stale soon
	}
}

// Unlock gives the lock back, also after the context has ended.
func (l *Lock) Unlock() error {
	l.stop(errors.New("unlocked"))
	<-l.ends
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.repo.place.Delete(ctx, "locks/"+l.name.String())
}
