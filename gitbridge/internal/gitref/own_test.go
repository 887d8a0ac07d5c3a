package gitref

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A corpse is a repository in which a process of ours was killed while it held
// the lock of the ref.
type corpse struct {
	*repo
	lock string
	opt  Options
}

func newCorpse(t *testing.T) *corpse {
	c := &corpse{repo: newRepo(t, oid.SHA1, 2)}
	c.opt = Options{Own: filepath.Join(c.Dir, "own"), Patience: 50 * time.Millisecond}
	c.lock = filepath.Join(c.gitDir(), filepath.FromSlash(ours)+".lock")
	if err := c.store(&c.opt).CompareAndSwap(context.Background(), Update{Name: ours, New: c.ids[0]}); err != nil {
		t.Fatal(err)
	}
	c.die(c.hold())
	return c
}

// hold takes the lock of the ref.
func (c *corpse) hold() *lock {
	c.T.Helper()
	s := c.store(&c.opt)
	l, err := s.lockOwn(context.Background(), s.path(ours), c.ids[1].String()+"\n", func() error { return nil })
	if err != nil {
		c.T.Fatal(err)
	}
	return l
}

// die does what the end of a process does.
func (c *corpse) die(l *lock) {
	c.T.Helper()
	if err := errors.Join(l.f.Close(), l.held.Unlock()); err != nil {
		c.T.Fatal(err)
	}
	if _, err := os.Lstat(c.lock); err != nil {
		c.T.Fatal(err)
	}
}

func (c *corpse) swap() error {
	return c.store(&c.opt).CompareAndSwap(context.Background(), Update{Name: ours, Old: c.ids[0], New: c.ids[1]})
}

func TestALockThatAKilledProcessLeftIsTakenOver(t *testing.T) {
	c := newCorpse(t)
	if err := c.swap(); err != nil {
		t.Fatal(err)
	}
	if got := c.Git("rev-parse", ours); got != c.ids[1].String() {
		t.Errorf("git reads %s", got)
	}
	left, err := filepath.Glob(filepath.Join(c.Dir, "own*"))
	if err != nil || strings.Join(left, " ") != c.opt.Own+".held "+c.opt.Own+".lock" {
		t.Errorf("beside the two files that stay: %v, %v", left, err)
	}
	if _, err := os.Lstat(c.lock); err == nil {
		t.Error("the lock is still there")
	}
}

func TestARefMovesWhereNothingCanBeWrittenDown(t *testing.T) {
	c := newCorpse(t)
	for _, name := range []string{".new", ".held"} { // no file can have these names now
		if err := errors.Join(os.RemoveAll(c.opt.Own+name), os.MkdirAll(c.opt.Own+name+"/x", 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(c.lock); err != nil {
		t.Fatal(err)
	}
	if err := c.swap(); err != nil {
		t.Fatal(err)
	}
}

func TestALockIsTakenOverAlsoWhereItsMakerWasKilledInTheMiddleOfMakingIt(t *testing.T) {
	c := newCorpse(t)
	if err := os.Link(c.lock, c.opt.Own+".new"); err != nil {
		t.Fatal(err)
	}
	if err := c.swap(); err != nil {
		t.Fatal(err)
	}
}

// Each of these is a lock that may be somebody else's, or whose maker may live.
func TestALockThatIsNotCertainlyADeadProcessesIsLeftAlone(t *testing.T) {
	content := func(c *corpse) []byte {
		data, _ := os.ReadFile(c.lock)
		return data
	}
	for what, change := range map[string]func(c *corpse) error{
		"of git": func(c *corpse) error {
			return errors.Join(os.Remove(c.lock), os.WriteFile(c.lock, nil, 0o644))
		},
		"of the same value": func(c *corpse) error {
			data := content(c)
			return errors.Join(os.Remove(c.lock), os.WriteFile(c.lock, data, 0o644))
		},
		"of the same time": func(c *corpse) error {
			st, err := os.Stat(c.lock)
			if err != nil {
				return err
			}
			return errors.Join(os.WriteFile(c.lock, []byte(c.ids[0].String()+"\n"), 0o644), os.Chtimes(c.lock, st.ModTime(), st.ModTime()))
		},
		"of another machine": func(c *corpse) error {
			held, err := os.ReadFile(c.opt.Own + ".held")
			return errors.Join(err, os.WriteFile(c.opt.Own+".held", append([]byte("x"), held...), 0o644))
		},
		"that nobody wrote down": func(c *corpse) error { return os.Remove(c.opt.Own + ".held") },
		"of a living process": func(c *corpse) error {
			if err := os.Remove(c.lock); err != nil {
				return err
			}
			c.T.Cleanup(c.hold().release)
			return nil
		},
		"that cannot be checked, as there is no directory for our own": func(c *corpse) error {
			c.opt.Own = filepath.Join(c.Dir, "none", "own")
			return nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			c := newCorpse(t)
			if err := change(c); err != nil {
				t.Fatal(err)
			}
			before := content(c)
			if err := c.swap(); !errors.Is(err, ErrLocked) {
				t.Errorf("%v, want ErrLocked", err)
			}
			if _, err := os.Lstat(c.lock); err != nil || string(content(c)) != string(before) {
				t.Errorf("the lock is now %q (%v), was %q", content(c), err, before)
			}
			if got := c.Git("rev-parse", ours); got != c.ids[0].String() {
				t.Errorf("the ref has moved to %s", got)
			}
		})
	}
}

func TestALockThatChangesWhileItIsTakenOverIsPutBack(t *testing.T) {
	c := newCorpse(t)
	s := c.store(&c.opt)
	held, err := os.ReadFile(c.opt.Own + ".held")
	if err != nil {
		t.Fatal(err)
	}
	known, _, _ := strings.Cut(string(held), "\x00")
	if !s.described(c.lock, c.lock, known) {
		t.Fatal("the lock is not recognised")
	}
	if err := os.WriteFile(c.lock, []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.moveAside(c.lock, known); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(c.lock); err != nil || string(data) != "theirs" {
		t.Errorf("the lock is now %q, %v", data, err)
	}
}

func TestTheLockAppearsWhenTheRefMayMove(t *testing.T) {
	r := newRepo(t, oid.SHA1, 2)
	own := filepath.Join(r.Dir, "own")
	path := filepath.Join(r.gitDir(), filepath.FromSlash(ours))
	refused := errors.New("it is not recorded")
	for _, opt := range []Options{{Own: own}, {}} {
		_ = os.Remove(path)
		called := 0
		u := Update{Name: ours, New: r.ids[0], Ready: func(context.Context) error {
			called++
			for _, name := range []string{path, path + ".lock"} {
				if _, err := os.Lstat(name); err == nil {
					t.Errorf("%s is there before the ref may move", name)
				}
			}
			made, err := os.ReadFile(own + ".new")
			if opt.Own != "" && string(made) != r.ids[0].String()+"\n" {
				t.Errorf("the new value is not made yet: %q, %v", made, err)
			}
			if called == 1 {
				return refused
			}
			return nil
		}}
		s := r.store(&opt)
		if err := s.CompareAndSwap(t.Context(), u); !errors.Is(err, refused) {
			t.Errorf("a ref that may not move: %v", err)
		}
		left, _ := filepath.Glob(path + "*")
		if _, err := os.Lstat(own + ".new"); err == nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
		if err := s.CompareAndSwap(t.Context(), u); err != nil || called < 2 {
			t.Errorf("%v after %d calls", err, called)
		}
		if got := r.Git("rev-parse", ours); got != r.ids[0].String() {
			t.Errorf("git reads %s", got)
		}
	}
}
