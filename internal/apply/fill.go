package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Filling says how [Fill] makes what it makes. Alg is required.
type Filling struct {
	Alg      oid.Algorithm
	Like     string                           // a directory whose files are taken where they have the content that is wanted: shared with the new file, where the file system can; "": there is none
	Durable  bool                             // all of it is on the disk when Fill returns without an error
	Made     func(path string, st dirfd.Stat) // told of each file and link that was made; called by several goroutines at once; may be nil
	Progress func(done, total int)            // as in [Options]
	cloned   func(path string)                // for tests: told of each file whose content is shared
}

// Fill makes what steps want in a directory that was just made, that is empty but
// for a .git, and that nobody else writes into. Each file is written once, under its
// own name, and checked before. A path at which something is
// already, or that could lead into a .git, is a conflict.
func Fill(ctx context.Context, root string, steps []Step, src Source, how *Filling) (Outcome, error) {
	f := &filler{Filling: *how, src: src, tally: tally{total: len(steps), progress: how.Progress}}
	err := f.open(root)
	if err == nil {
		defer f.close()
		err = f.run(ctx, asStored(steps))
	}
	slices.SortFunc(f.out.Conflicts, func(a, b Note) int { return strings.Compare(a.Path, b.Path) })
	if err != nil {
		err = fmt.Errorf("fill: %w", err)
	}
	return f.out, err
}

type filler struct {
	Filling
	src  Source
	root *dirfd.Root
	like *dirfd.Root // nil: there is none
	tally

	unclone atomic.Bool // the file system cannot share contents
}

func (f *filler) open(root string) (err error) {
	if f.root, err = dirfd.OpenRoot(root); err == nil && f.Like != "" {
		if f.like, err = dirfd.OpenRoot(f.Like); err != nil {
			f.root.Close()
		}
	}
	return err
}

func (f *filler) close() {
	f.root.Close()
	if f.like != nil {
		f.like.Close()
	}
}

// A folder is a directory that is filled, with the places of its leaves among the steps.
type folder struct {
	path   string
	leaves []*Step
}

// run makes the directories, shallow first, then what lies in them, and last gives
// the directories their permissions, deepest first.
func (f *filler) run(ctx context.Context, steps []Step) error {
	var made []*Step
	folders, at := []*folder{}, map[string]*folder{}
	for i := range steps {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s := &steps[i]
		err := errors.Join(safePath(s.Path), s.Want.check())
		switch {
		case err != nil:
		case s.Want.absent():
			continue
		case s.Want.Mode.IsDir():
			var settled bool
			if settled, err = f.mkdir(s); err == nil && (!settled || f.Durable && !dirfd.SyncReachesAll) {
				made = append(made, s)
			}
		default:
			dir := tree.Parent(s.Path)
			if at[dir] == nil {
				at[dir] = &folder{path: dir}
				folders = append(folders, at[dir])
			}
			at[dir].leaves = append(at[dir].leaves, s)
			continue
		}
		if err := f.enter(s, err); err != nil {
			return err
		}
	}
	err := Each(ctx, len(folders), min(runtime.GOMAXPROCS(0), 8), func(i int) error { return f.fill(ctx, folders[i]) })
	for _, s := range slices.Backward(made) {
		if err == nil {
			err = f.settle(s)
		}
	}
	if err == nil && f.Durable {
		err = f.root.Sync()
	}
	return err
}

// mkdir makes a directory, open to its owner for now. It is settled if it has its
// permissions already: the umask and the directory above decide too what it is made with.
func (f *filler) mkdir(s *Step) (settled bool, err error) {
	dir, name := tree.Split(s.Path)
	d, err := f.root.OpenDir(dir)
	if err != nil {
		return false, err
	}
	defer d.Close()
	if err := d.Mkdir(name, s.Want.Mode.Perm()&0o777|ownerAll); err != nil {
		return false, err
	}
	st, err := d.Lstat(name)
	return st.Mode.Perm() == s.Want.Mode.Perm(), err
}

// settle gives a directory its permissions.
func (f *filler) settle(s *Step) error {
	d, err := f.root.OpenDir(s.Path)
	if err != nil {
		return err
	}
	defer d.Close()
	if f.Durable && !dirfd.SyncReachesAll {
		if err := d.Sync(); err != nil {
			return err
		}
	}
	return d.ChmodSelf(s.Want.Mode.Perm())
}

// fill makes the files and links of one directory.
func (f *filler) fill(ctx context.Context, at *folder) error {
	dir, err := f.root.OpenDir(at.path)
	var like *dirfd.Dir
	if err == nil {
		defer dir.Close()
		if f.like != nil {
			if like, _ = f.like.OpenDir(at.path); like != nil { // else it has no such directory
				defer like.Close()
			}
		}
	}
	for _, s := range at.leaves {
		failed := err
		if failed == nil {
			failed = f.leaf(ctx, dir, like, s)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f.enter(s, failed); err != nil {
			return err
		}
	}
	return nil
}

// leaf makes one file or link. It is [ErrPrivilege] if that was made, and lacks what
// only chmod gives.
func (f *filler) leaf(ctx context.Context, dir, like *dirfd.Dir, s *Step) error {
	_, name := tree.Split(s.Path)
	perm, lacks := grant(s.Want.Mode, dirfd.Stat{}, dirfd.Stat{})
	k := newSink(f.Alg, dir, name, perm)
	defer sinks.Put(k)
	err := f.take(ctx, k, like, s)
	if err == nil && s.Want.Mode.Type() == tree.Symlink {
		err = dir.Symlink(string(k.buf), name)
	} else if err == nil {
		err = k.flush()
	}
	var st dirfd.Stat
	switch {
	case k.file != nil:
		if err == nil {
			st, err = settled(k.file, perm)
		}
		if err = errors.Join(err, k.file.Close()); err != nil {
			_ = dir.Remove(name) // a wrong content is not left under the name
		}
	case err == nil:
		st, err = dir.Lstat(name)
	}
	if err != nil {
		return err
	}
	if f.Made != nil {
		f.Made(s.Path, st)
	}
	return lacks
}

// settled gives a file its permissions, if it was not made with them.
func settled(file *dirfd.Temp, perm tree.Mode) (dirfd.Stat, error) {
	st, err := file.Stat()
	if err == nil && st.Mode.Perm() != perm {
		if err = file.Chmod(perm); err == nil {
			st, err = file.Stat()
		}
	}
	return st, err
}

// take gets the content of a step, from the file of the same name if that has it.
// It is checked.
func (f *filler) take(ctx context.Context, k *sink, like *dirfd.Dir, s *Step) error {
	if like != nil && s.Want.Mode.Type() == tree.File {
		if took, err := f.copy(k, like, s.Want.ID); took || err != nil {
			return err
		}
	}
	return k.fill(ctx, f.src, s.Want.ID)
}

// copy takes the content of the file under the same name, if it is the one that is
// wanted: shared, where the file system can.
func (f *filler) copy(k *sink, like *dirfd.Dir, want oid.ID) (took bool, err error) {
	old, err := like.OpenFile(k.name)
	if err != nil {
		return false, nil // there is none, or none that may be read
	}
	defer old.Close()
	st, err := old.Stat()
	if err != nil || st.Size > bufferBytesMax && f.unclone.Load() {
		return false, nil
	}
	if st.Size <= bufferBytesMax {
		k.buf = slices.Grow(k.buf, int(st.Size))[:st.Size]
		if n, err := io.ReadFull(old, k.buf); err != nil || k.alg.Sum(oid.Blob, k.buf[:n]) != want {
			k.buf = k.buf[:0]
			return false, nil
		}
	}
	if st.Size == 0 || f.unclone.Load() {
		return true, nil
	}
	return f.clone(k, old, want)
}

// clone shares the content of an open file, and checks what is shared now.
func (f *filler) clone(k *sink, old *dirfd.File, want oid.ID) (took bool, err error) {
	small := len(k.buf) > 0 // and has been compared
	if k.file, err = k.dir.Create(k.name, k.perm&0o777|0o600); err != nil {
		return true, err
	}
	err = k.file.Clone(old)
	if errors.Is(err, errors.ErrUnsupported) {
		f.unclone.Store(true)
	}
	if err == nil {
		err = k.check(want)
	}
	if err == nil {
		if f.cloned != nil {
			f.cloned(k.name)
		}
		return true, nil
	}
	err = errors.Join(k.file.Close(), k.dir.Remove(k.name))
	k.file = nil
	return small, err
}
