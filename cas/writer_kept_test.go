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
// same transaction number with other rows: the headers can be equal, byte for byte. The
// time is all that differs, and a file system may keep it by the second.
func TestAWriterDoesNotTrustAListOfFreePagesOfAnotherTransaction(t *testing.T) {
	r := seeded(t)
	value := func(n int) []byte { return noise(r, n) }
	equal := 0
	for try := range 60 {
		s := newStore(t)
		set := func(who *Store, key string, n int) {
			t.Helper()
			must(t, who.Update(t.Context(), func(u *Update) error { return u.Table("t").Put([]byte(key), value(n)) }))
		}
		for i := range 6 {
			set(s, fmt.Sprint("k", i), 9000)
		}
		set(s, "x", 100)
		old, err := os.ReadFile(s.Path())
		must(t, err)
		set(s, "k1", 9000)
		k := s.idle.writer
		if k == nil {
			t.Fatal("nothing is kept")
		}
		must(t, os.WriteFile(s.Path(), old, 0o600))
		other, err := Open(t.Context(), s.Path(), nil)
		must(t, err)
		if behind, err := other.Accept(t.Context()); err != nil || !behind {
			t.Fatal(behind, err)
		}
		set(other, "k4", 9000)
		must(t, other.Close())
		must(t, os.Chtimes(s.Path(), time.Time{}, time.Unix(0, k.end.written)))
		now, err := endingOf(k.handle)
		must(t, err)
		if now.headers != k.end.headers {
			s.Close()
			continue
		}
		equal++
		for i := range 4 {
			set(s, fmt.Sprint("n", i), 9000)
		}
		bad := pagesSound(t, s.Path())
		damage, err := s.Check(t.Context())
		if len(bad) > 0 || err != nil || len(damage) > 0 {
			t.Fatalf("try %d: %q; Check = %v, %v", try, bad, damage, err)
		}
		s.Close()
	}
	if t.Logf("headers were equal in %d of 60 tries", equal); equal == 0 {
		t.Error("two transactions of one number never had equal headers")
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
