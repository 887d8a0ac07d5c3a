package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"syscall"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A finding is what a step finds at its path.
type finding int

const (
	unexpected finding = iota // neither of the two below: a conflict
	asExpected                // what the plan saw, or what is as good
	asWanted                  // nothing to do
)

// look compares what lies at the path with the step. It believes the
// fingerprint if that still fits; otherwise the content decides, so that a
// file that was only touched is no conflict: its bytes are recorded.
func (p *place) look(s *Step) (dirfd.Stat, finding, error) {
	st, ok, err := p.lstat(p.name)
	switch {
	case err != nil:
		return st, unexpected, err
	case !ok && s.Want.absent():
		return st, asWanted, nil
	case !ok && (s.Have.absent() || p.a.Replay):
		return st, asExpected, nil
	case !ok:
		return st, unexpected, nil
	case same(st, p.git):
		return st, unexpected, fmt.Errorf("%w: it is a .git", ErrUnsafe)
	case !p.a.Replay && !s.Have.absent() && seen(st) == s.Expect && isMode(st.Mode, s.Have.Mode):
		return st, asExpected, nil
	}
	id := sync.OnceValues(func() (oid.ID, error) { return p.id(p.name, st) })
	if yes, err := contains(st, id, s.Want); yes || err != nil {
		return st, asWanted, err
	}
	if yes, err := contains(st, id, s.Have); yes || err != nil {
		return st, asExpected, err
	}
	return st, unexpected, nil
}

// lookBefore is look before anything is done. Where a new file takes a place that is
// expected to be free, by a rename that replaces nothing, the path is looked at only if
// the rename finds it taken.
func (p *place) lookBefore(s *Step) (dirfd.Stat, finding, error) {
	if !p.a.Replay && s.Have.absent() && s.Want.leaf() {
		return dirfd.Stat{}, asExpected, nil
	}
	return p.look(s)
}

// taken says what lies at a path that was expected to be free, as far as that can be told: what
// is wanted, or something else. It is nil if that is nothing, and in a replay if it is what is
// wanted, for nobody knows who put it there.
func (p *place) taken(s *Step) error {
	now, found, err := p.look(s)
	switch {
	case err != nil, now.Mode == 0, found == asWanted && p.a.Replay:
		return nil
	case found == asWanted:
		return errThere
	}
	return s.unlike(now)
}

// holds reports whether a name, with this stat, is exactly a node: type,
// permissions and content. Of directories only the type is compared.
func (p *place) holds(name string, st dirfd.Stat, n Node) (bool, error) {
	return contains(st, func() (oid.ID, error) { return p.id(name, st) }, n)
}

// contains is [place.holds] for what has this stat, and an id that is asked for only
// where it counts.
func contains(st dirfd.Stat, id func() (oid.ID, error), n Node) (bool, error) {
	if n.Mode.IsDir() {
		return st.Mode.Type() == tree.Dir, nil
	}
	if n.absent() || !isMode(st.Mode, n.Mode) {
		return false, nil
	}
	is, err := id()
	return is == n.ID, err
}

// id returns the id of the content of a file or link. A file that changes
// while it is read has the zero ID.
func (p *place) id(name string, st dirfd.Stat) (oid.ID, error) { return idAt(p.a.Alg, p.dir, name, st) }

// idAt reads what lies under a name, which st was seen of.
func idAt(alg oid.Algorithm, dir *dirfd.Dir, name string, st dirfd.Stat) (oid.ID, error) {
	if st.Mode.Type() == tree.Symlink {
		target, err := dir.Readlink(name)
		return alg.Sum(oid.Blob, []byte(target)), err
	}
	f, err := dir.OpenFile(name)
	if err != nil {
		return oid.ID{}, err
	}
	defer f.Close()
	before := st
	if st.Ino == 0 { // then nothing says that what was opened is what was seen
		if before, err = f.Stat(); err != nil {
			return oid.ID{}, err
		}
	}
	id, after, err := idBetween(alg, f, before)
	if err == nil && id.IsZero() && same(st, after) { // touched before it was opened, or only seen late
		if err = f.Rewind(); err == nil {
			id, _, err = idBetween(alg, f, after)
		}
	}
	return id, err
}

var readBufs = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// idBetween reads an open file and looks at it again. The id is zero if it is not a
// file as it was before, with as many bytes.
func idBetween(alg oid.Algorithm, f *dirfd.File, before dirfd.Stat) (id oid.ID, after dirfd.Stat, err error) {
	if before.Mode.Type() != tree.File {
		return id, after, nil
	}
	buf := readBufs.Get().(*[64 << 10]byte)
	defer readBufs.Put(buf)
	h := alg.NewHasher(oid.Blob, before.Size)
	left := before.Size
	for left > 0 {
		n, err := f.Read(buf[:min(left, int64(len(buf)))])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return id, after, err
		}
		h.Write(buf[:n])
		left -= int64(n)
	}
	if before.Size == 0 { // some file systems of programs say so of any file
		n, _ := f.Read(buf[:1])
		left -= int64(n)
	}
	if after, err = f.Stat(); err != nil {
		return id, after, err
	}
	if left == 0 && before.Same(&after) && before.Dev == after.Dev {
		id = h.Sum()
	}
	return id, after, nil
}

// moved reports whether a file is still the one that was seen, after a rename,
// which changes the time of inode change.
func moved(was, now dirfd.Stat) bool {
	if was.Mode.Type() == tree.Dir {
		return now.Mode.Type() == tree.Dir && was.Ino == now.Ino && was.Dev == now.Dev
	}
	now.Ctime = was.Ctime
	return was.Same(&now) && was.Dev == now.Dev
}

// fatal reports whether an error ends the run: going on would fail everywhere
// or make things worse. What cannot be written because it is mounted read-only
// is no such thing: a part of the tree may be. Nor is what the root's own file
// system has not to do with.
func fatal(err error) bool {
	for _, e := range []error{context.Canceled, context.DeadlineExceeded, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, errStopped} {
		if errors.Is(err, e) {
			return true
		}
	}
	return ofDevice(err) && !errors.As(err, new(elsewhereError))
}

// ofDevice reports whether an error is one of a whole file system.
func ofDevice(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EIO)
}

// An elsewhereError is a failure of a file system that is mounted below the
// root: it concerns what lies there, and nothing else.
type elsewhereError struct{ error }

func (e elsewhereError) Unwrap() error { return e.error }

// local marks the failure of a file system that is not the root's.
func (p *place) local(err error) error {
	if ofDevice(err) && p.self.Dev != p.a.device {
		return elsewhereError{err}
	}
	return err
}

// errStopped is what a test's hook returns to play a crash.
var errStopped = errors.New("stopped")

// exists is [io/fs.ErrExist] without the "not empty" of directories.
func exists(err error) bool {
	return errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY)
}
