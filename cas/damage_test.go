package cas

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// sample is a store with a bit of everything, and what is in it.
type sample struct {
	file    []byte
	objects map[oid.ID][]byte
	records map[string]string
}

func newSample(t testing.TB) sample {
	s := newStore(t)
	r := seeded(t)
	sm := sample{objects: map[oid.ID][]byte{}, records: map[string]string{}}
	var base oid.ID
	p := text(r, 3000)
	for i := range 60 {
		g := s.Stage()
		p = bytes.Clone(p)
		copy(p[r.IntN(len(p)-20):], "edit "+strconv.Itoa(i))
		for _, q := range [][]byte{p, noise(r, 300), text(r, 900)} {
			id, err := g.Put(t.Context(), oid.Blob, q, base)
			must(t, err)
			sm.objects[id] = bytes.Clone(q)
			if len(q) == len(p) {
				base = id
			}
		}
		err := g.Commit(t.Context(), func(u *Update) error {
			value := "record " + strconv.Itoa(i)
			_, err := u.Table("snapshots").Append([]byte(value))
			sm.records[value] = value
			return err
		})
		must(t, err)
	}
	big := noise(r, wholeMax+40000)
	sm.objects[put(t, s, big)[0]] = big
	var err error
	if sm.file, err = os.ReadFile(s.Path()); err != nil {
		t.Fatal(err)
	}
	return sm
}

// use does with a damaged store what a caller may: it must get true bytes or an
// error, from every call.
func (sm sample) use(path string) error {
	s, err := Open(context.Background(), path, nil)
	if err != nil {
		for _, known := range []error{ErrCorrupt, ErrNotStore, ErrNewerFormat, os.ErrNotExist} {
			if errors.Is(err, known) {
				return nil
			}
		}
		return fmt.Errorf("open: %w", err)
	}
	defer s.Close()
	ctx := context.Background()
	for id, want := range sm.objects {
		err := s.View(ctx, func(v *View) error {
			kind, got, err := v.Object(id)
			if err == nil && (kind != oid.Blob || !bytes.Equal(got, want)) {
				return fmt.Errorf("object %v: %v with other bytes", id, kind)
			}
			return err
		})
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	err = s.View(ctx, func(v *View) error {
		for _, value := range v.Table("snapshots").Backward() {
			if _, known := sm.records[string(value)]; !known {
				return fmt.Errorf("record %q was never written", value)
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return err
	}
	if err := s.Check(ctx); err != nil && !errors.Is(err, ErrCorrupt) {
		return fmt.Errorf("check: %w", err)
	}
	return sm.write(ctx, s)
}

// write adds to a damaged store; if it says that went well, it can be read.
func (sm sample) write(ctx context.Context, s *Store) error {
	g := s.Stage()
	fresh := []byte("written after the damage")
	id, err := g.Put(ctx, oid.Blob, fresh, oid.ID{})
	if err == nil {
		err = g.Commit(ctx, func(u *Update) error {
			_, err := u.Table("snapshots").Append([]byte("new"))
			return err
		})
	}
	if err == nil {
		err = s.View(ctx, func(v *View) error {
			_, got, err := v.Object(id)
			if err == nil && !bytes.Equal(got, fresh) {
				return errors.New("the new object has other bytes")
			}
			return err
		})
		if errors.Is(err, ErrNotFound) {
			return fmt.Errorf("committed to a damaged store, but lost: %w", err)
		}
	}
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return fmt.Errorf("write: %w", err)
	}
	if _, err := s.Sweep(ctx, SweepOptions{Live: func(func(oid.ID)) error { return nil }, Grace: -1}); err != nil && !errors.Is(err, ErrCorrupt) {
		return fmt.Errorf("sweep: %w", err)
	}
	if _, _, err := s.Compact(ctx); err != nil && !errors.Is(err, ErrCorrupt) {
		return fmt.Errorf("compact: %w", err)
	}
	return nil
}

func (sm sample) damaged(t *testing.T, name string, file []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	must(t, os.WriteFile(path, file, 0o600))
	if err := sm.use(path); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

func TestATruncatedStoreGivesNoWrongByte(t *testing.T) {
	sm := newSample(t)
	r := seeded(t)
	sizes := []int{0, 1, 16, 4095, 4096, 4097, 8191, 8192, 12288, 16384, len(sm.file) / 2, len(sm.file) - 4096}
	for range seed.Times(20) {
		sizes = append(sizes, r.IntN(len(sm.file)))
	}
	for _, n := range sizes {
		sm.damaged(t, fmt.Sprintf("cut to %d of %d", n, len(sm.file)), sm.file[:n])
	}
}

func TestAFlippedBitGivesNoWrongByte(t *testing.T) {
	sm := newSample(t)
	r := seeded(t)
	n := seed.Times(60)
	if s := os.Getenv("REWIND_FLIPS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	for i := range n {
		file := bytes.Clone(sm.file)
		at := r.IntN(len(file))
		for bytes.Count(file[at/4096*4096:][:4096], []byte{0}) == 4096 { // an unused page
			at = r.IntN(len(file))
		}
		if i%3 == 0 { // headers of pages and their elements matter most
			at = at/4096*4096 + r.IntN(200)
		}
		file[at] ^= 1 << r.IntN(8)
		sm.damaged(t, fmt.Sprintf("byte %d of page %d", at%4096, at/4096), file)
	}
}

func TestAnOverwrittenPageGivesNoWrongByte(t *testing.T) {
	sm := newSample(t)
	r := seeded(t)
	for page := range min(len(sm.file)/4096, seed.Times(60)) {
		file := bytes.Clone(sm.file)
		switch page % 3 {
		case 0:
			clear(file[page*4096:][:4096])
		case 1:
			copy(file[page*4096:][:4096], noise(r, 4096))
		case 2:
			copy(file[page*4096:][:4096], file[r.IntN(len(file)/4096)*4096:][:4096])
		}
		sm.damaged(t, fmt.Sprintf("page %d", page), file)
	}
}

func TestADeletedStoreIsMissing(t *testing.T) {
	s := newStore(t)
	os.Remove(s.Path())
	err := s.View(t.Context(), func(*View) error { return nil })
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("View gives %v", err)
	}
	if err := s.Stage().Commit(t.Context(), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Commit gives %v", err)
	}
}

func TestAnotherFileIsNotAStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	os.WriteFile(path, bytes.Repeat([]byte("not a store\n"), 3000), 0o600)
	if _, err := Open(t.Context(), path, &Options{Create: true}); !errors.Is(err, ErrNotStore) {
		t.Errorf("Open gives %v", err)
	}
	os.WriteFile(path, nil, 0o600)
	if _, err := Open(t.Context(), path, &Options{Create: true}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("Open of an empty file gives %v", err)
	}
}

func TestAReplacedStoreIsNoticed(t *testing.T) {
	a, b := newStore(t), newStore(t)
	must(t, os.Rename(b.Path(), a.Path()))
	if err := a.View(t.Context(), func(*View) error { return nil }); !errors.Is(err, ErrNotStore) {
		t.Errorf("View gives %v", err)
	}
}

func TestACallersPanicIsNotTakenForDamage(t *testing.T) {
	s := newStore(t)
	func() {
		defer func() {
			if p := recover(); p != "mine" {
				t.Errorf("recovered %v", p)
			}
		}()
		s.Update(t.Context(), func(*Update) error { panic("mine") })
	}()
	put(t, s, []byte("the lock was released"))
}

// bbolt would write where the list of free pages says, and has no checksum of it.
func TestAListOfFreePagesThatIsNotInOrderIsNotWrittenBy(t *testing.T) {
	for _, at := range []int{0, 1} { // the first page of all, and one that is listed twice
		s := newStore(t)
		for i := range 10 {
			record(t, s, fmt.Sprint(i))
		}
		file, err := os.ReadFile(s.Path())
		must(t, err)
		must(t, s.Close())
		h := header(file[newest(t, file)*pageSize+pageHeaderBytes:][:headerBytes])
		ids := file[binary.NativeEndian.Uint64(h[headerFreeAt:])*pageSize+pageHeaderBytes:]
		if binary.NativeEndian.Uint64(ids[8:]) == 0 {
			t.Fatal("fewer than two pages are free")
		}
		copy(ids[8*at:][:8], make([]byte, 8))
		if at == 1 {
			copy(ids[8:], ids[:8])
		}
		must(t, os.WriteFile(s.Path(), file, 0o600))
		if err := s.Update(t.Context(), func(u *Update) error { return u.Table("t").Put([]byte("k"), nil) }); !errors.Is(err, ErrBroken) {
			t.Errorf("Update gives %v", err)
		}
		now, err := os.ReadFile(s.Path())
		must(t, err)
		if !bytes.Equal(now, file) {
			t.Error("the file was written")
		}
		if _, list, err := texts(t, s.Path()); err != nil || len(list) != 10 {
			t.Errorf("%d records, %v", len(list), err)
		}
	}
}

// A forged list has no chunks at all.
func TestALargeContentWithoutChunksIsDamage(t *testing.T) {
	s, r := newStore(t), seeded(t)
	ids := put(t, s, noise(r, pieceBytes+1), nil)
	must(t, s.Close())
	db, err := bolt.Open(s.Path(), 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(objectsBucket)
		o, err := decodeObject(ids[0].Bytes(), b.Get(ids[0].Bytes()))
		o.ref = ids[1]
		return errors.Join(err, b.Put(ids[0].Bytes(), o.encode(ids[0].Bytes())))
	}))
	must(t, db.Close())
	must(t, os.Remove(s.Path()+lockSuffix)) // it has the transaction before
	s, err = Open(t.Context(), s.Path(), nil)
	must(t, err)
	defer s.Close()
	if _, n, err := s.WriteTo(t.Context(), io.Discard, ids[0]); n > 0 || !errors.Is(err, ErrCorrupt) {
		t.Errorf("%d bytes were written, %v", n, err)
	}
}

// The chunks of a content are compared together; where that fails the damaged one is named.
func TestOfADamagedContentNothingIsWrittenAndTheChunkIsNamed(t *testing.T) {
	s, r := newStore(t), seeded(t)
	id := put(t, s, noise(r, 10*wholeMax))[0]
	damageFrames(t, s, 0.5)
	n, err := int64(0), error(nil)
	if _, n, err = s.WriteTo(t.Context(), io.Discard, id); n > 0 || !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "chunk ") {
		t.Errorf("%d bytes were written, %v", n, err)
	}
	if _, err = readOne(t, s, id); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "chunk ") {
		t.Errorf("it is read: %v", err)
	}
}

// Each chunk of a list is right there, and so is the seal of the row, and it is another object's: nobody but who forges it
// writes that.
func TestAListWithTheChunksOfAnotherObjectIsDamage(t *testing.T) {
	s, r := newStore(t), seeded(t)
	ids := put(t, s, noise(r, wholeMax+40000), noise(r, wholeMax+40000))
	must(t, s.Close())
	db, err := bolt.Open(s.Path(), 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(objectsBucket)
		mine, err := decodeObject(ids[0].Bytes(), b.Get(ids[0].Bytes()))
		other, err2 := decodeObject(ids[1].Bytes(), b.Get(ids[1].Bytes()))
		return errors.Join(err, err2, b.Put(ids[0].Bytes(), other.encode(ids[0].Bytes())), b.Put(ids[1].Bytes(), mine.encode(ids[1].Bytes())))
	}))
	must(t, db.Close())
	must(t, os.Remove(s.Path()+lockSuffix)) // it has the transaction before
	s, err = Open(t.Context(), s.Path(), nil)
	must(t, err)
	defer s.Close()
	must(t, s.View(t.Context(), func(v *View) error {
		for _, id := range ids {
			_, _, err := v.Object(id)
			if back := v.ReadBack(id); !errors.Is(err, ErrCorrupt) || !errors.Is(back, ErrCorrupt) {
				t.Errorf("%v: read %v, read back %v", id, err, back)
			}
		}
		return nil
	}))
	for _, id := range ids {
		if _, n, err := s.WriteTo(t.Context(), io.Discard, id); n > 0 || !errors.Is(err, ErrCorrupt) {
			t.Errorf("%v: %d bytes were written, %v", id, n, err)
		}
	}
}
