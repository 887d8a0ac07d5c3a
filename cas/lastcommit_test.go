package cas

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// acknowledged is a store in which two records were acknowledged, one a
// transaction, and the bytes of its file after each.
func acknowledged(t *testing.T) (s *Store, files [2][]byte) {
	t.Helper()
	s = newStore(t)
	for i, text := range []string{"first", "second"} {
		record(t, s, text)
		var err error
		if files[i], err = os.ReadFile(s.Path()); err != nil {
			t.Fatal(err)
		}
	}
	return s, files
}

func record(t *testing.T, s *Store, text string) {
	t.Helper()
	err := s.Update(t.Context(), func(u *Update) error {
		_, err := u.Table("t").Append([]byte(text))
		return err
	})
	must(t, err)
}

// texts opens the store as another process would, and reads the records.
func texts(t *testing.T, path string) (s *Store, list []string, err error) {
	t.Helper()
	if s, err = Open(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	err = s.View(t.Context(), func(v *View) error {
		for _, value := range v.Table("t").All() {
			list = append(list, string(value))
		}
		return nil
	})
	return s, list, err
}

// newest returns which page has the newest header.
func newest(t *testing.T, file []byte) int {
	t.Helper()
	var tx [2]uint64
	for i := range tx {
		h := header(file[i*pageSize+pageHeaderBytes:][:headerBytes])
		if !h.whole() {
			t.Fatal("a header is damaged")
		}
		tx[i] = h.transaction()
	}
	if tx[1] > tx[0] {
		return 1
	}
	return 0
}

func TestAFlippedBitInTheNewestHeaderLosesNothing(t *testing.T) {
	s, files := acknowledged(t)
	at := newest(t, files[1])*pageSize + pageHeaderBytes
	for bit := range 8 * headerBytes {
		file := bytes.Clone(files[1])
		file[at+bit/8] ^= 1 << (bit % 8)
		must(t, os.WriteFile(s.Path(), file, 0o600))
		fresh, list, err := texts(t, s.Path())
		if err != nil || len(list) != 2 {
			t.Fatalf("bit %d: %v, %q", bit, err, list)
		}
		if !fresh.Mended() {
			t.Errorf("bit %d: nothing was mended, and nobody is told", bit)
		}
		if now, err := os.ReadFile(s.Path()); err != nil || !bytes.Equal(now[at:at+headerBytes], files[1][at:at+headerBytes]) {
			t.Fatalf("bit %d: the header is not as it was", bit)
		}
	}
	record(t, s, "third") // by a handle that was opened before
	if _, list, err := texts(t, s.Path()); err != nil || len(list) != 3 {
		t.Errorf("%v, %q", err, list)
	}
}

func TestAWriterMendsTheNewestHeaderAndLeavesTheOlder(t *testing.T) {
	for _, older := range []bool{false, true} {
		s, files := acknowledged(t)
		at := newest(t, files[1])
		if older {
			at = 1 - at
		}
		files[1][at*pageSize+pageHeaderBytes+headerTxAt+1] ^= 4
		must(t, os.WriteFile(s.Path(), files[1], 0o600))
		record(t, s, "third")
		fresh, list, err := texts(t, s.Path())
		if err != nil || len(list) != 3 || fresh.Mended() || s.Mended() == older {
			t.Errorf("older %v: %v, %q, mended %v", older, err, list, s.Mended())
		}
	}
}

// TestATornHeaderThatNobodyWasToldOfAccusesNobody plays a loss of power in the
// last write of a transaction: its caller never heard that it stands.
func TestATornHeaderThatNobodyWasToldOfAccusesNobody(t *testing.T) {
	s, files := acknowledged(t)
	witness, err := os.ReadFile(s.lock.Path)
	must(t, err)
	record(t, s, "third")
	torn, err := os.ReadFile(s.Path())
	must(t, err)
	at := newest(t, torn)*pageSize + pageHeaderBytes
	copy(torn[at+headerBytes/2:], files[1][at+headerBytes/2:][:headerBytes/2])
	must(t, errors.Join(os.WriteFile(s.Path(), torn, 0o600), os.WriteFile(s.lock.Path, witness, 0o600)))
	fresh, list, err := texts(t, s.Path())
	if err != nil || len(list) != 2 || fresh.Mended() {
		t.Errorf("%v, %q", err, list)
	}
	if err := os.WriteFile(s.lock.Path, nil, 0o600); err != nil { // nor was the witness ever synced
		t.Fatal(err)
	}
	if _, list, err := texts(t, s.Path()); err != nil || len(list) != 2 {
		t.Errorf("%v, %q", err, list)
	}
}

// An older copy is refused, whoever has it open, also one from before the file was
// written anew, until it is accepted.
func TestAnOlderCopyOfTheFileIsNotTakenForTheStore(t *testing.T) {
	for _, compactions := range []int{0, 1, 7} {
		s, files := acknowledged(t)
		for range compactions {
			_, _, err := s.Compact(t.Context())
			must(t, err)
		}
		record(t, s, "third")
		must(t, os.WriteFile(s.Path(), files[1], 0o600))
		fresh, _, err := texts(t, s.Path())
		for what, err := range map[string]error{
			"View":                      err,
			"Update":                    fresh.Update(t.Context(), func(*Update) error { return nil }),
			"Compact":                   func() error { _, _, err := fresh.Compact(t.Context()); return err }(),
			"Update of who had it open": s.Update(t.Context(), func(*Update) error { return nil }),
		} {
			if !errors.Is(err, ErrBehind) || !errors.Is(err, ErrCorrupt) {
				t.Fatalf("compacted %d times: %s gives %v", compactions, what, err)
			}
		}
		for _, want := range []bool{true, false} {
			if behind, err := fresh.Accept(t.Context()); behind != want || err != nil {
				t.Fatalf("Accept gives %v, %v", behind, err)
			}
		}
		record(t, fresh, "another third")
		if _, list, err := texts(t, s.Path()); err != nil || len(list) != 3 || list[2] != "another third" {
			t.Errorf("%v, %q", err, list)
		}
	}
}

// TestCopiesThatArePutBackAreKnown writes, compacts, copies and puts copies back at random.
func TestCopiesThatArePutBackAreKnown(t *testing.T) {
	s, r := newStore(t), seeded(t)
	type copied struct {
		file []byte
		rows int
	}
	var copies []copied
	rows, refused := 0, 0
	for range 200 {
		switch r.IntN(6) {
		case 0, 1:
			record(t, s, "row")
			rows++
		case 2:
			if _, _, err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		case 3:
			file, err := os.ReadFile(s.Path())
			must(t, err)
			copies = append(copies, copied{file, rows})
		case 4:
			if len(copies) == 0 {
				continue
			}
			now, err := os.ReadFile(s.Path())
			must(t, err)
			c := copies[r.IntN(len(copies))]
			must(t, os.WriteFile(s.Path(), c.file, 0o600))
			_, list, err := texts(t, s.Path())
			if c.rows < rows && !errors.Is(err, ErrBehind) {
				t.Fatalf("a copy with %d of %d rows gives %d rows and %v", c.rows, rows, len(list), err)
			}
			if errors.Is(err, ErrBehind) {
				refused++
			}
			must(t, os.WriteFile(s.Path(), now, 0o600))
		default:
			if _, list, err := texts(t, s.Path()); err != nil || len(list) != rows {
				t.Fatalf("%v, %d of %d rows", err, len(list), rows)
			}
		}
	}
	if refused == 0 {
		t.Error("no copy was behind")
	}
}

func TestADamagedPageIsNamedWithoutRawErrors(t *testing.T) {
	s := newStore(t)
	put(t, s, text(seeded(t), 5000))
	file, err := os.ReadFile(s.Path())
	must(t, err)
	broken := 0
	for page := 2; page < len(file)/pageSize; page++ {
		bad := bytes.Clone(file)
		for i := range pageSize {
			bad[page*pageSize+i] ^= 0xA5
		}
		must(t, os.WriteFile(s.Path(), bad, 0o600))
		fresh, err := Open(t.Context(), s.Path(), nil)
		if err == nil {
			err = fresh.View(t.Context(), func(v *View) error {
				v.Has(oid.BLAKE3.Sum(oid.Blob, nil))
				return nil
			})
		}
		if err == nil {
			continue
		}
		broken++
		if got, want := err.Error(), s.Path()+": "+errPages.Error(); !errors.Is(err, ErrNotStore) && (!errors.Is(err, ErrBroken) || got != want) {
			t.Errorf("page %d: %v", page, err)
		}
	}
	if broken == 0 {
		t.Error("no page was needed")
	}
}
