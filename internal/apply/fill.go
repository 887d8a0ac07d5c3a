package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
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
	Progress func(done, total int)            // as in [Options], of [Filler.Finish]
	cloned   func(path string)                // for tests: told of each file whose content is shared
}

// Fill makes what steps want in a directory that was just made, that is empty but
// for a .git, and that nobody else writes into. Each file is written once, under its
// own name, and checked before. A path at which something is
// already, or that could lead into a .git, is a conflict.
func Fill(ctx context.Context, root string, steps []Step, src Source, how *Filling) (Outcome, error) {
	f, err := NewFiller(ctx, root, steps, how)
	if err != nil {
		return f.out, err
	}
	return f.Finish(ctx, src)
}

// A Filler is a [Fill] whose contents come in an order of their own.
type Filler struct {
	Filling
	root    *dirfd.Root
	like    *dirfd.Root // nil: there is none
	folders []*folder
	made    []*Step // directories that have yet to get their permissions
	tally

	indexing sync.Once
	lacking  map[oid.ID]*leaf // which leaves want a content that has not arrived, guarded by the tally's lock

	unclone atomic.Bool // the file system cannot share contents
}

// A folder is a directory that is filled.
type folder struct {
	path   string
	leaves []leaf
}

// A leaf is a file or a link in a folder.
type leaf struct {
	*Step
	at      *folder
	arrived bool
	next    *leaf // that wants the same content
}

// NewFiller makes the directories. The caller then ends it, by Finish or by Close.
func NewFiller(ctx context.Context, root string, steps []Step, how *Filling) (*Filler, error) {
	f := &Filler{Filling: *how, tally: tally{total: len(steps)}}
	err := f.open(root)
	if err == nil {
		if err = f.begin(ctx, asStored(steps)); err != nil {
			f.Close()
		}
	}
	return f, failedFill(err)
}

func failedFill(err error) error {
	if err != nil {
		err = fmt.Errorf("fill: %w", err)
	}
	return err
}

// Finish makes what has not arrived, and gives the directories their permissions. It ends f.
func (f *Filler) Finish(ctx context.Context, src Source) (Outcome, error) {
	defer f.Close()
	f.progress = f.Progress
	err := f.finish(ctx, src)
	slices.SortFunc(f.out.Conflicts, func(a, b Note) int { return strings.Compare(a.Path, b.Path) })
	return f.out, failedFill(err)
}

func (f *Filler) open(root string) (err error) {
	if f.root, err = dirfd.OpenRoot(root); err == nil && f.Like != "" {
		if f.like, err = dirfd.OpenRoot(f.Like); err != nil {
			f.root.Close()
		}
	}
	return err
}

// Close ends a filling that is given up. What was made stays.
func (f *Filler) Close() {
	f.root.Close()
	if f.like != nil {
		f.like.Close()
	}
}

// begin makes the directories, shallow first.
func (f *Filler) begin(ctx context.Context, steps []Step) error {
	at := map[string]*folder{}
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
				f.made = append(f.made, s)
			}
		default:
			dir := tree.Parent(s.Path)
			if at[dir] == nil {
				at[dir] = &folder{path: dir}
				f.folders = append(f.folders, at[dir])
			}
			at[dir].leaves = append(at[dir].leaves, leaf{Step: s, at: at[dir]})
			continue
		}
		if err := f.enter(s, err); err != nil {
			return err
		}
	}
	return nil
}

// Arrive makes the files and links that want a content, which the caller has compared with its
// id. Any number of goroutines may call it. An error ends the filling.
func (f *Filler) Arrive(ctx context.Context, id oid.ID, payload []byte) error {
	f.indexing.Do(f.index)
	f.mu.Lock()
	l := f.lacking[id]
	delete(f.lacking, id)
	f.mu.Unlock()
	for ; l != nil; l = l.next {
		l.arrived = true
		dir, err := f.root.OpenDir(l.at.path)
		if err == nil {
			err = f.leaf(dir, l.Step, func(k *sink) error {
				_, err := k.Write(payload)
				return err
			})
			dir.Close()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f.enter(l.Step, err); err != nil {
			return failedFill(err)
		}
	}
	return nil
}

// Arrived reports whether a content has arrived, or is not wanted. It is for who calls Arrive no more.
func (f *Filler) Arrived(id oid.ID) bool { return f.lacking != nil && f.lacking[id] == nil }

func (f *Filler) index() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lacking = make(map[oid.ID]*leaf, len(f.folders))
	for _, at := range f.folders {
		for i := range at.leaves {
			l := &at.leaves[i]
			l.next, f.lacking[l.Want.ID] = f.lacking[l.Want.ID], l
		}
	}
}

// finish makes what lies in the directories, and last gives these their permissions, deepest first.
func (f *Filler) finish(ctx context.Context, src Source) error {
	err := Each(ctx, len(f.folders), min(runtime.GOMAXPROCS(0), 8), func(i int) error { return f.fill(ctx, f.folders[i], src) })
	for _, s := range slices.Backward(f.made) {
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
func (f *Filler) mkdir(s *Step) (settled bool, err error) {
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
func (f *Filler) settle(s *Step) error {
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

// fill makes the files and links of one directory that have not arrived.
func (f *Filler) fill(ctx context.Context, at *folder, src Source) error {
	if !slices.ContainsFunc(at.leaves, func(l leaf) bool { return !l.arrived }) {
		return nil
	}
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
	for i := range at.leaves {
		s := at.leaves[i].Step
		if at.leaves[i].arrived {
			continue
		}
		failed := err
		if failed == nil {
			failed = f.leaf(dir, s, func(k *sink) error { return f.take(ctx, k, src, like, s) })
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

// leaf makes one file or link of what take gives. It is [ErrPrivilege] if that was made, and
// lacks what only chmod gives.
func (f *Filler) leaf(dir *dirfd.Dir, s *Step, take func(*sink) error) error {
	_, name := tree.Split(s.Path)
	perm, lacks := grant(s.Want.Mode, dirfd.Stat{}, dirfd.Stat{})
	k := newSink(f.Alg, dir, name, perm)
	defer sinks.Put(k)
	err := take(k)
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
func (f *Filler) take(ctx context.Context, k *sink, src Source, like *dirfd.Dir, s *Step) error {
	if like != nil && s.Want.Mode.Type() == tree.File {
		if took, err := f.copy(k, like, s.Want.ID); took || err != nil {
			return err
		}
	}
	return k.fill(ctx, src, s.Want.ID)
}

// copy takes the content of the file under the same name, if it is the one that is
// wanted: shared, where the file system can.
func (f *Filler) copy(k *sink, like *dirfd.Dir, want oid.ID) (took bool, err error) {
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
func (f *Filler) clone(k *sink, old *dirfd.File, want oid.ID) (took bool, err error) {
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
