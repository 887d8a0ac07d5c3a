package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A place is where a step works: the open directory and the name in it. The
// directory is opened anew, by a path without links, for each step or for a few files
// in a row that are made in it, so that a step works where the path leads now and not
// where it led before. (Far below the root a few steps share more: see [dirfd.Root].)
type place struct {
	a    *applier
	path string
	name string
	dir  *dirfd.Dir
	self dirfd.Stat // of the directory
	git  dirfd.Stat // of the directory's .git; zero if it has none
	tmp  string     // of which the temporary names are made; "": not known yet
}

// open opens the directory of a path for a step that changes it.
func (a *applier) open(path string) (*place, error) {
	p, err := a.reach(path)
	if err != nil {
		return nil, err
	}
	if err := p.makeWritable(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// reach opens the directory of a path and makes sure that it is no .git. The owner is
// let into directories on the way that deny it.
func (a *applier) reach(path string) (*place, error) {
	p, err := a.reachPlain(path)
	if dir := tree.Parent(path); errors.Is(err, fs.ErrPermission) && a.openUp(dir) {
		p, err = a.reachPlain(path)
	}
	return p, err
}

// reachPlain is reach without another attempt to open up.
func (a *applier) reachPlain(path string) (*place, error) {
	dir, name := tree.Split(path)
	d, err := a.root.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	v, err := a.vet(dir, d)
	if err != nil {
		d.Close()
		return nil, err
	}
	return &place{a: a, path: path, name: name, dir: d, self: v.self, git: v.git}, nil
}

// close closes the directory, where there is one.
func (p *place) close() {
	if p != nil {
		p.dir.Close()
	}
}

// covers reports whether a path lies in the directory, if one is open.
func (p *place) covers(path string) bool { return p != nil && tree.Parent(p.path) == tree.Parent(path) }

// beside returns the place of another path in the directory, which p closes.
func (p *place) beside(path string) *place {
	q := *p
	q.path, q.tmp = path, ""
	_, q.name = tree.Split(path)
	return &q
}

// leads makes sure that the path still leads to the directory. Where the system has no
// inode numbers it cannot be told.
func (p *place) leads() error {
	if p.self.Ino == 0 {
		return nil
	}
	now, err := p.a.root.OpenDir(tree.Parent(p.path))
	if err == nil {
		defer now.Close()
		var st, self dirfd.Stat
		if st, err = now.Stat(); err == nil && same(st, p.self) {
			return nil
		}
		if err == nil { // overlayfs may number a directory anew when it is first written to
			self, err = p.dir.Stat()
		}
		if err != nil || same(st, self) {
			return err
		}
	}
	if err == nil || dirfd.Gone(err) {
		return fmt.Errorf("%w: the directory was moved away", ErrChanged)
	}
	return err
}

// A vetted directory was found not to be a .git. self tells whether the path
// still leads to it.
type vetted struct {
	self dirfd.Stat
	git  dirfd.Stat // what lies in it under the name .git; zero if nothing
}

// vet makes sure that no component of a directory's path is a .git, by
// identity: whatever spelling the file system accepts, it is the same inode as
// the .git beside it. Nor may it be a protected directory.
func (a *applier) vet(dir string, d *dirfd.Dir) (vetted, error) {
	self, err := d.Stat()
	if err != nil {
		return vetted{}, err
	}
	a.mu.Lock()
	v, ok := a.vetted[dir]
	a.mu.Unlock()
	if ok && same(v.self, self) {
		v.self = self
		return v, nil
	}
	for _, g := range a.guard {
		if same(g, self) {
			return v, fmt.Errorf("%w: %q is protected", ErrUnsafe, dir)
		}
	}
	if dir != "" {
		above := tree.Parent(dir)
		if err := a.vetChild(above, self); err != nil {
			return v, fmt.Errorf("%q: %w", dir, err)
		}
	}
	v = vetted{self: self}
	if v.git, err = d.Lstat(".git"); err != nil && !dirfd.Gone(err) {
		return v, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.vetted[dir] = v
	a.synced[dir] = self.Dev
	return v, nil
}

// vetChild makes sure that a directory found in dir is not dir's .git.
func (a *applier) vetChild(dir string, child dirfd.Stat) error {
	d, err := a.root.OpenDir(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	v, err := a.vet(dir, d)
	if err == nil && same(v.git, child) {
		return fmt.Errorf("%w: it is a .git", ErrUnsafe)
	}
	return err
}

// same reports whether two stats are of one inode. Where the system has no
// inode numbers nothing is the same.
func same(a, b dirfd.Stat) bool { return a.Ino != 0 && a.Ino == b.Ino && a.Dev == b.Dev }

// The two temporary names of a step. What lies under fresh is ours and may be
// unfinished. A name is moved to spare when what it holds is whole; under
// spare lies either that, or what was taken away from the path.
const (
	fresh = "w"
	spare = "x"
)

// temp returns a temporary name beside the path. It is made of the plan's key,
// so a later run knows which names are its own and never goes by a pattern.
func (p *place) temp(role string) string {
	if p.tmp == "" {
		p.tmp = temporary(p.a.Key, p.path, "")
	}
	return p.tmp + role
}

func temporary(key, path, role string) string {
	sum := sha256.Sum256([]byte(key + "\x00" + path))
	var buf [28]byte
	name := append(buf[:0], ".rewind-tmp-"...)
	return string(append(hex.AppendEncode(name, sum[:8]), role...))
}

// act makes one change to the file system.
func (p *place) act(op string, change func() error) error {
	if p.a.hook != nil {
		if err := p.a.hook(op, p.path); err != nil {
			return err
		}
	}
	return change()
}

func (p *place) rename(from, to string) error {
	return p.act("rename", func() error { return p.dir.RenameNoReplace(from, to) })
}

// takeAway moves what lies at the path to the spare name.
func (p *place) takeAway() error {
	return p.act("rename", func() error { return p.dir.TakeAway(p.name, p.temp(spare)) })
}

func (p *place) exchange(a, b string) error {
	return p.act("exchange", func() error {
		if p.a.noExchange {
			return errors.ErrUnsupported
		}
		return p.dir.Exchange(a, b)
	})
}

// discard removes a temporary name, whatever type it has.
func (p *place) discard(name string) error {
	err := p.act("discard", func() error {
		err := p.dir.Remove(name)
		if errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.EPERM) { // POSIX lets unlink say either of a directory
			if st, ok, _ := p.lstat(name); ok && st.Mode.Type() == tree.Dir {
				return p.dir.Rmdir(name)
			}
		}
		return err
	})
	dir := tree.Parent(p.path)
	p.a.leave(path.Join(dir, name), err)
	return err
}

// lstat looks at a name; ok is false if there is nothing.
func (p *place) lstat(name string) (st dirfd.Stat, ok bool, err error) {
	st, err = p.dir.Lstat(name)
	if dirfd.Gone(err) {
		return dirfd.Stat{}, false, nil
	}
	return st, err == nil, err
}

// A keptError is the reason why a deletion was rightly not carried out.
type keptError struct{ error }

func (e keptError) Unwrap() error { return e.error }

// A litterError says that what was taken away from a path is recorded and may go, and
// still lies beside it.
type litterError struct{ error }

func (e litterError) Unwrap() error { return e.error }

// holding returns an ErrBlocked that names something in a directory.
func holding(d *dirfd.Dir, name string) error {
	sub, err := d.OpenDir(name)
	if err != nil {
		return ErrBlocked
	}
	defer sub.Close()
	list, err := sub.List()
	if err != nil || len(list) == 0 {
		return ErrBlocked
	}
	return fmt.Errorf("%w: %q", ErrBlocked, list[0].Name)
}

func note(path string, err error) Note {
	reason := err.Error()
	var pe *fs.PathError
	if errors.As(err, &pe) && strings.HasPrefix(pe.Path, ".rewind-tmp-") {
		reason = pe.Op + ": " + pe.Err.Error() // the temporary name would only puzzle
	}
	if errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV) {
		reason = "mount point: " + reason
	}
	return Note{Path: path, Reason: reason, Err: err}
}

func isMode(a, b tree.Mode) bool {
	if a.Type() == tree.Nested {
		a = tree.Dir | a.Perm()
	}
	if b.Type() == tree.Nested {
		b = tree.Dir | b.Perm()
	}
	return a == b || a.Type() == tree.Symlink && b.Type() == tree.Symlink
}
