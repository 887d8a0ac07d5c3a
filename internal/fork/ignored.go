package fork

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"path"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Made says what [Make] did.
type Made struct {
	*engine.Restored
	Taken Taken // of what no snapshot has
}

// Look finds what may be taken along into a fork of a snapshot, in a directory that
// [Place] has returned: what lies in the worktree and would not be recorded now, and what
// is recorded although it is ignored. What the snapshot has itself is not among it. Where
// the file system cannot share contents it is [ErrUnshared] beside what was found, unless
// they may be copied.
func Look(ctx context.Context, e *engine.Engine, s *engine.Snapshot, dir string, how How) (*Ignored, error) {
	r, err := registryOf(ctx, e)
	if err != nil {
		return nil, err
	}
	k, err := knownTo(ctx, e, nil)
	if err != nil {
		return nil, err
	}
	its, err := knownTo(ctx, e, s)
	if err != nil {
		return nil, err
	}
	maps.Copy(k.files, its.files)
	lacks := func(at string) bool { return k.dirs[at] && !its.dirs[at] && !its.files[at] }
	out, err := findIgnored(ctx, e.Root(), k, lacks, filepath.Dir(string(r)))
	if err != nil {
		return nil, err
	}
	out.how = how
	there, _, err := realAbove(dir)
	if err == nil && !how.Copy && !out.sharesWith(there) {
		err = ErrUnshared
	}
	return out, err
}

// A known is what a snapshot of the present would have, but for what is ignored, and the
// files of the snapshot that is forked.
type known struct{ files, dirs map[string]bool }

// knownTo is what a snapshot has; nil: the present, but for what is ignored there.
func knownTo(ctx context.Context, e *engine.Engine, s *engine.Snapshot) (known, error) {
	k := known{map[string]bool{}, map[string]bool{}}
	d, err := e.Diff(ctx, nil, s, nil)
	if err != nil {
		return k, err
	}
	for _, c := range d.Changes {
		k.add(string(c.Path), c.To.Dir(), s == nil && d.Ignored[c.Path])
	}
	return k, nil
}

func (k known) add(at string, dir, ignored bool) {
	if !dir {
		k.files[at] = !ignored
		at = path.Dir(at)
	}
	for ; at != "." && !k.dirs[at]; at = path.Dir(at) {
		k.dirs[at] = true
	}
}

// has reports whether a directory has the same file or link as another one has: what
// goes with the one is not lost. Begun: that one may have only the beginning of it.
func has(ctx context.Context, root, other, at string, begun bool) (bool, error) {
	mine, ok := dirfd.Lstat(root, at)
	its, there := dirfd.Lstat(other, at)
	if !ok || !there || mine.Mode.Type() != its.Mode.Type() {
		return false, nil
	}
	if mine.Mode.Type() == tree.Symlink {
		x, _, err := dirfd.ReadBelow(root, at, true, 0)
		y, _, failed := dirfd.ReadBelow(other, at, true, 0)
		return bytes.Equal(x, y), errors.Join(err, failed)
	}
	if mine.Size < its.Size || mine.Size > its.Size && !begun {
		return false, nil
	}
	f, err := dirfd.OpenFileBelow(root, at)
	if err != nil {
		return false, err
	}
	defer f.Close()
	g, err := dirfd.OpenFileBelow(other, at)
	if err != nil {
		return false, err
	}
	defer g.Close()
	return sameBytes(ctx, f, g, its.Size)
}

// sameBytes compares the first bytes of two files. One that ends sooner than it did is
// not the same.
func sameBytes(ctx context.Context, f, g io.Reader, size int64) (bool, error) {
	a, b := make([]byte, min(size, 1<<18)), make([]byte, min(size, 1<<18))
	for ; size > 0 && ctx.Err() == nil; size -= int64(len(a)) {
		a, b = a[:min(size, int64(len(a)))], b[:min(size, int64(len(b)))]
		_, err := io.ReadFull(f, a)
		_, failed := io.ReadFull(g, b)
		if err = errors.Join(err, failed); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil
		}
		if err != nil || !bytes.Equal(a, b) {
			return false, err
		}
	}
	return size <= 0, ctx.Err()
}
