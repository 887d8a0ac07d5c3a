package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A job is a step that is ready for its last act: the new thing lies whole
// under the fresh name and only has to take the path's place.
type job struct {
	step *Step
	now  dirfd.Stat // what lies at the path; zero Mode: nothing
	ours dirfd.Stat // what lies under the fresh name; zero Mode: nothing to do
	tmp  string     // as in its place

	lacks error // ErrPrivilege, if ours does not have all that is wanted
}

// dir is the directory of a job that was begun.
func (j job) dir() string {
	if j.step == nil {
		return ""
	}
	return tree.Parent(j.step.Path)
}

// step carries out one step. A nil error means that the path now is as wanted.
func (a *applier) step(ctx context.Context, s *Step) error {
	if s.Have.Mode.IsDir() && s.Want.Mode.IsDir() {
		return a.setMode(s)
	}
	j, err := a.prepare(ctx, s)
	if err != nil {
		return err
	}
	return a.finish(j)
}

// prepare does everything of a step that does not need the bytes to be
// durable first: for a file that is written, all but the last act.
func (a *applier) prepare(ctx context.Context, s *Step) (job, error) {
	p, err := a.open(s.Path)
	if s.Want.absent() && dirfd.Gone(err) {
		return job{step: s}, nil // the whole directory is gone
	}
	if err != nil {
		return job{step: s}, err
	}
	defer p.close()
	return p.prepare(ctx, s)
}

// prepare is [applier.prepare] where the step's directory is open.
func (p *place) prepare(ctx context.Context, s *Step) (ready job, err error) {
	a, done := p.a, job{step: s}
	defer func() { err = p.local(err) }()
	if a.Replay {
		if err := p.recover(s); err != nil {
			return done, err
		}
	}
	now, found, err := p.lookBefore(s)
	switch {
	case err == nil && found == asWanted && !a.Replay && !s.Want.absent(): // of a replay nobody knows who it was
		return done, errThere
	case err != nil || found == asWanted:
		return done, err
	case found == unexpected:
		return done, s.unlike(now)
	case now.Mode != 0 && a.Refuse[s.Path] != nil:
		return done, a.Refuse[s.Path]
	case s.Want.absent():
		return done, p.remove(s, now)
	case s.Want.Mode.IsDir() && now.Mode == 0:
		return done, p.mkdir(p.name, s)
	case onlyMode(s, now):
		want, err := grant(s.Want.Mode, now, now)
		if want == now.Mode.Perm() {
			return done, err
		}
		return done, errors.Join(p.act("chmod", func() error { return p.dir.Chmod(p.name, now, want) }), err)
	}
	ours, lacks := p.makeFresh(ctx, s, now)
	if err := lacks; err != nil && !errors.Is(err, ErrPrivilege) {
		swept := p.sweep(err)
		if now.Mode == 0 && !errors.Is(err, errStopped) { // nobody has looked yet
			err = cmp.Or(p.taken(s), err)
		}
		return done, errors.Join(err, swept)
	}
	if ours.Mode == 0 || !a.local || ours.Dev != a.device { // elsewhere a file may get its times when it is closed
		var ok bool
		if ours, ok, err = p.lstat(p.temp(fresh)); err == nil && !ok {
			err = fmt.Errorf("%w: the directory was moved away", ErrChanged)
		}
	}
	return job{step: s, now: now, ours: ours, tmp: p.tmp, lacks: lacks}, err
}

// onlyMode reports whether a change of permissions is enough. Permissions
// belong to all names of a file: one with several, of which some may lie
// outside the root, is written anew.
func onlyMode(s *Step, now dirfd.Stat) bool {
	return s.Want.ID == s.Have.ID && s.Want.Mode.Type() == tree.File && now.Mode.Type() == tree.File && now.Nlink == 1
}

// finish does the last act of a step.
func (a *applier) finish(j job) error {
	if j.ours.Mode == 0 {
		return nil
	}
	p, err := a.open(j.step.Path)
	if err != nil {
		a.putOff(j)
		return err
	}
	defer p.close()
	return p.finish(j)
}

// putOff takes note of a job whose directory could not be reached for its last act.
func (a *applier) putOff(j job) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = append(a.left, j)
}

// finish is [applier.finish] where the step's directory is open.
func (p *place) finish(j job) (err error) {
	defer func() { err = p.local(err) }()
	p.tmp = j.tmp
	if err := p.install(j); err != nil {
		return errors.Join(err, p.sweep(err))
	}
	return j.lacks
}

// abandon removes the fresh thing of a job that will not be finished, if its
// directory can be reached.
func (a *applier) abandon(j job) {
	if j.ours.Mode == 0 {
		return
	}
	if p, err := a.open(j.step.Path); err == nil {
		_ = p.discard(p.temp(fresh))
		p.close()
	}
}

// errThere is no failure: somebody else has put at the path what the step was to put there.
var errThere = errors.New("what is wanted is there already")

// errSpecial: no plan expects a pipe, socket or device. Whether it was there all
// the time nobody knows.
var errSpecial = errors.New("a pipe, socket or device stands here")

// notRecorded is the [ErrChanged] of something that lies where the plan expects
// nothing. It does not say that somebody changed it: a file that may not be read
// looks the same, and may have been there all the time.
type notRecorded struct{}

func (notRecorded) Error() string {
	return "what is there was not recorded: it was left out, as a file that may not be read, or came since"
}

func (notRecorded) Is(target error) bool { return target == ErrChanged }

// unlike says why what lies at the path stays. Where the plan expects nothing
// it may have been there all the time: unreadable, or of a kind that nobody
// records.
func (s *Step) unlike(now dirfd.Stat) error {
	switch t := now.Mode.Type(); {
	case t != tree.Absent && t != tree.Dir && t != tree.File && t != tree.Symlink:
		return errSpecial
	case s.Have.absent() && t != tree.Dir:
		return notRecorded{}
	}
	return changed(now)
}

func changed(now dirfd.Stat) error {
	switch now.Mode.Type() {
	case tree.Absent:
		return fmt.Errorf("%w: deleted", ErrChanged)
	case tree.Dir:
		return fmt.Errorf("%w: a directory is there", ErrChanged)
	}
	return ErrChanged
}

// sweep removes the unfinished new thing after a failure.
func (p *place) sweep(cause error) error {
	if errors.Is(cause, errStopped) {
		return nil
	}
	if err := p.discard(p.temp(fresh)); !dirfd.Gone(err) {
		return err
	}
	return nil
}

func (p *place) mkdir(name string, s *Step) error {
	err := p.act("mkdir", func() error { return p.dir.Mkdir(name, s.Want.Mode.Perm()&0o777|ownerAll) })
	if exists(err) {
		return changed(dirfd.Stat{Mode: s.Want.Mode})
	}
	return err
}

// makeFresh makes what is wanted under the fresh name: whole, checked, with
// its permissions, and newer than what it replaces. Ours is what a file shows then.
func (p *place) makeFresh(ctx context.Context, s *Step, now dirfd.Stat) (ours dirfd.Stat, err error) {
	switch s.Want.Mode.Type() {
	case tree.File:
		return p.writeFile(ctx, s, now)
	case tree.Symlink:
		k := p.sink(0)
		defer sinks.Put(k)
		if err := k.fill(ctx, p.a.src, s.Want.ID); err != nil || k.file != nil {
			return ours, k.tooLong(err)
		}
		return ours, p.act("symlink", func() error { return p.dir.Symlink(string(k.buf), p.temp(fresh)) })
	}
	return ours, p.mkdir(p.temp(fresh), s)
}

// sink returns what receives the content that is wanted, under the fresh name.
func (p *place) sink(perm tree.Mode) *sink {
	k := newSink(p.a.Alg, p.dir, p.temp(fresh), perm)
	k.act = p.act
	return k
}

func (p *place) writeFile(ctx context.Context, s *Step, now dirfd.Stat) (ours dirfd.Stat, err error) {
	k := p.sink(s.Want.Mode.Perm())
	k.direct = true
	defer sinks.Put(k)
	if err = k.fill(ctx, p.a.src, s.Want.ID); err == nil {
		err = k.flush()
	}
	if err == nil {
		ours, err = p.dress(k.file, s, now)
	}
	if k.file == nil {
		return ours, err
	}
	return ours, errors.Join(err, k.file.Close())
}

// dress gives the new file what belongs to the path rather than the content:
// permissions, and of the file it replaces owner and attributes; and a time of
// modification that is later, so that no cache and no build takes the new
// content for the old. It returns what the file shows, but for the time at which its
// inode was changed.
func (p *place) dress(f *dirfd.Temp, s *Step, now dirfd.Stat) (st dirfd.Stat, err error) {
	if st, err = f.Stat(); err != nil {
		return st, err
	}
	if now.Mode.Type() == tree.File && (p.a.uid == 0 || int(now.UID) == p.a.uid) {
		given := st.UID != now.UID || st.GID != now.GID
		if given {
			f.CopyOwner(now)
		}
		if old, err := p.dir.OpenFile(p.name); err == nil {
			given = f.CopyAttrs(old) || given
			old.Close()
		}
		if given { // either may have changed the permissions
			if st, err = f.Stat(); err != nil {
				return st, err
			}
		}
	}
	want, lacks := grant(s.Want.Mode, now, st)
	if st.Mode.Perm() != want {
		if err := p.act("fchmod", func() error { return f.Chmod(want) }); err != nil {
			return st, err
		}
		if st.Mode = st.Mode.Type() | want; want&setid != 0 { // the system may have kept them back
			if st, err = f.Stat(); err != nil {
				return st, err
			}
		}
	}
	// The clock of files may stand still for some milliseconds, or have been
	// set back; and a file system may store no more than (even) seconds.
	for _, more := range []time.Duration{1, time.Microsecond, time.Second, 2 * time.Second} {
		if now.Mode.Type() != tree.File || st.Mtime > now.Mtime {
			break
		}
		later := now.Mtime + int64(more)
		if err := p.act("utimes", func() error { return p.dir.SetMtime(p.temp(fresh), later) }); err != nil {
			return st, err
		}
		if st, err = f.Stat(); err != nil {
			return st, err
		}
	}
	return st, lacks
}

const setid tree.Mode = 0o6000

// grant returns the permissions that a file gets which takes the place of now
// and belongs to whom st says: those that are wanted, but setuid and setgid only
// if it has them already, with the same owner and group. Who made them is not
// recorded: a snapshot, an archive or another user's file must not make a program
// that acts as whoever restores it.
func grant(want tree.Mode, now, st dirfd.Stat) (tree.Mode, error) {
	perm := want.Perm()
	if want.Type() != tree.File || perm&setid == 0 {
		return perm, nil
	}
	var has tree.Mode
	if now.Mode.Type() == tree.File && now.UID == st.UID && now.GID == st.GID {
		has = now.Mode & setid
	}
	if given := perm&^setid | perm&has; given != perm {
		return given, ErrPrivilege
	}
	return perm, nil
}

// install lets the fresh thing of a job take the path's place.
func (p *place) install(j job) error {
	now, ours := j.now, j.ours
	if now.Mode == 0 {
		return p.installNew(j.step)
	}
	// Making ours may have taken long. This last look also compares the time
	// of inode change, which the rename below will alter.
	// A step for another name of the same file alters that time too, so if it
	// differs the content decides.
	st, ok, err := p.lstat(p.name)
	if err != nil || !ok {
		return errors.Join(err, changed(st))
	}
	if !st.Same(&now) && (st.Mode.Type() != tree.Dir || !moved(now, st)) {
		var found finding
		if now, found, err = p.look(j.step); err != nil || found != asExpected || now.Mode == 0 {
			return errors.Join(err, changed(now))
		}
	}
	if err := p.rename(p.temp(fresh), p.temp(spare)); err != nil {
		return err
	}
	err = p.exchange(p.temp(spare), p.name)
	switch {
	case errors.Is(err, errors.ErrUnsupported), now.Mode.Type() == tree.Dir && errors.Is(err, syscall.EXDEV): // overlayfs renames no directory of a lower layer
		return p.installInTwo(j.step, now)
	case err != nil:
		return errors.Join(err, p.dropSpare(err, ours))
	}
	return p.checkTaken(j.step, now, ours)
}

// installNew is install where nothing was.
func (p *place) installNew(s *Step) error {
	err := p.rename(p.temp(fresh), p.name)
	switch {
	case exists(err):
		return cmp.Or(p.taken(s), fmt.Errorf("%w: something is there now", ErrChanged))
	case dirfd.Gone(err):
		return fmt.Errorf("%w: the directory was moved away, with a file %q in it that may go", ErrChanged, p.temp(fresh))
	}
	return err
}

// installInTwo is install for file systems without an exchange: for a moment
// there is nothing at the path. The whole new thing lies under the spare name.
func (p *place) installInTwo(s *Step, now dirfd.Stat) error {
	if err := p.rename(p.temp(spare), p.temp(fresh)); err != nil {
		return err
	}
	undone := p.remove(s, now)
	if kept := (keptError{}); errors.As(undone, &kept) {
		return kept.error
	}
	if undone != nil && !errors.As(undone, new(litterError)) {
		return undone
	}
	// Nothing is at the path, even where what was there could not be removed yet.
	err := p.rename(p.temp(fresh), p.name)
	if exists(err) {
		return fmt.Errorf("%w: something is there now", ErrChanged)
	}
	return errors.Join(undone, err)
}
