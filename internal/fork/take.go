package fork

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A How says how ignored files are taken along.
type How struct {
	Copy     bool                  // where contents cannot be shared they are copied; else they are left
	Progress func(done, total int) // called from one goroutine at a time; may be nil
	taken    func(name string)     // for tests: told of each file when its content was taken
}

// A Taken says what was taken along.
type Taken struct {
	Files  int   // files and links
	Bytes  int64 // of the files
	Shared int   // files that share their content
	Failed []engine.Note
}

// put takes it along into a directory that nobody else writes into. An error that
// concerns the whole, as a full disk, ends it; what was made until then stays. A file
// that changes meanwhile is tried again, twice; then its last state is kept, and it is
// named.
func (l *Ignored) put(ctx context.Context, dir string) (Taken, error) {
	p := &putter{Ignored: l, How: l.how, new: map[string]bool{}, dirs: map[string]*shut{}}
	top, err := dirfd.OpenRoot(dir)
	if err != nil {
		return p.out, err
	}
	defer top.Close()
	from, err := dirfd.OpenRoot(l.root)
	if err != nil {
		return p.out, err
	}
	defer from.Close()
	p.from, p.to = from, top
	if err := p.shutRoots(); err != nil {
		return p.out, err
	}
	for _, f := range l.folders {
		p.new[f.path] = f.new
	}
	var ready []*folder
	for _, f := range l.folders {
		if err := ctx.Err(); err != nil {
			return p.out, err
		}
		ok, err := p.mkdir(f.path)
		if err != nil {
			return p.out, err
		}
		if ok {
			ready = append(ready, f)
		}
	}
	err = apply.Each(ctx, len(ready), min(runtime.GOMAXPROCS(0), 8), func(i int) error { return p.fill(ctx, ready[i]) })
	for _, f := range slices.Backward(p.made) {
		if err == nil {
			err = p.settle(f)
		}
	}
	slices.SortFunc(p.out.Failed, func(a, b engine.Note) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return p.out, err
}

type putter struct {
	*Ignored
	How
	from, to *dirfd.Root
	made     []*folder        // directories, each behind the one that it lies in
	new      map[string]bool  // directories that no snapshot has
	dirs     map[string]*shut // directories that are there; nil: they are not to be

	mu   sync.Mutex // guards what follows
	out  Taken
	done int
}

// mkdir makes a directory and those above it, open to their owner for now. Not there:
// something else is in the way, or it was made since by somebody, and has been named.
func (p *putter) mkdir(at string) (there bool, err error) {
	if is, seen := p.dirs[at]; seen {
		return is != nil, nil
	}
	p.dirs[at] = nil
	if there, err = p.mkdir(tree.Parent(at)); there && err == nil {
		there, err = p.mkdirIn(at)
	}
	return there, err
}

func (p *putter) mkdirIn(at string) (there bool, err error) {
	like, err := p.from.OpenDir(at)
	if err != nil {
		p.fail(at, err)
		return false, nil
	}
	defer like.Close()
	st, err := like.Stat()
	if err != nil {
		return false, err
	}
	above, err := p.to.OpenDir(tree.Parent(at))
	if err != nil {
		return false, err
	}
	defer above.Close()
	st.Mode = p.keepShut(tree.Parent(at), st.Mode)
	is, err := above.Lstat(path.Base(at))
	switch {
	case err == nil && is.Mode.IsDir():
		p.enter(at, st.Mode, is.Mode)
		return true, nil
	case err == nil:
		err = errInWay
	case dirfd.Gone(err) && !p.new[at]: // it could not be made
		err = errNoDirectory
	default:
		err = above.Mkdir(path.Base(at), st.Mode.Perm()&0o777|0o700)
	}
	if fatal(err) {
		return false, fmt.Errorf("%s: %w", at, err)
	}
	if err != nil {
		p.fail(at, err)
		return false, nil
	}
	p.enter(at, st.Mode, st.Mode)
	p.made = append(p.made, &folder{path: at, stat: st})
	return true, nil
}

// settle gives a directory the permissions and the time of the one that it is like.
func (p *putter) settle(f *folder) error {
	d, err := p.to.OpenDir(f.path)
	if err != nil {
		return err
	}
	err = d.ChmodSelf(f.stat.Mode.Perm() & 0o777)
	if err = errors.Join(err, d.Close()); err != nil {
		return err
	}
	above, err := p.to.OpenDir(tree.Parent(f.path))
	if err != nil {
		return err
	}
	defer above.Close()
	return above.SetMtime(path.Base(f.path), f.stat.Mtime)
}

// fill takes along what lies in one directory.
func (p *putter) fill(ctx context.Context, f *folder) error {
	to, err := p.to.OpenDir(f.path)
	if err != nil {
		return err
	}
	defer to.Close()
	from, err := p.from.OpenDir(f.path)
	if err != nil {
		p.fail(f.path, err)
		return nil
	}
	defer from.Close()
	for i := range f.files {
		c := &copying{ctx: ctx, from: from, to: to, name: f.files[i].name, copies: p.Copy, taken: p.taken}
		c.mode = func(m tree.Mode) tree.Mode { return p.keepShut(f.path, m) }
		err := c.take(f.files[i].stat.Mode.Type())
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if fatal(err) {
			return fmt.Errorf("%s: %w", path.Join(f.path, c.name), err)
		}
		if err != nil {
			p.fail(path.Join(f.path, c.name), err)
		}
		p.count(c)
	}
	return nil
}

func (p *putter) count(c *copying) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done++; p.Progress != nil {
		p.Progress(p.done, p.Files)
	}
	if !c.made {
		return
	}
	p.out.Files++
	p.out.Bytes += c.bytes
	if c.shared {
		p.out.Shared++
	}
}

func (p *putter) fail(at string, err error) {
	var where *fs.PathError
	if errors.As(err, &where) { // the path is in the note
		err = where.Err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.Failed = append(p.out.Failed, engine.Note{Path: engine.Path(at), Reason: err.Error()})
}

// fatal reports whether an error concerns all that is still to be taken along.
func fatal(err error) bool {
	var w writeError
	for _, no := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, no) {
			return true
		}
	}
	return errors.As(err, &w) && errors.Is(err, syscall.EIO)
}

// A writeError is of the directory that files are taken to.
type writeError struct{ error }

func (e writeError) Unwrap() error { return e.error }

// A shut says which users, as bits of permissions, cannot come into a directory, because
// of itself or of one above it: where things are taken from, and where they are taken to.
type shut struct{ from, to tree.Mode }

// shutOut are the permissions of those users that may not enter a directory.
func shutOut(dir tree.Mode) (m tree.Mode) {
	if dir&0o010 == 0 {
		m |= 0o070
	}
	if dir&0o001 == 0 {
		m |= 0o007
	}
	return m
}

// shutRoots notes who may come into the two directories.
func (p *putter) shutRoots() error {
	from, err := p.from.Stat()
	if err != nil {
		return err
	}
	to, err := p.to.Stat()
	p.dirs[""] = &shut{shutOut(from.Mode), shutOut(to.Mode)}
	return err
}

// enter notes who may come into a directory, by its modes here and there.
func (p *putter) enter(at string, from, to tree.Mode) {
	above := p.dirs[tree.Parent(at)]
	p.dirs[at] = &shut{above.from | shutOut(from), above.to | shutOut(to)}
}

// keepShut takes from a mode what it would allow users that a directory keeps out here,
// and that the same directory lets in there: it may have been closed since the snapshot.
func (p *putter) keepShut(dir string, m tree.Mode) tree.Mode {
	s := p.dirs[dir]
	return m &^ (s.from &^ s.to)
}
