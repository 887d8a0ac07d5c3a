package cas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

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

// holding counts the descriptors of this process that lead to a path.
func holding(t *testing.T, path string) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("SKIPPED: the system does not tell which files are open: ", err)
	}
	for _, fd := range list {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && to == path {
			n++
		}
	}
	return n
}

func TestManyReadsAndWritesOpenTheFileOnceEach(t *testing.T) {
	s := newStore(t)
	record(t, s, "first")
	must(t, s.Close())
	if kept(t, s) != nil || holding(t, s.Path()) != 0 {
		t.Error("a closed store keeps a file")
	}
	record(t, s, "second")
	first := kept(t, s)
	if first == nil {
		t.Fatal("nothing is kept")
	}
	opened := 0
	s.opened = func(*bolt.DB) { opened++ }
	for range 20 {
		must(t, s.View(t.Context(), func(v *View) error { return nil }))
	}
	s.opened = nil
	for i := range 20 {
		record(t, s, fmt.Sprint(i))
		put(t, s, noise(seeded(t), 1000+i))
		if kept(t, s) != first {
			t.Fatalf("write %d opened the file anew", i)
		}
	}
	if _, list, err := texts(t, s.Path()); err != nil || len(list) != 22 || opened > 1 {
		t.Errorf("%v, %d records; 20 reads opened the file %d times", err, len(list), opened)
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

// Whatever has become of the file since, a writer does not use what it has in memory.
func TestAWriterOpensAFileAnewThatWasTouched(t *testing.T) {
	for name, touch := range map[string]func(*testing.T, *Store){
		"another handle's record": func(t *testing.T, s *Store) { record(t, again(t, s), "other") },
		"a failed commit of another handle": func(t *testing.T, s *Store) {
			other := again(t, s)
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
			other := again(t, s)
			record(t, other, "other")
			must(t, other.Close())
			must(t, os.WriteFile(s.Path()+lockSuffix, lock, 0o600))
			must(t, os.Chtimes(s.Path(), time.Time{}, info.ModTime()))
		},
		"another file in its place": func(t *testing.T, s *Store) {
			p, err := os.ReadFile(s.Path())
			must(t, err)
			must(t, os.WriteFile(s.Path()+".copy", p, 0o600))
			must(t, os.Rename(s.Path()+".copy", s.Path()))
		},
		"a file that is longer": func(t *testing.T, s *Store) {
			info, err := os.Stat(s.Path())
			must(t, err)
			must(t, os.Truncate(s.Path(), info.Size()+pageSize))
		},
		"what was written anew by a compaction": func(t *testing.T, s *Store) { _, _, err := s.Compact(t.Context()); must(t, err) },
		"a file that was opened to others":      func(t *testing.T, s *Store) { must(t, os.Chmod(s.Path(), 0o666)) },
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
			undamaged(t, fresh)
			if info, err := os.Stat(s.Path()); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("the file is open to others: %v, %v", info.Mode(), err)
			}
		})
	}
}

// An older copy is put back in the same file, accepted, and another process writes the
// same transaction number with other rows: the headers can be equal, byte for byte. A
// file system may keep the time by the second.
func TestAWriterDoesNotTrustAListOfFreePagesOfAnotherTransaction(t *testing.T) {
	s, r := newStore(t), seeded(t)
	set := func(who *Store, key string) {
		t.Helper()
		must(t, who.Update(t.Context(), func(u *Update) error { return u.Table("t").Put([]byte(key), noise(r, 9000)) }))
	}
	for i := range 6 {
		set(s, fmt.Sprint("k", i))
	}
	old, err := os.ReadFile(s.Path())
	must(t, err)
	set(s, "k1")
	before := kept(t, s)
	was, err := os.Stat(s.Path())
	must(t, err)
	must(t, os.WriteFile(s.Path(), old, 0o600))
	other := again(t, s)
	if behind, err := other.Accept(t.Context()); err != nil || !behind {
		t.Fatal(behind, err)
	}
	set(other, "k4")
	must(t, other.Close())
	must(t, os.Chtimes(s.Path(), time.Time{}, was.ModTime()))
	if now, err := os.Stat(s.Path()); err != nil || before == nil || now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime()) {
		t.Fatalf("%v, %v: the file does not look as it did", now, err)
	}
	for i := range 4 {
		set(s, fmt.Sprint("n", i))
		if kept(t, s) == before {
			t.Error("the file was not opened anew")
		}
	}
	db, err := bolt.Open(s.Path(), 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Second, PreLoadFreelist: true})
	must(t, err)
	defer db.Close()
	must(t, db.View(func(tx *bolt.Tx) error { // each page is either used once or free
		for err := range tx.Check() {
			t.Error(err)
		}
		return nil
	}))
	undamaged(t, s)
}

// A file that is open is looked at as one that is opened.
func TestWhoKeptTheFileNoticesWhatIsMissing(t *testing.T) {
	s, files := acknowledged(t)
	id := put(t, s, noise(seeded(t), 1<<20))[0]
	view := func() error { return s.View(t.Context(), func(v *View) error { return v.ReadBack(id) }) }
	update := func() error { return s.Update(t.Context(), func(*Update) error { return nil }) }
	must(t, view())
	now, err := os.ReadFile(s.Path())
	must(t, err)
	must(t, os.WriteFile(s.Path(), files[0], 0o600)) // an older copy, in the same file
	for _, err := range []error{view(), update()} {
		if !errors.Is(err, ErrBehind) {
			t.Errorf("an older copy: %v", err)
		}
	}
	must(t, os.WriteFile(s.Path(), now, 0o600))
	must(t, errors.Join(view(), update()))
	must(t, os.Truncate(s.Path(), 3*pageSize))
	for _, err := range []error{view(), view(), update()} {
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("a file that is shortened: %v", err)
		}
	}
}

// A store that was given to another user meanwhile is nobody's to write.
func TestAWriterNoticesThatTheFileWasGivenAway(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give a file to another user")
	}
	t.Setenv("SUDO_UID", "")
	for _, keeps := range []bool{false, true} {
		s := newStore(t)
		record(t, s, "first")
		if !keeps {
			must(t, s.Close())
		}
		must(t, os.Chown(s.Path(), 65534, 65534))
		err := s.Update(t.Context(), func(u *Update) error { _, err := u.Table("t").Append([]byte("x")); return err })
		if !errors.Is(err, durable.ErrForeign) {
			t.Errorf("the file was kept: %v: %v, want ErrForeign", keeps, err)
		}
		s.Close()
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

func TestTheNextReaderLetsGoOfAllOfAFileThatWasReplaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: on Windows no file is kept open")
	}
	s := newStore(t)
	id := put(t, s, []byte("one"))[0]
	var all, readers sync.WaitGroup
	all.Add(readersMax)
	for range readersMax {
		readers.Go(func() {
			here := sync.OnceFunc(all.Done)
			defer here()
			err := s.View(t.Context(), func(*View) error {
				here()
				all.Wait() // each has a file of its own
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	readers.Wait()
	if n := holding(t, s.Path()); n != readersMax+1 { // the writer's too
		t.Fatalf("%d files are kept", n)
	}
	_, _, err := again(t, s).Compact(t.Context())
	must(t, err)
	if !bytes.Equal(read(t, s, id), []byte("one")) {
		t.Error("another content")
	}
	if n := holding(t, s.Path()+" (deleted)"); n != 0 {
		t.Errorf("the file that was replaced is still open %d times", n)
	}
}
