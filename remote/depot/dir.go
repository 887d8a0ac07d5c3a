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
	"strings"
	"syscall"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// A dir is a directory: a mounted share, or a disk that is taken along.
type dir struct {
	root string
	link func(from, to string) error // nil: as the system does it
	pace *pace
}

// temporary is in the names of files that are being written, as restic has it: nobody takes one for a file.
const temporary = "-tmp-"

func (d *dir) at(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

func (d *dir) Put(ctx context.Context, name string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	to := d.at(name)
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s %w", name, ErrExists)
	}
	var unique [8]byte
	_, _ = rand.Read(unique[:])
	from := to + temporary + hex.EncodeToString(unique[:])
	f, err := os.OpenFile(from, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(to), 0o700); err == nil {
			f, err = os.OpenFile(from, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		}
	}
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
		err = d.install(from, to, name)
	}
	// Of a link it is the other name. Where somebody reads the file by its name, it cannot go at once on Windows.
	_ = durable.Patiently(func() error { return os.Remove(from) })
	return err
}

// install gives a file its name, durably, if nothing has it.
func (d *dir) install(from, to, name string) error {
	link := d.link
	if link == nil {
		link = os.Link
	}
	err := link(from, to)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s %w", name, ErrExists)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil:
		if err = claim(from, to, name); err != nil {
			return err
		}
	}
	if runtime.GOOS == "windows" { // it flushes no directory, and journals names by itself
		return nil
	}
	f, err := os.Open(filepath.Dir(to))
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
func claim(from, to, name string) error {
	mine := to + temporary + "claim"
	f, err := os.OpenFile(mine, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is being written by another process; if none does, it was killed: remove %s", name, mine)
	}
	if err != nil {
		return err
	}
	defer os.Remove(mine)
	defer f.Close()
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fmt.Errorf("%s %w", name, ErrExists)
		}
		return err
	}
	return os.Rename(from, to)
}

func (d *dir) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := regular.Open(d.at(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is %w", name, ErrNotThere)
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
	err := durable.Patiently(func() error { return os.Remove(d.at(name)) }) // somebody may read it
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
