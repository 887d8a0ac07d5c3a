package cas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// kept returns what a store keeps for its next writer.
func kept(t *testing.T, s *Store) *bolt.DB {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: on Windows no file is kept open")
	}
	for _, k := range s.idle.files {
		if k.writable {
			return k.db
		}
	}
	return nil
}

func TestManyWritesOpenTheFileOnce(t *testing.T) {
	s := newStore(t)
	record(t, s, "first")
	first := kept(t, s)
	for i := range 20 {
		record(t, s, fmt.Sprint(i))
		put(t, s, noise(seeded(t), 1000+i))
		if now := kept(t, s); now == nil || now != first {
			t.Fatalf("write %d opened the file anew", i)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if kept(t, s) != nil {
		t.Error("a closed store keeps a file")
	}
	record(t, s, "last")
	if _, list, err := texts(t, s.Path()); err != nil || len(list) != 22 {
		t.Errorf("%v, %d records", err, len(list))
	}
}

func TestAFileThatManyRowsWereWrittenToIsOpenedAnew(t *testing.T) {
	s := newStore(t)
	record(t, s, "first")
	first, rows := kept(t, s), 0
	for kept(t, s) == first && rows < 10*mappedBytes/aroundBytes {
		must(t, s.Update(t.Context(), func(u *Update) error {
			for range 50 {
				rows++
				if err := u.Table("t").Put([]byte(fmt.Sprint(rows)), []byte("row")); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	if rows > mappedBytes/aroundBytes+50 || rows < mappedBytes/aroundBytes/2 {
		t.Errorf("it was opened anew after %d rows", rows)
	}
}

// TestTwoWritersSeeWhatEachOtherWrote lets two handles write in random turns, each of
// which adds and replaces rows, so that pages are freed and used again.
func TestTwoWritersSeeWhatEachOtherWrote(t *testing.T) {
	s := newStore(t)
	other, err := Open(t.Context(), s.Path(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	r := seeded(t)
	want, again := map[string]string{}, 0
	for i := range 300 {
		who := s
		if r.IntN(3) == 0 {
			who = other
		}
		before := kept(t, who)
		if r.IntN(40) == 0 {
			if _, _, err := who.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		key, value := fmt.Sprint(r.IntN(40)), strings.Repeat(fmt.Sprint(i, " "), 1+r.IntN(3000))
		err := who.Update(t.Context(), func(u *Update) error {
			return errors.Join(u.Table("t").Put([]byte(key), []byte(value)), u.Table("t").Delete([]byte(fmt.Sprint(r.IntN(40)+40))))
		})
		if err != nil {
			t.Fatal(err)
		}
		if want[key] = value; before != nil && kept(t, who) == before {
			again++
		}
		if i%10 == 0 {
			put(t, who, noise(r, 1+r.IntN(200<<10)))
		}
	}
	fresh, err := Open(t.Context(), s.Path(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	err = fresh.View(t.Context(), func(v *View) error {
		for key, value := range want {
			if got, _ := v.Table("t").Value([]byte(key)); string(got) != value {
				t.Errorf("row %s is not what was written last", key)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if damage, err := fresh.Check(t.Context()); err != nil || len(damage) > 0 {
		t.Errorf("Check = %v, %v", damage, err)
	}
	if again < 50 {
		t.Errorf("a file was used again by %d of 300 writes", again)
	}
	t.Logf("a file was used again by %d of 300 writes", again)
}

// Whatever has become of the file since, a writer does not use what it has in memory.
func TestAWriterOpensAFileAnewThatWasTouched(t *testing.T) {
	for name, touch := range map[string]func(*testing.T, *Store){
		"another handle's record": func(t *testing.T, s *Store) {
			other, err := Open(t.Context(), s.Path(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			record(t, other, "other")
		},
		"a failed commit of another handle": func(t *testing.T, s *Store) {
			other, err := Open(t.Context(), s.Path(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			failWrite(other, 3)
			if err := other.Update(t.Context(), func(u *Update) error { return u.Table("t").Put([]byte("k"), make([]byte, 1<<16)) }); !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
		},
		"a transaction of its own that failed": func(t *testing.T, s *Store) {
			no := errors.New("no")
			if err := s.Update(t.Context(), func(*Update) error { return no }); !errors.Is(err, no) {
				t.Fatal(err)
			}
		},
		"a file that was written at another time": func(t *testing.T, s *Store) { must(t, os.Chtimes(s.Path(), time.Time{}, time.Unix(1, 0))) },
		// It was killed after its commit, before the record of it, in a clock tick of the file system.
		"a commit of another handle that has no record": func(t *testing.T, s *Store) {
			info, err := os.Stat(s.Path())
			must(t, err)
			lock, err := os.ReadFile(s.Path() + lockSuffix)
			must(t, err)
			other, err := Open(t.Context(), s.Path(), nil)
			must(t, err)
			record(t, other, "other")
			must(t, other.Close())
			must(t, os.WriteFile(s.Path()+lockSuffix, lock, 0o600))
			must(t, os.Chtimes(s.Path(), time.Time{}, info.ModTime()))
		},
		"another file in its place":             func(t *testing.T, s *Store) { exchange(t, s.Path()) },
		"a file that is longer":                 func(t *testing.T, s *Store) { lengthen(t, s.Path()) },
		"what was written anew by a compaction": func(t *testing.T, s *Store) { _, _, err := s.Compact(t.Context()); must(t, err) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			record(t, s, "first")
			before := kept(t, s)
			if before == nil {
				t.Fatal("nothing is kept")
			}
			touch(t, s)
			record(t, s, "last")
			if kept(t, s) == before {
				t.Error("the file was not opened anew")
			}
			fresh, list, err := texts(t, s.Path())
			if err != nil || list[0] != "first" || list[len(list)-1] != "last" {
				t.Errorf("%v, %q", err, list)
			}
			if damage, err := fresh.Check(t.Context()); err != nil || len(damage) > 0 {
				t.Errorf("Check = %v, %v", damage, err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// exchange puts a copy of a file in its place.
func exchange(t *testing.T, path string) {
	t.Helper()
	p, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path+".copy", p, 0o600))
	must(t, os.Rename(path+".copy", path))
}

func lengthen(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	must(t, os.Truncate(path, info.Size()+pageSize))
}

func TestAWriterThatKeptTheFileNoticesWhatIsMissing(t *testing.T) {
	s, files := acknowledged(t)
	if kept(t, s) == nil {
		t.Fatal("nothing is kept")
	}
	if err := os.WriteFile(s.Path(), files[0], 0o600); err != nil { // an older copy, in the same file
		t.Fatal(err)
	}
	update := func() error { return s.Update(t.Context(), func(*Update) error { return nil }) }
	if err := update(); !errors.Is(err, ErrBehind) {
		t.Errorf("an older copy: %v", err)
	}
	if err := os.WriteFile(s.Path(), files[1], 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, update())
	if kept(t, s) == nil {
		t.Fatal("nothing is kept")
	}
	if err := os.Truncate(s.Path(), 3*pageSize); err != nil {
		t.Fatal(err)
	}
	if err := update(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a file that is shortened: %v", err)
	}
}

// TestAWriteThatFailsOnAKeptFileLeavesNothing is [TestAFailedWriteLeavesNothingVisible]
// for a file that was kept open.
func TestAWriteThatFailsOnAKeptFileLeavesNothing(t *testing.T) {
	s := newStore(t)
	r := seeded(t)
	old := noise(r, 100<<10)
	id := put(t, s, old)[0]
	for n := 1; ; n++ {
		record(t, s, fmt.Sprint(n)) // leaves a file
		db := kept(t, s)
		if db == nil {
			t.Fatal("nothing is kept")
		}
		used, writes, real := int64(0), 0, *writeAt(db)
		must(t, s.View(t.Context(), func(v *View) error { used = v.tx.Size(); return nil }))
		before, err := os.ReadFile(s.Path())
		must(t, err)
		*writeAt(db) = func(p []byte, at int64) (int, error) {
			if writes++; writes >= n {
				k, _ := real(p[:len(p)/2], at)
				return k, &os.PathError{Op: "write", Path: s.path, Err: syscall.ENOSPC}
			}
			return real(p, at)
		}
		fresh := noise(r, 3<<20)
		g := s.Stage()
		want, err := g.Put(t.Context(), oid.Blob, fresh, oid.ID{})
		must(t, err)
		err = g.Commit(t.Context(), nil)
		if writes < n {
			*writeAt(db) = real
			if must(t, err); n < 3 || !bytes.Equal(read(t, s, want), fresh) {
				t.Fatalf("%d writes; what was committed in the end came back different", writes)
			}
			break
		}
		if !errors.Is(err, syscall.ENOSPC) || kept(t, s) != nil {
			t.Fatalf("write %d failed: %v, and the file is kept: %v", n, err, kept(t, s) != nil)
		}
		after, err := os.ReadFile(s.Path())
		must(t, err)
		if int64(len(after)) != used || !bytes.Equal(after[:2*pageSize], before[:2*pageSize]) {
			t.Fatalf("write %d failed: the file has %d of %d bytes, or another header", n, len(after), used)
		}
		if !bytes.Equal(read(t, s, id), old) {
			t.Fatalf("write %d failed: an old object changed", n)
		}
	}
	if damage, err := s.Check(t.Context()); err != nil || len(damage) > 0 {
		t.Errorf("Check = %v, %v", damage, err)
	}
}

// While nobody writes, the kept file is in nobody's way: not of bbolt's own tools, which
// know nothing of our lock, and not of a store without one.
func TestAKeptFileIsNotLocked(t *testing.T) {
	s := newStore(t)
	record(t, s, "first")
	if kept(t, s) == nil {
		t.Fatal("nothing is kept")
	}
	db, err := bolt.Open(s.Path(), 0o600, &bolt.Options{Timeout: 1})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Update(ctx, func(*Update) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("beside a program that has the file: %v", err)
	}
	must(t, db.Close())
	record(t, s, "last")
	if _, list, err := texts(t, s.Path()); err != nil || len(list) != 2 {
		t.Errorf("%v, %q", err, list)
	}
}
