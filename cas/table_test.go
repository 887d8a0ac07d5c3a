package cas

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestRecordsComeBackInOrder(t *testing.T) {
	s := newStore(t)
	for i := range 300 {
		err := s.Update(t.Context(), func(u *Update) error {
			seq, err := u.Table("log").Append(fmt.Appendf(nil, "%d", i))
			if seq != uint64(i+1) {
				t.Errorf("record %d has number %d", i, seq)
			}
			return errors.Join(err, u.Table("map").Put(fmt.Appendf(nil, "k%03d", i), nil))
		})
		must(t, err)
	}
	err := s.View(t.Context(), func(v *View) error {
		i := 0
		for _, value := range v.Table("log").All() {
			if string(value) != fmt.Sprint(i) {
				t.Fatalf("record %d is %q", i, value)
			}
			i++
		}
		for key, value := range v.Table("log").Backward() {
			i--
			if string(value) != fmt.Sprint(i) || string(key) != string(seqKey(uint64(i+1))) {
				t.Fatalf("record %d is %q under %x", i, value, key)
			}
			if i == 100 {
				break
			}
		}
		n := 0
		for key := range v.Table("map").Prefix([]byte("k12")) {
			if string(key) != fmt.Sprintf("k12%d", n) {
				t.Fatalf("key %q", key)
			}
			n++
		}
		if i != 100 || n != 10 {
			t.Errorf("saw %d and %d", i, n)
		}
		for range v.Table("none").All() {
			t.Error("a table never written has a record")
		}
		if _, err := v.Table("none").Append(nil); !errors.Is(err, ErrReadOnly) {
			t.Errorf("Append through a view gives %v", err)
		}
		if err := v.Table("log").Delete(seqKey(1)); !errors.Is(err, ErrReadOnly) {
			t.Errorf("Delete through a view gives %v", err)
		}
		return nil
	})
	must(t, err)
}

func TestADeletedRecordsNumberIsNotUsedAgain(t *testing.T) {
	s := newStore(t)
	var seqs []uint64
	for range 3 {
		err := s.Update(t.Context(), func(u *Update) error {
			table := u.Table("log")
			seq, err := table.Append([]byte("x"))
			seqs = append(seqs, seq)
			if err == nil {
				err = table.Delete(seqKey(seq))
			}
			if _, gone := table.Value(seqKey(seq)); !errors.Is(gone, ErrNotFound) {
				t.Errorf("after Delete: %v", gone)
			}
			return err
		})
		must(t, err)
		if _, _, err := s.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(seqs, []uint64{1, 2, 3}) {
		t.Errorf("numbers %v", seqs)
	}
}

func TestAFailedFunctionRecordsNothing(t *testing.T) {
	s := newStore(t)
	mine := errors.New("mine")
	g := s.Stage()
	id, err := g.Put(t.Context(), oid.Blob, []byte("staged"), oid.ID{})
	must(t, err)
	err = g.Commit(t.Context(), func(u *Update) error {
		if _, payload, err := u.Object(id); string(payload) != "staged" {
			t.Errorf("what is staged cannot be read: %v", err)
		}
		if err := u.Table("t").Put([]byte("k"), []byte("v")); err != nil {
			return err
		}
		if value, err := u.Table("t").Value([]byte("k")); string(value) != "v" {
			t.Errorf("own write reads %q, %v", value, err)
		}
		return mine
	})
	if !errors.Is(err, mine) {
		t.Fatalf("Commit gives %v", err)
	}
	check := func(want bool) {
		t.Helper()
		err := s.View(t.Context(), func(v *View) error {
			_, err := v.Table("t").Value([]byte("k"))
			if v.Has(id) != want || (err == nil) {
				t.Errorf("Has = %v, Value = %v", v.Has(id), err)
			}
			return nil
		})
		must(t, err)
	}
	check(false)
	if err := g.Commit(t.Context(), nil); !errors.Is(err, mine) { // it can only be discarded
		t.Errorf("a second Commit gives %v", err)
	}
	check(false)
}

func TestAReturnedRecordOutlivesItsTransaction(t *testing.T) {
	s := newStore(t)
	err := s.Update(t.Context(), func(u *Update) error { return u.Table("t").Put([]byte("k"), []byte("value")) })
	must(t, err)
	var kept [][]byte
	err = s.View(t.Context(), func(v *View) error {
		for k, value := range v.Table("t").All() {
			kept = append(kept, k, value)
		}
		value, err := v.Table("t").Value([]byte("k"))
		kept = append(kept, value)
		return err
	})
	must(t, err)
	if string(slices.Concat(kept...)) != "kvaluevalue" {
		t.Errorf("kept %q", kept)
	}
}

func TestBeforeBeginsBelowItsKey(t *testing.T) {
	s := newStore(t)
	err := s.Update(t.Context(), func(u *Update) error {
		for _, key := range []string{"b", "d", "f"} {
			if err := u.Table("t").Put([]byte(key), []byte(key)); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, err)
	for from, want := range map[string]string{"": "fdb", "a": "", "b": "", "c": "b", "d": "b", "f": "db", "g": "fdb"} {
		got := ""
		if err := s.View(t.Context(), func(v *View) error {
			for key := range v.Table("t").Before([]byte(from)) {
				got += string(key)
			}
			for range v.Table("none").Before([]byte(from)) {
				t.Error("a table that was never written has rows")
			}
			return nil
		}); err != nil || got != want {
			t.Errorf("before %q: %q, %v, want %q", from, got, err, want)
		}
	}
}

func TestRowsThatFollowOneAnotherFillTheirPages(t *testing.T) {
	for name, put := range map[string]func(rows *Table, i int, value []byte) error{
		"appended":           func(rows *Table, _ int, value []byte) error { _, err := rows.Append(value); return err },
		"under a number":     func(rows *Table, i int, value []byte) error { return rows.Put(seqKey(uint64(i)), value) },
		"one grows later on": growing,
	} {
		s, value := newStore(t), bytes.Repeat([]byte("r"), 350)
		const n = 500
		for i := range n { // a transaction each, as snapshots are recorded
			must(t, s.Update(t.Context(), func(u *Update) error { return put(u.Table("t"), i+1, value) }))
		}
		err := s.View(t.Context(), func(v *View) error {
			rows := 0
			for range v.Table("t").All() {
				rows++
			}
			if st := v.Table("t").rows.Stats(); rows != n || st.LeafAlloc > st.LeafInuse*140/100 {
				t.Errorf("%s: %d rows, %d bytes in use take %d", name, rows, st.LeafInuse, st.LeafAlloc)
			}
			return nil
		})
		must(t, err)
	}
}

// growing puts a row under a number, and makes an earlier one larger.
func growing(rows *Table, i int, value []byte) error {
	if err := rows.Put(seqKey(uint64(i)), value); err != nil || i < 50 {
		return err
	}
	return rows.Put(seqKey(uint64(i-10)), append(value, "more of it"...))
}
