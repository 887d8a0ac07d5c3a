package bench

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A picture is what a directory holds, but for the .git at its top: for each path
// the type, the permissions, and the bytes or where a link leads.
type picture map[string]string

// A memory has the digests of a directory's files, by their names. A file is not
// read again while it is the one that was read: the kernel gives another time of
// change to whatever is written, and nobody can set that time.
type memory map[string]remembered

// remembered is a file as it was when it was read.
type remembered struct {
	is  identity
	sum string
}

// identity is by what a file is known to be one that was read, and unchanged.
type identity struct {
	inode         uint64
	size, changed int64 // bytes, and the time of the last change in nanoseconds
}

// leftAlone is for how long a file must have been left alone to be remembered: what
// is written within one tick of the kernel's clock has the same time.
const leftAlone = 2 * time.Second

// A looked is a regular file of which a picture needs the bytes.
type looked struct {
	name string
	fi   fs.FileInfo
	sum  string
}

// takePicture looks at everything. It reads those files that the memory, which may
// be nil, has not as they are, and remembers them.
func takePicture(root string, m memory) (picture, error) {
	p, begun := picture{}, time.Now()
	var files []*looked
	reading := workers(func(f *looked) (err error) {
		f.sum, err = digest(filepath.Join(root, f.name), f.fi.Size())
		return err
	})
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || rel == "." {
			return err
		}
		if rel == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		p[rel] = fi.Mode().String()
		switch {
		case fi.Mode().IsRegular():
			if sum, ok := m.knows(rel, fi); ok {
				p[rel] += " " + sum
				return nil
			}
			f := &looked{name: rel, fi: fi}
			files = append(files, f)
			reading.give(f)
		case fi.Mode().Type() == fs.ModeSymlink:
			link, err := os.Readlink(path)
			p[rel] += " to " + link
			return err
		}
		return nil
	})
	if err = firstError(reading.wait(), err); err != nil {
		return nil, err
	}
	for _, f := range files {
		p[f.name] += " " + f.sum
		m.keep(f, begun)
	}
	return p, nil
}

// knows gives the digest of a file that is what it was when it was read.
func (m memory) knows(name string, fi fs.FileInfo) (sum string, ok bool) {
	was, there := m[name]
	is, known := identify(fi)
	return was.sum, there && known && is == was.is
}

// keep remembers a file, if nothing can have been written to it since it was looked
// at that would not show.
func (m memory) keep(f *looked, begun time.Time) {
	if m == nil {
		return
	}
	delete(m, f.name)
	if is, known := identify(f.fi); known && begun.UnixNano()-is.changed > int64(leftAlone) {
		m[f.name] = remembered{is, f.sum}
	}
}

// atOnceMost is up to how many bytes a file is read at once: that needs the fewest
// calls, and most files are small.
const atOnceMost = 1 << 20

// digest gives that of a file of about so many bytes.
func digest(path string, size int64) (string, error) {
	if size <= atOnceMost {
		data, err := os.ReadFile(path)
		sum := sha256.Sum256(data)
		return string(sum[:]), err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return string(h.Sum(nil)), err
}

// differs says what of a worktree is not as in the picture: nil if nothing is. The
// memory, which may be nil, is the worktree's.
func (p picture) differs(root string, m memory) error {
	now, err := takePicture(root, m)
	if err != nil {
		return err
	}
	var missing, more, other []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if is, there := now[name]; !there {
			missing = append(missing, name)
		} else if is != p[name] {
			other = append(other, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, there := p[name]; !there {
			more = append(more, name)
		}
	}
	text := ""
	for _, part := range []struct {
		what  string
		names []string
	}{{"missing", missing}, {"too many", more}, {"other than they were", other}} {
		if len(part.names) > 0 {
			text = cmp.Or(text+map[bool]string{true: ", ", false: ""}[text != ""], "") + fmt.Sprintf("%d paths %s (%s)", len(part.names), part.what, part.names[0])
		}
	}
	if text == "" {
		return nil
	}
	return inexact{text}
}

// comesBack checks that what a snapshot of the present worktree holds comes back,
// all of it, after some of it was changed.
func (l *lane) comesBack(ctx context.Context, id string) error {
	want, err := takePicture(l.tree, l.read)
	if err != nil {
		return err
	}
	if err := l.damage(l.pick(20)); err != nil {
		return err
	}
	if want.differs(l.tree, l.read) == nil {
		return fmt.Errorf("nothing was changed, so nothing is proved")
	}
	if err := l.system.restore(ctx, l, id); err != nil {
		return err
	}
	return want.differs(l.tree, l.read)
}
