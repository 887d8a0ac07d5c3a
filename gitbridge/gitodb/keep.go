package gitodb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// A collection drops from the packs that it finds what no ref names. So a pack is
// kept until the ref names what is in it: a file beside it, with the extension
// .keep, lets git leave the pack alone (git-index-pack(1), --keep, which git's own
// fetch uses for the same end). Who keeps a pack has that file locked: the lock
// ends with the process, so that others know a dead one's and remove it.

// keepText tells our files from those that a user made.
const keepText = "rewind: until the ref names it\n"

// keepMax is after how long a pack is kept no more where files cannot be locked.
const keepMax = time.Hour

// keep makes git leave a pack alone, which has no name yet. A pack that a user
// keeps stays as it is.
func (d *DB) keep(name string) error {
	path := name + ".keep"
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_ = durable.TryLockFile(f, durable.Exclusive) // else its age says when it ends
	if _, err = f.WriteString(keepText); err != nil {
		return errors.Join(err, f.Close(), os.Remove(path))
	}
	d.keeps.Lock()
	defer d.keeps.Unlock()
	if d.keeps.files == nil {
		d.keeps.files = map[string]*os.File{}
	}
	d.keeps.files[name] = f
	return nil
}

// Release ends that this database keeps a pack, which WritePack named.
func (d *DB) Release(name string) {
	d.keeps.Lock()
	defer d.keeps.Unlock()
	if f := d.keeps.files[name]; f != nil {
		err := os.Remove(name + ".keep")
		_ = f.Close()
		if err != nil { // Windows does not remove what is open
			_ = os.Remove(name + ".keep")
		}
		delete(d.keeps.files, name)
	}
}

// ReleaseDead releases the packs that processes kept which have died.
func (d *DB) ReleaseDead() {
	dir := filepath.Join(d.dir, "pack")
	list, _ := os.ReadDir(dir)
	for _, entry := range list {
		if path := filepath.Join(dir, entry.Name()); strings.HasSuffix(path, ".keep") && isDead(path) {
			_ = os.Remove(path)
		}
	}
}

// Kept reports whether the pack of this base name is kept by a process of ours.
func (d *DB) Kept(base string) bool {
	return isKeep(filepath.Join(d.dir, "pack", base+".keep"))
}

// isDead reports whether a file keeps a pack for one of ours whose process has died.
func isDead(path string) bool {
	if !isKeep(path) {
		return false
	}
	f, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	switch err := durable.TryLockFile(f, durable.Exclusive); {
	case err == nil:
		return true
	case errors.Is(err, durable.ErrLocked):
		return false
	}
	st, err := f.Stat()
	return err == nil && time.Since(st.ModTime()).Abs() > keepMax
}

func isKeep(path string) bool {
	f, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	p := make([]byte, len(keepText)+1)
	n, _ := f.Read(p)
	return string(p[:n]) == keepText
}
