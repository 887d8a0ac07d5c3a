package gitodb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Repack moves objects into one new pack: those of the given ids that have a
// file of their own, and all objects of the packs named, by their base names.
// When the new pack is durable the old copies are removed, as git's prune-packed
// and repack do; what a pack of git's own needs is never touched. It returns the
// new pack's path and the number of its objects. After an error nothing is
// removed; copies that cannot be removed stay.
func (d *DB) Repack(ctx context.Context, loose []oid.ID, packs []string) (name string, objects int, err error) {
	var ids []oid.ID
	for _, id := range distinct(loose) {
		if d.fits(id) && isLoose(loosePath(d.dir, id)) {
			ids = append(ids, id)
		}
	}
	moved := len(ids)
	for _, base := range packs {
		if !d.HasPack(base) {
			continue
		}
		p := &pack{path: filepath.Join(d.dir, "pack", base), alg: d.alg}
		list, err := p.ids()
		if err = errors.Join(err, p.close()); err != nil {
			return "", 0, fmt.Errorf("repack %s: %w", base, err)
		}
		ids = append(ids, list...)
	}
	ids, loose = distinct(ids), ids[:moved]
	name, err = d.writePack(ctx, ids, d.Stream, false)
	if errors.Is(err, ErrCorrupt) && len(packs) == 0 { // a broken file stays where it is
		ids = slices.DeleteFunc(ids, func(id oid.ID) bool { _, _, err := d.Read(id); return err != nil })
		loose = ids
		name, err = d.writePack(ctx, ids, d.Stream, false)
	}
	if err != nil || name == "" {
		return "", 0, err
	}
	for _, id := range loose {
		_ = os.Remove(loosePath(d.dir, id))
	}
	for _, base := range packs {
		if old := filepath.Join(d.dir, "pack", base); old != name {
			for _, ext := range []string{".idx", ".rev", ".pack"} { // git takes a pack for gone with its index
				_ = os.Remove(old + ext)
			}
		}
	}
	d.Refresh()
	return name, len(ids), nil
}

// SoundLoose reports whether an object's own file, if there is one, holds it.
func (d *DB) SoundLoose(id oid.ID) bool {
	path := loosePath(d.dir, id)
	if st, err := os.Lstat(path); !d.fits(id) || err != nil || !st.Mode().IsRegular() {
		return true
	}
	kind, payload, err := d.readLoose(path)
	return err == nil && d.alg.Sum(kind, payload) == id || errors.Is(err, ErrTooLarge)
}

// RemoveLoose removes an object's own file, which is damaged.
func (d *DB) RemoveLoose(id oid.ID) error {
	err := os.Remove(loosePath(d.dir, id))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// HasPack reports whether there is a pack of this base name that may be
// replaced: not one that is marked to be kept, nor one of unreachable objects.
func (d *DB) HasPack(base string) bool {
	path, ok := d.packPath(base)
	if !ok {
		return false
	}
	for _, ext := range []string{".keep", ".mtimes", ".promisor"} {
		if _, err := os.Lstat(path + ext); err == nil {
			return false
		}
	}
	_, err := os.Lstat(path + ".idx")
	return err == nil
}

// packPath returns the path of a pack without its extension; not ok if that is no name of
// one.
func (d *DB) packPath(base string) (path string, ok bool) {
	return filepath.Join(d.dir, "pack", base), strings.HasPrefix(base, "pack-") && !strings.ContainsAny(base, "/\\.")
}

// PackSize returns the bytes of the files of the pack of this base name.
func (d *DB) PackSize(base string) (bytes int64) {
	if path, ok := d.packPath(base); ok {
		bytes = fileSize(path+".pack") + fileSize(path+".idx") + fileSize(path+".rev")
	}
	return bytes
}

// ids returns the ids of all objects of a pack, from its index.
func (p *pack) ids() (list []oid.ID, err error) {
	x := p.lookUp()
	if x == nil {
		if bad := p.bad.Load(); bad != nil {
			return nil, *bad
		}
		return nil, os.ErrNotExist
	}
	err = guard(func() error {
		for i := range x.count {
			at := x.ids + i*x.stride
			id, err := oid.FromBytes(x.data[at : at+x.hash])
			if err != nil {
				return err
			}
			list = append(list, id)
		}
		return nil
	})
	return list, err
}
