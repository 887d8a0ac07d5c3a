package cas

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

// pagesSound has bbolt itself look whether each page is either used once or free.
func pagesSound(t *testing.T, path string) (bad []string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Second, PreLoadFreelist: true})
	if err != nil {
		return []string{err.Error()}
	}
	defer db.Close()
	must(t, db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			bad = append(bad, err.Error())
		}
		return nil
	}))
	return bad
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
	if before == nil {
		t.Fatal("nothing is kept")
	}
	was, err := os.Stat(s.Path())
	must(t, err)
	must(t, os.WriteFile(s.Path(), old, 0o600))
	other, err := Open(t.Context(), s.Path(), nil)
	must(t, err)
	if behind, err := other.Accept(t.Context()); err != nil || !behind {
		t.Fatal(behind, err)
	}
	set(other, "k4")
	must(t, other.Close())
	must(t, os.Chtimes(s.Path(), time.Time{}, was.ModTime()))
	if now, err := os.Stat(s.Path()); err != nil || now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime()) {
		t.Fatalf("%v, %v: the file does not look as it did", now, err)
	}
	for i := range 4 {
		set(s, fmt.Sprint("n", i))
		if kept(t, s) == before {
			t.Error("the file was not opened anew")
		}
	}
	bad := pagesSound(t, s.Path())
	if damage, err := s.Check(t.Context()); len(bad) > 0 || err != nil || len(damage) > 0 {
		t.Fatalf("%q; Check = %v, %v", bad, damage, err)
	}
}

// A store that was given to another user meanwhile is nobody's to write.
func TestAWriterThatKeptTheFileNoticesThatItWasGivenAway(t *testing.T) {
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

// A store that was opened to others is closed to them by the next write.
func TestAWriterThatKeptTheFileClosesItToOthers(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		s := newStore(t)
		record(t, s, "first")
		if !keeps {
			must(t, s.Close())
		}
		must(t, os.Chmod(s.Path(), 0o666))
		record(t, s, "second")
		info, err := os.Stat(s.Path())
		must(t, err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("the file was kept: %v: mode %v", keeps, info.Mode())
		}
		s.Close()
	}
}
