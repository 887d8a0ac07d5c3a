package cas

import (
	"bytes"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
)

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

// table compares what the ways to go through a table give: all rows, those below a key, and
// those with a prefix.
func (m *model) table(t *Table, want map[string]string, below, prefix string) {
	m.Helper()
	keys := slices.Sorted(maps.Keys(want))
	every := func(string) bool { return true }
	for how, c := range map[string]struct {
		rows     iter.Seq2[[]byte, []byte]
		has      func(key string) bool
		backward bool
	}{
		"All": {t.All(), every, false}, "Peek": {t.Peek(), every, false}, "Backward": {t.Backward(), every, true},
		"Before": {t.Before([]byte(below)), func(key string) bool { return key < below }, true},
		"Prefix": {t.Prefix([]byte(prefix)), func(key string) bool { return strings.HasPrefix(key, prefix) }, false},
	} {
		left := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !c.has(key) })
		if c.backward {
			slices.Reverse(left)
		}
		var got []string
		for k, value := range c.rows {
			if got = append(got, string(k)); string(value) != want[string(k)] {
				m.Errorf("%s: the row of %q is another", how, k)
			}
		}
		if !slices.Equal(got, left) {
			m.Errorf("%s gives %q, not %q", how, got, left)
		}
	}
	for _, key := range append(keys, "none") {
		if value, err := t.Value([]byte(key)); string(value) != want[key] || errors.Is(err, ErrNotFound) != (key == "none") {
			m.Errorf("the row of %q has %d bytes, %v", key, len(value), err)
		}
	}
}
