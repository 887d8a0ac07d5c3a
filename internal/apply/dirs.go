package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// ownerAll is what a directory's owner needs to work in it.
const ownerAll tree.Mode = 0o700

// makeWritable gives the owner of a read-only directory leave to work in it,
// until closeDirs.
func (p *place) makeWritable() error {
	st := p.self
	if st.Mode&ownerAll == ownerAll || p.a.uid == 0 || int(st.UID) != p.a.uid {
		return nil
	}
	dir := tree.Parent(p.path)
	p.a.remember(dir, st.Mode.Perm())
	return p.act("chmod", func() error { return p.dir.ChmodSelf(st.Mode.Perm() | ownerAll) })
}

func (a *applier) remember(dir string, perm tree.Mode) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.opened[dir]; !ok {
		a.opened[dir] = perm
	}
}

// openUp lets the owner into the directories on a path that deny it. It
// reports whether it changed anything.
func (a *applier) openUp(path string) bool {
	changed := false
	for i := range len(path) + 1 {
		if i < len(path) && path[i] != '/' {
			continue
		}
		p, err := a.reachPlain(path[:i])
		if err != nil {
			return changed
		}
		st, ok, err := p.lstat(p.name)
		if err == nil && ok && st.Mode.Type() == tree.Dir && st.Mode&ownerAll != ownerAll {
			a.remember(path[:i], st.Mode.Perm())
			err = p.act("chmod", func() error { return p.dir.Chmod(p.name, st, st.Mode.Perm()|ownerAll) })
			changed = changed || err == nil
		}
		p.close()
	}
	return changed
}

// closeDirs takes back what makeWritable gave, deepest first. A directory that
// was changed or removed meanwhile is left as it is.
func (a *applier) closeDirs() error {
	var paths []string
	for path := range a.opened {
		paths = append(paths, path)
	}
	slices.SortFunc(paths, func(a, b string) int { return strings.Compare(b, a) })
	for _, path := range paths {
		err := a.closeDir(path, a.opened[path])
		if fatal(err) {
			return err
		}
		if err != nil && !dirfd.Gone(err) {
			a.out.Conflicts = append(a.out.Conflicts, note(path, err))
		}
	}
	return nil
}

func (a *applier) closeDir(path string, perm tree.Mode) error {
	d, err := a.root.OpenDir(path)
	if err != nil {
		return err
	}
	defer d.Close()
	st, err := d.Stat()
	if err != nil || st.Mode.Perm() != perm|ownerAll {
		return err
	}
	p := &place{a: a, path: path, dir: d}
	return p.act("chmod", func() error { return d.ChmodSelf(perm) })
}

// setMode carries out a step for a directory that stays. A step that changes nothing
// closes what was opened; whatever else became of the directory does not concern it.
func (a *applier) setMode(s *Step) error {
	have, closed := s.Have.Mode.Perm(), narrowed(s)
	err := a.changeMode(s, func(now tree.Mode) bool {
		return now|ownerAll == have|ownerAll || now|ownerAll == closed|ownerAll
	})
	if s.idle() && (errors.Is(err, ErrChanged) || dirfd.Gone(err)) {
		return nil
	}
	return err
}

// settleMode gives a directory that was made its permissions. Only what is
// fatal is an error; the rest is a note.
func (a *applier) settleMode(s *Step) error {
	if a.failed[s.Path] {
		return nil
	}
	err := a.changeMode(s, func(tree.Mode) bool { return true })
	if err != nil && !fatal(err) {
		a.out.Conflicts = append(a.out.Conflicts, note(s.Path, err))
		return nil
	}
	return err
}

func (a *applier) changeMode(s *Step, expected func(tree.Mode) bool) error {
	return a.chmodDir(s.Path, func(now tree.Mode) (tree.Mode, error) {
		want := s.Want.Mode.Perm()
		if now != want && !expected(now) {
			return now, fmt.Errorf("%w: permissions are %o", ErrChanged, now)
		}
		delete(a.opened, s.Path) // from here on the plan's permissions hold
		return want, nil
	})
}

// chmodDir gives a directory the permissions that are decided on by those that it has.
func (a *applier) chmodDir(path string, decide func(now tree.Mode) (tree.Mode, error)) (err error) {
	p, err := a.reach(path)
	if err != nil {
		return err
	}
	defer p.close()
	defer func() { err = p.local(err) }()
	st, ok, err := p.lstat(p.name)
	if err != nil {
		return err
	}
	if !ok || st.Mode.Type() != tree.Dir || same(st, p.git) {
		return fmt.Errorf("%w: no longer a directory", ErrChanged)
	}
	want, err := decide(st.Mode.Perm())
	if err != nil || want == st.Mode.Perm() {
		return err
	}
	return p.act("chmod", func() error { return p.dir.Chmod(p.name, st, want) })
}

// sync makes everything durable: one call a file system where the system has
// one, else one a directory.
func (a *applier) sync() error {
	if a.hook != nil {
		if err := a.hook("sync", ""); err != nil {
			return err
		}
	}
	if a.noSync {
		return nil
	}
	done := map[uint64]bool{}
	for dir, dev := range a.synced {
		if dirfd.SyncReachesAll && done[dev] {
			continue
		}
		d, err := a.root.OpenDir(dir)
		if dirfd.Gone(err) && !dirfd.SyncReachesAll {
			continue
		}
		if err != nil {
			continue // another directory on the same device will do
		}
		err = d.Sync()
		d.Close()
		if err != nil {
			return err
		}
		done[dev] = true
	}
	for dir, dev := range a.synced {
		if dirfd.SyncReachesAll && !done[dev] {
			return fmt.Errorf("cannot make %q durable: no directory there can be opened", dir)
		}
	}
	return nil
}
