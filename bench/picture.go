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
	"runtime"
	"slices"
	"sync"
)

// A picture is what a directory holds, but for the .git at its top: for each path
// the type, the permissions, and the bytes or where a link leads.
type picture map[string]string

// takePicture looks at everything.
func takePicture(root string) (picture, error) {
	p := picture{}
	var files []string
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
			files = append(files, rel)
		case fi.Mode().Type() == fs.ModeSymlink:
			link, err := os.Readlink(path)
			p[rel] += " to " + link
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, p.read(root, files)
}

// read adds the digests of files.
func (p picture) read(root string, files []string) error {
	workers := runtime.NumCPU()
	sums, errs := make([]string, len(files)), make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < len(files) && errs[w] == nil; i += workers {
				sums[i], errs[w] = digest(filepath.Join(root, files[i]))
			}
		})
	}
	all.Wait()
	for i, name := range files {
		p[name] += " " + sums[i]
	}
	return firstError(errs...)
}

func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return string(h.Sum(nil)), err
}

// differs says what of a worktree is not as in the picture: nil if nothing is.
func (p picture) differs(root string) error {
	now, err := takePicture(root)
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
	want, err := takePicture(l.tree)
	if err != nil {
		return err
	}
	if err := l.damage(l.pick(20)); err != nil {
		return err
	}
	if want.differs(l.tree) == nil {
		return fmt.Errorf("nothing was changed, so nothing is proved")
	}
	if err := l.system.restore(ctx, l, id); err != nil {
		return err
	}
	return want.differs(l.tree)
}
