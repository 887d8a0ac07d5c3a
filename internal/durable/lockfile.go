package durable

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// keptMax is how many open files a LockFile keeps at most.
const keptMax = 8

// A LockFile is a lock that is taken again and again. Between holders its file stays
// open, without a lock on it: to open one of our files takes a dozen system calls, and
// to lock one that is open takes one. Before a file is used again the path must still
// lead to it, and it and its directory be whose they were and as closed to others.
//
// Any number of goroutines may use one. The zero value with a Path is ready.
type LockFile struct {
	Path string

	mu    sync.Mutex
	files []keptFile
}

// A keptFile is open for reading and writing. It knows what was found of it and of its
// directory when they were last checked.
type keptFile struct {
	file      *os.File
	info, dir fs.FileInfo
}

// Lock is [Lock] for the file.
func (l *LockFile) Lock(ctx context.Context, mode Mode) (*Held, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	held, err := l.TryLock(mode)
	if !errors.Is(err, ErrLocked) {
		return held, err
	}
	return Lock(ctx, l.Path, mode)
}

// TryLock is [TryLock] for the file.
func (l *LockFile) TryLock(mode Mode) (*Held, error) {
	for k, ok := l.take(); ok; k, ok = l.take() {
		err := lock(k.file, mode, false)
		stands := k.stands(l.Path) // looked at under the lock: nobody makes another one then
		if stands && err == nil {
			return &Held{file: k.file, writable: true, home: l, kept: k}, nil
		}
		if stands && errors.Is(err, ErrLocked) {
			l.keep(k)
			return nil, err
		}
		_ = k.file.Close()
	}
	held, err := TryLock(l.Path, mode)
	if err == nil {
		held.home = l
	}
	return held, err
}

// Close closes the files that are kept. The lock may be used afterwards, and must
// then be closed again.
func (l *LockFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, k := range l.files {
		errs = append(errs, k.file.Close())
	}
	l.files = nil
	return errors.Join(errs...)
}

func (l *LockFile) take() (k keptFile, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.files) - 1
	if last < 0 {
		return k, false
	}
	k, l.files = l.files[last], l.files[:last]
	return k, true
}

// keep keeps a file on which there is no lock, or closes it.
func (l *LockFile) keep(k keptFile) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.files) == keptMax {
		_ = k.file.Close()
		return
	}
	l.files = append(l.files, k)
}

// takeBack takes the lock off a file and keeps it. It reports false if the file is to
// be closed: a file that is open could not be removed on Windows.
func (l *LockFile) takeBack(h *Held) bool {
	if runtime.GOOS == "windows" {
		return false
	}
	if h.kept.file == nil && !h.learn(l.Path) {
		return false
	}
	if Unlock(h.file) != nil {
		return false
	}
	l.keep(h.kept)
	return true
}

// learn checks and notes whose a file and its directory are. Only a file that can be
// written is of use to every holder.
func (h *Held) learn(path string) bool {
	info, err := h.file.Stat()
	if err != nil || !h.writable || owned(path, info, around(path)) != nil {
		return false
	}
	dir, err := ownDir(filepath.Dir(path))
	h.kept = keptFile{h.file, info, dir}
	return err == nil
}

// stands reports whether a path still leads to the file, and whether the file and its
// directory are as they were when they were checked.
func (k keptFile) stands(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !unchanged(k.info, info) {
		return false
	}
	dir, err := os.Lstat(filepath.Dir(path))
	return err == nil && unchanged(k.dir, dir)
}
