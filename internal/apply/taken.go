package apply

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// errUnread says why something stays that could not be compared with what is recorded.
var errUnread = errors.New("it cannot be read, to make sure that it is what was recorded")

// unrecorded says why what was taken away from the path, and lies under the spare name,
// must not go; nil if it may. It is read: its bytes must be those that the plan expects.
// Stat data are not enough to throw bytes away. They do not tell what a program has
// written through mapped memory, and a scan goes by them.
func (p *place) unrecorded(s *Step, was, now dirfd.Stat) error {
	if was.Mode.Type() == tree.Dir {
		if moved(was, now) {
			return nil // it goes only if it is empty
		}
		return changed(now)
	}
	yes, err := p.holds(p.temp(spare), now, s.Have)
	switch {
	case ofDevice(err): // a bad block of this file is no failure of the whole
		return fmt.Errorf("%w: %v", errUnread, err)
	case err != nil:
		return fmt.Errorf("%w: %w", errUnread, err)
	case !yes && moved(was, now):
		return fmt.Errorf("%w: its times did not tell", ErrChanged)
	case !yes:
		return changed(now)
	}
	return nil
}

// checkTaken looks at what the exchange took away. If it is what was expected
// it goes; otherwise somebody was faster, and it is put back.
func (p *place) checkTaken(s *Step, now, ours dirfd.Stat) error {
	old, ok, err := p.lstat(p.temp(spare))
	if err != nil || !ok {
		return errors.Join(err, ErrChanged)
	}
	why := p.unrecorded(s, now, old)
	if why == nil {
		err := p.discard(p.temp(spare))
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		why = holding(p.dir, p.temp(spare))
	}
	if err := p.exchange(p.temp(spare), p.name); err != nil {
		return p.stranded(errors.Join(why, err))
	}
	return errors.Join(why, p.dropSpare(why, ours))
}

// dropSpare removes our own thing from the spare name, if it is untouched.
func (p *place) dropSpare(cause error, ours dirfd.Stat) error {
	if errors.Is(cause, errStopped) {
		return nil
	}
	st, ok, err := p.lstat(p.temp(spare))
	if err != nil || !ok {
		return err
	}
	if !moved(ours, st) {
		return p.stranded(ErrChanged)
	}
	return p.discard(p.temp(spare))
}

// stranded says where bytes lie that could not go back to their path.
func (p *place) stranded(cause error) error {
	dir := tree.Parent(p.path)
	if dir != "" {
		dir += "/"
	}
	return fmt.Errorf("what was there is kept as %q: %w", dir+p.temp(spare), cause)
}

// remove frees the path of what was seen there. A file is first moved aside
// and looked at again; a directory goes only if it is empty.
func (p *place) remove(s *Step, now dirfd.Stat) error {
	if now.Mode.Type() == tree.Dir {
		err := p.act("rmdir", func() error { return p.dir.Rmdir(p.name) })
		if errors.Is(err, fs.ErrExist) {
			return keptError{holding(p.dir, p.name)}
		}
		return err
	}
	if err := p.takeAway(); err != nil {
		return err
	}
	old, ok, err := p.lstat(p.temp(spare))
	if err != nil || !ok {
		return errors.Join(err, ErrChanged)
	}
	why := p.unrecorded(s, now, old)
	if why == nil {
		if err := p.discard(p.temp(spare)); err != nil {
			return litterError{err}
		}
		return nil
	}
	if err := p.rename(p.temp(spare), p.name); err != nil {
		return p.stranded(errors.Join(why, err))
	}
	return why
}
