package gitref

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// lockOwn makes "<path>.lock" with its content, in such a way that a process of
// ours can tell later whether one of ours left it behind: while a ref moves we
// hold a lock that ends with the process, and before the lock file appears it
// is written down how to recognise it. Whoever has the former and finds a lock
// file of the latter's description knows that its maker is dead. Before the lock file
// appears, ready is waited for.
func (s *Store) lockOwn(ctx context.Context, path, content string, ready func() error) (*lock, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.opt.Patience, ErrLocked)
	defer cancel()
	held, err := s.alone(ctx)
	if err != nil {
		return nil, err
	}
	produce := create
	if held == nil {
		err = ready()
	} else if err = s.takeOver(path + ".lock"); err == nil {
		produce = func(name string) (*os.File, error) { return s.appear(name, content, ready) }
	} else {
		err = errors.Join(err, held.Unlock())
	}
	if err != nil {
		return nil, err
	}
	l, err := s.lockBy(ctx, path, produce)
	if err != nil {
		if held != nil {
			err = errors.Join(err, held.Unlock())
		}
		return nil, err
	}
	if l.held = held; held == nil {
		if _, err := l.f.WriteString(content); err != nil {
			l.release()
			return nil, err
		}
	}
	return l, nil
}

// alone waits until no other process of ours moves a ref. It returns nil where
// that cannot be told.
func (s *Store) alone(ctx context.Context) (*durable.Held, error) {
	if s.opt.Own == "" {
		return nil, nil
	}
	held, err := durable.Lock(ctx, s.opt.Own+".lock", durable.Exclusive)
	switch {
	case err == nil:
		if err := s.ownFiles(); err != nil {
			return nil, errors.Join(err, held.Unlock())
		}
		return held, nil
	case errors.Is(err, durable.ErrForeign):
		return nil, err
	case ctx.Err() == nil:
		return nil, nil
	case context.Cause(ctx) == ErrLocked:
		return nil, fmt.Errorf("%w: a rewind process still holds %s after %v", ErrLocked, s.opt.Own+".lock", s.opt.Patience)
	}
	return nil, fmt.Errorf("wait for %s: %w: %w", s.opt.Own+".lock", ErrLocked, context.Cause(ctx))
}

// ownFiles checks that nothing but ours has the names under which we write.
func (s *Store) ownFiles() error {
	for _, suffix := range []string{".held", ".new", ".stale"} {
		if st, err := os.Lstat(s.opt.Own + suffix); err == nil && st.IsDir() {
			continue // nothing is written there, nor anywhere else
		}
		if _, err := durable.Look(s.opt.Own + suffix); errors.Is(err, durable.ErrForeign) {
			return err
		}
	}
	return nil
}

// appear makes a lock file that has its content, and is written down, from the
// moment on at which it is there. That is when ready returns.
func (s *Store) appear(name, content string, ready func() error) (*os.File, error) {
	if _, err := os.Lstat(name); err == nil {
		return nil, fs.ErrExist
	}
	made := s.opt.Own + ".new"
	_ = os.Remove(made) // of one that was killed
	f, err := s.written(made, name, content)
	waited := ready()
	if err == nil {
		ours := is(made, f)
		if waited == nil && ours && durable.MoveNew(made, name) == nil {
			return f, nil
		}
		if ours {
			_ = os.Remove(made)
		}
		_ = f.Close()
	}
	if waited != nil {
		return nil, waited
	}
	if _, exists := os.Lstat(name); exists == nil {
		return nil, fs.ErrExist
	}
	// On a file system without links the lock is there a moment before it is written down.
	return s.written(name, name, content)
}

// is reports whether a file has this name. Between machines that share a directory our
// lock may hold on one of them alone, and while we waited another process may have
// made its own file of this name.
func is(name string, f *os.File) bool {
	there, err := os.Lstat(name)
	mine, mineErr := f.Stat()
	return err == nil && mineErr == nil && os.SameFile(there, mine)
}

// written makes a file with a content, and writes down that it is the lock file
// of that name. If that cannot be written the lock is like anybody's.
func (s *Store) written(path, name, content string) (f *os.File, err error) {
	if f, err = create(path); err != nil {
		return nil, err
	}
	_, err = f.WriteString(content)
	if err == nil {
		// Before it has a name. A sync later would make that of the lock durable,
		// and a loss of power before the ref is replaced would leave it behind.
		err = f.Sync()
	}
	var st fs.FileInfo
	if err == nil {
		st, err = f.Stat()
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(path)
		return nil, err
	}
	s.writeDown(s.describe(name, st, content))
	return f, nil
}

// writeDown replaces the description, up to a NUL. The file is not made anew or
// shorter: a file system may take that for a reason to go to the disk.
func (s *Store) writeDown(description string) {
	f, err := durable.OpenFile(s.opt.Own+".held", os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(description + "\x00")
	_ = f.Close()
}

// heldBytesMax bounds what is read of a description.
const heldBytesMax = 64 << 10

// describe is how a lock file is recognised: by its name in the repository, its
// time and its content. The content is the id of an object that its maker has
// just made. The machine counts because another one may not see our locks; that
// it was started anew since means that the maker is dead.
func (s *Store) describe(name string, st fs.FileInfo, content string) string {
	inside := strings.TrimPrefix(name, s.commonDir) // elsewhere the repository may be mounted at another path
	return fmt.Sprintf("%s\n%d\n%s\n%s", machine(), st.ModTime().UnixNano(), inside, content)
}

// machineBytesMax is more than an id of the machine has.
const machineBytesMax = 4 << 10

// machine names the machine, where the system tells: by the id that it got when
// it was installed, or else since it was started.
func machine() string {
	for _, file := range []string{"/etc/machine-id", "/proc/sys/kernel/random/boot_id"} {
		if id, err := regular.Read(file, machineBytesMax); err == nil && len(strings.TrimSpace(string(id))) >= 32 {
			return strings.TrimSpace(string(id))
		}
	}
	name, _ := os.Hostname()
	return name
}

// takeOver removes a lock file that a process of ours left behind when it was
// killed. Any other is left alone, also one that appears while we look.
func (s *Store) takeOver(name string) error {
	if _, err := os.Lstat(name); err != nil {
		return nil // as usual
	}
	held, err := durable.ReadFile(s.opt.Own+".held", heldBytesMax)
	known, _, ended := strings.Cut(string(held), "\x00")
	if err != nil || !ended || !s.described(name, name, known) {
		return nil // then there is nothing that is certainly ours
	}
	return s.moveAside(name, known)
}

// moveAside takes a lock file away if it is the described one, and looks again
// when nobody else can touch it.
func (s *Store) moveAside(name, known string) error {
	aside := s.opt.Own + ".stale"
	if err := rename(name, aside); err != nil {
		return nil
	}
	if !s.described(aside, name, known) {
		// Somebody removed ours and made another one in between.
		if err := durable.MoveNew(aside, name); err != nil {
			return fmt.Errorf("%w: %s was moved to %s by mistake: %w", ErrLocked, name, aside, err)
		}
		return nil
	}
	return os.Remove(aside)
}

// described reports whether the file at path is the lock file of a description.
func (s *Store) described(path, name, known string) bool {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() > 1<<10 {
		return false
	}
	content, err := regular.Read(path, 1<<10)
	return err == nil && len(content) > 0 && s.describe(name, st, string(content)) == known
}
