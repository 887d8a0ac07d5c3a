package restic

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/seed-82afce7a/rewind/internal/alive"
	"github.com/seed-82afce7a/rewind/remote/depot"
)

// What restic keeps to: a lock is written anew every five minutes. Who has written one looks once more after a moment,
// since a list may lag. One that is half an hour old is for "restic unlock" to remove, and for nobody to pass over: its
// owner may be asleep, and go on. The owner looks whether it is still there before it goes on.
var (
	lockAgain = 5 * time.Minute
	lockStale = 30 * time.Minute
	lockGone  = 10 * time.Minute // after which one of a process of this machine that is gone counts for nothing
	lockLag   = 200 * time.Millisecond
	lockPoll  = time.Second
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

// left reports whether nobody has a lock any more: its process was on this machine, and is gone. Machines, such as
// containers, may share a name; so one that may have been written anew a while ago is not left.
func (l *lockFile) left(host string, now time.Time) bool {
	return l.gone(host) && now.Sub(l.Time).Abs() > lockGone // of the future: the clock was set back
}

func (l *lockFile) gone(host string) bool {
	return l.Hostname == host && host != "" && l.PID > 0 && !alive.Process(l.PID)
}

// A Lock keeps others from taking away what is in a repository, or with an exclusive one from adding to it.
type Lock struct {
	repo      *Repo
	exclusive bool
	stop      context.CancelCauseFunc
	ends      chan struct{}

	mu      sync.Mutex
	name    ID
	written time.Time // by the clock on the wall
}

// Lock takes a shared lock, and returns a context that ends when it cannot be kept. It is
// [ErrLocked] beside an exclusive lock, which names who has it.
func (r *Repo) Lock(ctx context.Context) (*Lock, context.Context, error) { return r.lock(ctx, false) }

// LockAlone takes an exclusive lock. It is [ErrLocked] beside any other.
func (r *Repo) LockAlone(ctx context.Context) (*Lock, context.Context, error) {
	return r.lock(ctx, true)
}

func (r *Repo) lock(ctx context.Context, exclusive bool) (*Lock, context.Context, error) {
	l := &Lock{repo: r, exclusive: exclusive, ends: make(chan struct{})}
	if exclusive { // else many who wait would keep one another from it
		if err := l.alone(ctx); err != nil {
			return nil, nil, err
		}
	}
	var err error
	l.written = time.Now().Round(0)
	if l.name, err = l.put(ctx); err != nil {
		return nil, nil, err
	}
	held, stop := context.WithCancelCause(ctx)
	l.stop = stop
	select {
	case <-time.After(lockLag):
		err = l.alone(ctx)
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

func (l *Lock) put(ctx context.Context) (ID, error) {
	f := lockFile{Time: time.Now(), Exclusive: l.exclusive, PID: os.Getpid()}
	f.Username, f.Hostname, f.UID, f.GID = whoami()
	return l.repo.putJSON(ctx, "locks", f)
}

// alone looks whether somebody has a lock that does not go with this one.
func (l *Lock) alone(ctx context.Context) error {
	_, host, _, _ := whoami()
	return l.repo.eachLock(ctx, l.name, func(id ID, other *lockFile, err error) error {
		switch {
		case err != nil: // who cannot be read may be anybody
			return fmt.Errorf("%w: %v (\"rewind remote unlock\" removes locks that nobody holds)", ErrLocked, err)
		case !other.Exclusive && !l.exclusive:
			return nil
		case other.left(host, time.Now()):
			return l.repo.place.Delete(ctx, "locks/"+id.String())
		}
		how := ""
		if other.Exclusive {
			how = " for itself alone"
		}
		return fmt.Errorf("%w%s by process %d of %s on %s since %s: wait for its end, or if it is gone \"rewind remote unlock\" removes its lock", ErrLocked, how,
			other.PID, other.Username, other.Hostname, other.Time.Local().Format(time.DateTime))
	})
}

// eachLock calls f with each lock that is there but one's own, until it returns an error.
func (r *Repo) eachLock(ctx context.Context, own ID, f func(id ID, l *lockFile, err error) error) error {
	names, err := r.names(ctx, "locks")
	for _, id := range names {
		if id == own {
			continue
		}
		var l lockFile
		bad := r.getJSON(ctx, "locks", id.String(), &l)
		if errors.Is(bad, depot.ErrNotThere) {
			continue
		}
		if err = f(id, &l, bad); err != nil {
			return err
		}
	}
	return err
}

// Unlock removes the locks that nobody holds, as far as anybody can tell: they are half an hour old, or their process
// was on this machine and is gone, or they cannot be read.
func (r *Repo) Unlock(ctx context.Context) (removed, left int, err error) {
	_, host, _, _ := whoami()
	err = r.eachLock(ctx, ID{}, func(id ID, l *lockFile, err error) error {
		if err != nil && !errors.Is(err, ErrTampered) {
			return err
		}
		if err == nil && !l.gone(host) && time.Since(l.Time) < lockStale {
			left++
			return nil
		}
		removed++
		return r.place.Delete(ctx, "locks/"+id.String())
	})
	return removed, left, err
}

// keep writes the lock anew until it is given back. Time is that of the clock on the wall: the other one stands still
// while a machine sleeps.
func (l *Lock) keep(ctx context.Context) {
	defer close(l.ends)
	next := l.since().Add(lockAgain)
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
		now := time.Now().Round(0)
		if now.Before(next) && now.After(l.since().Add(-lockAgain)) {
			continue
		}
		err := l.renew(ctx)
		if errors.Is(err, ErrLocked) || err != nil && now.Sub(l.since()) > lockStale-lockAgain {
			l.stop(notKept(err))
			return
		}
		next = now.Add(lockAgain / 10)
		if err == nil {
			next = now.Add(lockAgain)
		}
	}
}

func notKept(err error) error {
	return fmt.Errorf("the lock of the repository cannot be kept: %w", err)
}

func (l *Lock) since() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written
}

// Held is an error if the lock may have been taken for one that nobody holds, and is gone: whoever was stopped, or
// slept, asks before he relies on what it kept, for he may be quicker than who writes it anew.
func (l *Lock) Held(ctx context.Context) error {
	if age := time.Now().Round(0).Sub(l.since()); age >= 0 && age < 2*lockAgain {
		return nil
	}
	if err := l.renew(ctx); err != nil {
		return notKept(err)
	}
	return nil
}

// renew writes the lock anew. If it was removed meanwhile, others may have relied on that. It ends what it has begun
// also where the lock is given back meanwhile: half of it would leave a lock that nobody holds.
func (l *Lock) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	now := time.Now().Round(0)
	name, err := l.put(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.name
	there, err := l.repo.names(ctx, "locks")
	for _, id := range there {
		if id == old {
			l.name, l.written = name, now
			_ = l.repo.place.Delete(ctx, "locks/"+old.String()) // it is stale soon
			return nil
		}
	}
	_ = l.repo.place.Delete(ctx, "locks/"+name.String())
	if err == nil {
		err = fmt.Errorf("%w: somebody has removed this lock, as of one that sleeps", ErrLocked)
	}
	return err
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
