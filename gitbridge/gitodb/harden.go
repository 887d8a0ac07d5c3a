package gitodb

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// Harden makes durable what others left to the file system: git's default does
// not sync loose objects, and a user may tell it not to sync packs. What this
// costs depends on what is still to be written. Alternates are other
// repositories, and left alone.
func (d *DB) Harden(ctx context.Context) error {
	dir := filepath.Join(d.dir, "pack")
	paths, err := packPaths(dir)
	if err != nil {
		return err
	}
	for _, p := range paths {
		for _, ext := range []string{".pack", ".idx"} {
			if err := errors.Join(ctx.Err(), syncFile(p.name+ext)); err != nil {
				return err
			}
		}
	}
	if err := durable.SyncDir(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	loose, err := d.looseDirs()
	if err != nil || len(loose) == 0 {
		return err
	}
	// There may be ten thousands of them: one sync of the file system is less.
	if err := durable.SyncFS(d.dir); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	for _, dir := range loose {
		files, err := os.ReadDir(dir)
		for _, f := range files {
			err = errors.Join(err, ctx.Err(), syncFile(filepath.Join(dir, f.Name())))
		}
		if err = errors.Join(err, durable.SyncDir(dir)); err != nil {
			return err
		}
	}
	return durable.SyncDir(d.dir)
}

// looseDirs lists the directories that hold objects in files of their own.
func (d *DB) looseDirs() (dirs []string, err error) {
	list, err := os.ReadDir(d.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range list {
		if b, err := hex.DecodeString(entry.Name()); err == nil && len(b) == 1 {
			dirs = append(dirs, filepath.Join(d.dir, entry.Name()))
		}
	}
	return dirs, err
}

// SyncLoose makes an object's own file durable, if it has one.
func (d *DB) SyncLoose(id oid.ID) error { return syncFile(loosePath(d.dir, id)) }

// syncFile makes a file durable that somebody else wrote; one that was removed
// meanwhile needs nothing.
func syncFile(path string) error {
	if err := regular.Sync(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
