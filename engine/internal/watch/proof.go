//go:build windows || darwin

package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/watch/internal/told"
)

// A tree is told by the system of whatever is done in a directory and below it: [Watcher.Add]
// asks for nothing more, and says so of what was told already.
type tree struct {
	told.Tree
	proven bool
}

// Late says that the system tells of a write only when the file is closed: Windows when
// "the cache is sufficiently flushed", as in
// https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-readdirectorychangesw,
// and macOS in vn_close of https://github.com/apple-oss-distributions/xnu, bsd/vfs/vfs_vnops.c.
const Late = true

// proof is that the system tells of changes, before anything relies on it.
var proof = prove

// proofTimes is how often a write is to be found at once.
const proofTimes = 8

// Add watches one directory, not what lies below. The next [Watcher.Take] has all names in
// it. A directory that is not there is no error: what it lies in changed. The first time
// the system has to prove that it tells in time.
func (t *tree) Add(dir string) (err error) {
	if !t.proven {
		if err = proof(); err != nil {
			return unable("this system does not tell of changes as it should, so that rewind looks at all files each time", err)
		}
		t.proven = true
	}
	t.Tree.Add(dir)
	return nil
}

// prove does what is done to files, in a directory of its own among the temporary ones,
// and finds each step told as soon as it is asked for.
func prove() error {
	dir, err := os.MkdirTemp("", "rewind-watch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		return err
	}
	w, err := New(dir)
	if err != nil {
		return err
	}
	defer w.Close()
	p := steps{dir: dir, w: w}
	for _, name := range []string{"", "a", "a/b"} {
		_, _ = os.ReadDir(p.at(name)) // as the scan before has: Wine watches below for those that do
		w.Tree.Add(name)
	}
	for i := range proofTimes {
		p.step("a/b", "a file was written", func() error { return p.write(fmt.Sprint("a/b/f", i%2)) })
	}
	p.held()
	p.step("a", "a directory was renamed", func() error { return os.Rename(p.at("a/b"), p.at("a/c")) })
	w.Tree.Add("a/c")
	p.step("a/c", "a file was written below a directory that was renamed", func() error { return p.write("a/c/f0") })
	p.step("a/c", "a file was deleted", func() error { return os.Remove(p.at("a/c/f0")) })
	return p.err
}

// steps are done in a directory that is watched.
type steps struct {
	dir string
	w   *Watcher
	err error // of the first step that failed
}

func (p *steps) at(path string) string { return filepath.Join(p.dir, filepath.FromSlash(path)) }

func (p *steps) write(path string) error {
	return os.WriteFile(p.at(path), []byte(time.Now().String()), 0o600)
}

// step does something, and must find it told of a directory.
func (p *steps) step(dir, what string, do func() error) {
	if told := p.told(dir, do); !told && p.err == nil {
		p.err = fmt.Errorf("it was not told that %s", what)
	}
}

// told does something, and reports whether it is told of a directory that was not told of
// before.
func (p *steps) told(dir string, do func() error) bool {
	if _, err := p.w.Take(context.Background()); p.keep(err) != nil || p.keep(do()) != nil {
		return false
	}
	changes, err := p.w.Take(context.Background())
	return p.keep(err) == nil && changes.Has(dir, "")
}

func (p *steps) keep(err error) error {
	if p.err == nil {
		p.err = err
	}
	return err
}

// held writes to a file that stays open, which need be told no sooner than it is closed.
func (p *steps) held() {
	f, err := os.OpenFile(p.at("a/b/f0"), os.O_WRONLY|os.O_APPEND, 0)
	if p.keep(err) != nil {
		return
	}
	p.step("a/b", "a file was written and closed", func() error {
		_, err := f.WriteString("more")
		return errors.Join(err, f.Close())
	})
}
