package restic

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// beside writes a lock of somebody, takes one, and returns what happened and how many files are left.
func beside(t *testing.T, r *Repo, dir string, other lockFile, take func(context.Context) (*Lock, context.Context, error)) (left int, err error) {
	t.Helper()
	id, err := r.putJSON(t.Context(), "locks", other)
	if err != nil {
		t.Fatal(err)
	}
	l, _, err := take(t.Context())
	if err == nil {
		if bad := l.Unlock(); bad != nil {
			t.Fatal(bad)
		}
	}
	list, bad := os.ReadDir(filepath.Join(dir, "locks"))
	if bad = errors.Join(bad, r.place.Delete(t.Context(), "locks/"+id.String())); bad != nil {
		t.Fatal(bad)
	}
	return len(list), err
}

func TestLocksGoTogetherAsThoseOfResticDo(t *testing.T) {
	r, dir := made(t)
	_, host, _, _ := whoami()
	const gone = 1 << 30
	now := time.Now()
	for _, c := range []struct {
		lock                  lockFile
		shared, alone, passed bool // passed: it is removed, as nobody has it
	}{
		{lockFile{Time: now, Exclusive: true, Hostname: host, PID: os.Getpid()}, false, false, false},
		{lockFile{Time: now, Exclusive: true, Hostname: "elsewhere", PID: 1}, false, false, false},
		{lockFile{Time: now.Add(-31 * time.Minute), Exclusive: true, Hostname: "elsewhere", PID: 1}, false, false, false},
		{lockFile{Time: now.Add(time.Hour), Exclusive: true, Hostname: "elsewhere", PID: 1}, false, false, false},
		{lockFile{Time: now, Exclusive: true, Hostname: host, PID: gone}, false, false, false},
		{lockFile{Time: now.Add(-11 * time.Minute), Exclusive: true, Hostname: host, PID: gone}, true, true, true},
		{lockFile{Time: now.Add(time.Hour), Exclusive: true, Hostname: host, PID: gone}, true, true, true}, // the clock was set back
		{lockFile{Time: now, Hostname: "elsewhere", PID: 1}, true, false, false},
		{lockFile{Time: now.Add(-31 * time.Minute), Hostname: "elsewhere", PID: 1}, true, false, false},
		{lockFile{Time: now, Hostname: host, PID: os.Getpid()}, true, false, false},
		{lockFile{Time: now.Add(-11 * time.Minute), Hostname: host, PID: gone}, true, true, true},
	} {
		for _, alone := range []bool{false, true} {
			take, free := r.Lock, c.shared
			if alone {
				take, free = r.LockAlone, c.alone
			}
			want := 1
			if c.passed && (alone || c.lock.Exclusive) {
				want = 0
			}
			left, err := beside(t, r, dir, c.lock, take)
			if free != (err == nil) || !free && !errors.Is(err, ErrLocked) || left != want {
				t.Errorf("beside %+v, alone %v: %v, %d left", c.lock, alone, err, left)
			}
		}
	}
}

func TestUnlockRemovesLocksThatNobodyHolds(t *testing.T) {
	r, dir := made(t)
	_, host, _, _ := whoami()
	for _, l := range []lockFile{
		{Time: time.Now(), Hostname: host, PID: os.Getpid()},
		{Time: time.Now().Add(-29 * time.Minute), Hostname: "elsewhere", PID: 1},
		{Time: time.Now(), Exclusive: true, Hostname: host, PID: 1 << 30},
		{Time: time.Now().Add(-31 * time.Minute), Exclusive: true, Hostname: "elsewhere", PID: 1},
	} {
		if _, err := r.putJSON(t.Context(), "locks", l); err != nil {
			t.Fatal(err)
		}
	}
	removed, left, err := r.Unlock(t.Context())
	list, bad := os.ReadDir(filepath.Join(dir, "locks"))
	if err != nil || bad != nil || removed != 2 || left != 2 || len(list) != 2 {
		t.Errorf("removed %d, left %d, there are %d: %v %v", removed, left, len(list), err, bad)
	}
}

// quickly has locks written anew at once.
func quickly(t *testing.T) {
	again, poll := lockAgain, lockPoll
	lockAgain, lockPoll = 5*time.Millisecond, time.Millisecond
	t.Cleanup(func() { lockAgain, lockPoll = again, poll })
}

func TestALockIsWrittenAnewAndGivenBack(t *testing.T) {
	r, dir := made(t)
	quickly(t)
	l, ctx, err := r.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first, now := ID{}, ID{}
	for range 1000 {
		l.mu.Lock()
		now = l.name
		l.mu.Unlock()
		if first.IsZero() {
			first = now
		}
		if now != first {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if now == first || ctx.Err() != nil {
		t.Errorf("it is not written anew: %v", ctx.Err())
	}
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "locks")); err != nil || len(left) != 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}

// TestALockThatWasRemovedIsNotKept has what a machine finds that slept while somebody took its lock for stale.
func TestALockThatWasRemovedIsNotKept(t *testing.T) {
	r, dir := made(t)
	l, ctx, err := r.LockAlone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.place.Delete(t.Context(), "locks/"+l.name.String()); err != nil {
		t.Fatal(err)
	}
	if err := l.renew(t.Context()); !errors.Is(err, ErrLocked) {
		t.Errorf("it is written anew: %v", err)
	}
	if ctx.Err() != nil {
		t.Error(ctx.Err())
	}
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
	quickly(t)
	if l, ctx, err = r.LockAlone(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = os.RemoveAll(filepath.Join(dir, "locks"))
	for tries := 0; err != nil && tries < 100; tries++ { // on Windows while the lock is renewed
		time.Sleep(10 * time.Millisecond)
		err = os.RemoveAll(filepath.Join(dir, "locks"))
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
	}
	if !errors.Is(context.Cause(ctx), ErrLocked) {
		t.Errorf("its work goes on: %v", context.Cause(ctx))
	}
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "locks")); err != nil && !errors.Is(err, os.ErrNotExist) || len(left) != 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}

func TestWhoWasStoppedLooksForTheLockBeforeGoingOn(t *testing.T) {
	r, _ := made(t)
	for _, gone := range []bool{false, true} {
		l, ctx, err := r.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if gone {
			if err := r.place.Delete(ctx, "locks/"+l.name.String()); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Held(ctx); err != nil {
			t.Errorf("a young lock is asked for: %v", err)
		}
		l.mu.Lock()
		l.written = l.written.Add(-lockStale)
		l.mu.Unlock()
		if err := l.Held(ctx); errors.Is(err, ErrLocked) != gone || !gone && err != nil {
			t.Errorf("of an old one that is gone (%v) it says %v", gone, err)
		}
		if young := time.Since(l.since()) < lockAgain; young == gone {
			t.Errorf("it was written anew: %v", young)
		}
		if err := l.Unlock(); err != nil {
			t.Error(err)
		}
	}
}
