package depot

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// A dir is a directory: a mounted share, or a disk that is taken along, at any moment. What then stands under its name
// is another directory, where nothing is written, and of which nothing is believed.
type dir struct {
	root string
	link func(from, to string) error // nil: as the system does it
	pace *pace

	mu     sync.Mutex
	known  fs.FileInfo // what it was; nil: it was not opened yet
	config []byte      // of the repository that it has; nil: it had none
	wrote  []string    // the last files that were put there, and are not deleted
	group  bool        // who is in its group may read it, as restic has it
}

const (
	configFile = "config" // of a repository, which tells it from others
	configMost = 64 << 10 // bytes of it
)

// temporary is in the names of files that are being written, as restic has it: nobody takes one for a file.
const temporary = "-tmp-"

func (d *dir) at(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

// open opens the directory, and makes it if there never was one; its parent has to be there.
func (d *dir) open(make bool) (*os.Root, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	root, err := os.OpenRoot(d.root)
	if errors.Is(err, fs.ErrNotExist) && make && d.known == nil {
		if err = os.Mkdir(d.root, 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			root, err = os.OpenRoot(d.root)
		}
	}
	if err == nil {
		if err = d.same(root); err != nil {
			_ = root.Close()
		}
	} else if d.known != nil && errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s has gone: its disk or share was taken away", d.root) // that its files are not there means nothing
	}
	return root, err
}

// same checks that a directory is the one that it was. A share or a stick may give it another number after a while, but
// not another repository; and of a copy on another disk it is told by what was put there last.
func (d *dir) same(root *os.Root) error {
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	here, config := d.known == nil || os.SameFile(d.known, info), d.config
	if d.known == nil || !here || config == nil {
		config, _ = regular.Read(d.at(configFile), configMost)
	}
	if !here {
		here = config != nil && bytes.Equal(config, d.config)
		for _, name := range d.wrote {
			_, err := root.Lstat(filepath.FromSlash(name))
			here = here && err == nil
		}
	}
	if !here {
		return fmt.Errorf("%s is another directory than before: its disk or share was taken away, or is back", d.root)
	}
	if d.known == nil {
		about, err := root.Stat(configFile)
		d.group = err == nil && about.Mode()&0o040 != 0
	}
	d.known, d.config = info, config
	return nil
}

// wroteMost is how many of the last files tell a directory from its copy. Each push writes a lock first.
const wroteMost = 4

// within checks the folder of a file. One that is a link leads to a disk that may not be there while this one is: what a
// list lacks then would be taken for gone.
func (d *dir) within(root *os.Root, name string) error {
	top, _, _ := strings.Cut(name, "/")
	if about, err := root.Lstat(top); err == nil && about.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a link, and the disk behind it may not be there: mount that disk at %s, or have the whole repository on it", d.at(top), d.at(top))
	}
	return nil
}

// located says where a file is that an error names by its name in the directory.
func (d *dir) located(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	if errors.As(err, &p) && !filepath.IsAbs(p.Path) || errors.As(err, &l) && !filepath.IsAbs(l.New) {
		return fmt.Errorf("%s: %w", d.root, err)
	}
	return err
}

// still reports an error if the directory is not the one that it was, or the folder of a name is not in it.
func (d *dir) still(name string) error {
	root, err := d.open(false)
	if err == nil {
		err = errors.Join(d.within(root, name), root.Close())
	}
	return err
}

func (d *dir) Put(ctx context.Context, name string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root, err := d.open(true)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := d.within(root, name); err != nil {
		return err
	}
	to := filepath.FromSlash(name)
	if _, err := root.Lstat(to); err == nil {
		return fmt.Errorf("%s %w", name, ErrExists)
	}
	if err := d.write(ctx, root, to, data); err != nil {
		return d.located(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wrote = append(d.wrote, name); len(d.wrote) > wroteMost {
		d.wrote = d.wrote[1:]
	}
	return nil
}

// write writes a file below an open directory.
func (d *dir) write(ctx context.Context, root *os.Root, to string, data []byte) error {
	var unique [8]byte
	_, _ = rand.Read(unique[:])
	from := to + temporary + hex.EncodeToString(unique[:])
	f, err := d.create(root, from)
	if err != nil {
		return err
	}
	for rest := data; len(rest) > 0 && err == nil; {
		n := d.pace.piece(len(rest))
		if err = d.pace.wait(ctx, n); err == nil {
			_, err = f.Write(rest[:n])
		}
		rest = rest[n:]
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.install(root, from, to)
	}
	// Of a link it is the other name. Where somebody reads the file by its name, it cannot go at once on Windows.
	_ = durable.Patiently(func() error { return root.Remove(from) })
	return err
}

// create makes a file, and the folders above it. They are for the group where the repository is.
func (d *dir) create(root *os.Root, name string) (*os.File, error) {
	const how = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := root.OpenFile(name, how, 0o600)
	if folder := filepath.Dir(name); errors.Is(err, fs.ErrNotExist) {
		if err = root.MkdirAll(folder, 0o700); err == nil {
			f, err = root.OpenFile(name, how, 0o600)
		}
		for ; err == nil && d.group && folder != "."; folder = filepath.Dir(folder) {
			if info, err := root.Stat(folder); err == nil {
				_ = root.Chmod(folder, info.Mode()|0o070) // that of somebody else is as they want it
			}
		}
	}
	if err == nil && d.group {
		_ = f.Chmod(0o660)
	}
	return f, err
}

// install gives a file its name, durably, if nothing has it.
func (d *dir) install(root *os.Root, from, to string) error {
	link := d.link
	if link == nil {
		link = root.Link
	}
	err := link(from, to)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s %w", filepath.ToSlash(to), ErrExists)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil:
		if err = claim(root, from, to); err != nil {
			return err
		}
	}
	if runtime.GOOS == "windows" { // it flushes no directory, and journals names by itself
		return nil
	}
	f, err := root.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// claim is for shares that know no links: of several who rename a file to a name that nothing has, one may.
func claim(root *os.Root, from, to string) error {
	mine, name := to+temporary+"claim", filepath.ToSlash(to)
	f, err := root.OpenFile(mine, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is being written by another process; if none does, it was killed: remove %s", name, filepath.Join(root.Name(), mine))
	}
	if err != nil {
		return err
	}
	defer root.Remove(mine)
	defer f.Close()
	if _, err := root.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fmt.Errorf("%s %w", name, ErrExists)
		}
		return err
	}
	return root.Rename(from, to)
}

func (d *dir) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err := d.still(name)
	var f *os.File
	if err == nil {
		f, err = regular.Open(d.at(name))
	}
	if errors.Is(err, fs.ErrNotExist) {
		if err = d.still(name); err == nil || errors.Is(err, fs.ErrNotExist) { // else it is the disk that is not there
			err = fmt.Errorf("%s is %w", name, ErrNotThere)
		}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if length == 0 {
		length = mostBytes
	}
	return readAll(io.NewSectionReader(f, offset, length), min(length, max(info.Size()-offset, 0)))
}

// readAll is [io.ReadAll] of about so many bytes: room is made for them once.
func readAll(r io.Reader, about int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(about) + bytes.MinRead)
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}

func (d *dir) List(ctx context.Context, folder string) (list []File, err error) {
	top := d.at(folder)
	if err = d.still(folder); err == nil {
		list, err = d.walk(ctx, top)
	}
	if err == nil {
		err = d.still(folder) // or some of it may have been elsewhere
	}
	if errors.Is(err, fs.ErrNotExist) { // of a directory that never was there
		err = nil
	}
	return list, err
}

// walk lists the files below a folder, which need not be there.
func (d *dir) walk(ctx context.Context, top string) (list []File, err error) {
	err = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || !e.Type().IsRegular() || strings.Contains(e.Name(), temporary) {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // it went meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(top, path)
		list = append(list, File{Name: filepath.ToSlash(name), Size: info.Size()})
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return list, err
}

func (d *dir) Delete(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root, err := d.open(false)
	if err == nil {
		defer root.Close()
		if err = d.within(root, name); err == nil {
			d.mu.Lock()
			d.wrote = slices.DeleteFunc(d.wrote, func(other string) bool { return other == name })
			d.mu.Unlock()
			err = durable.Patiently(func() error { return root.Remove(filepath.FromSlash(name)) }) // somebody may read it
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return d.located(err)
}
