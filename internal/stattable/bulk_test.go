package stattable

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// bulk makes rows of all sizes.
func bulk(rng *rand.Rand, n int) map[string]Row {
	rows := map[string]Row{}
	for i := range n {
		dir := fmt.Sprintf("%x/%d%s", rng.IntN(50), i, strings.Repeat("x", rng.IntN(60)))
		var items []Item
		for k := range rng.IntN(8) {
			items = append(items, Item{Name: fmt.Sprint("f", k), Mode: tree.File | 0o644, Ino: rng.Uint64(), Raw: blob(oid.SHA1, fmt.Sprint(i, k))})
		}
		if rng.IntN(100) == 0 {
			for k := range rng.IntN(3000) {
				items = append(items, Item{Name: fmt.Sprint("g", k), Mode: tree.File, Raw: blob(oid.SHA1, fmt.Sprint(k))})
			}
		}
		rows[dir] = Encode(dir, &Head{Ino: uint64(i)}, items, nil)
	}
	rows[""] = Encode("", &Head{Ino: 1}, nil, nil)
	return rows
}

// wantRows loads the table and compares it with what it should hold; bbolt
// checks its file.
func wantRows(t *testing.T, path string, b Binding, rows map[string]Row) {
	t.Helper()
	got := Load(path)
	if got.Len() != len(rows) || got.Bound() != b {
		t.Errorf("%d rows bound to %v, want %d and %v", got.Len(), got.Bound(), len(rows), b)
	}
	for dir, want := range rows {
		r, n, ok := got.Row(dir)
		if !ok || !r.Equal(want) {
			t.Fatalf("row of %q: there is %v", dir, ok)
		}
		if is, ok := got.Dir(n); is != dir || !ok {
			t.Fatalf("row %d is of %q, not %q", n, is, dir)
		}
	}
	got.Close()
	if _, _, ok := got.Row(""); ok {
		t.Error("a closed table has a row")
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	must(t, err)
	defer db.Close()
	must(t, db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			t.Error(err)
		}
		return nil
	}))
}

func TestATableThatIsChangedAgainAndAgainHoldsItsRows(t *testing.T) {
	seed := seed.Of(t)
	rng := rand.New(rand.NewPCG(seed, 3))
	for _, n := range []int{0, 1, 2, 3, 10, 200, 5000} {
		path := filepath.Join(t.TempDir(), "stat.db")
		rows := bulk(rng, n)
		table := Load(path)
		b := Binding{Store: "store", Snapshot: blob(oid.SHA1, "s")}
		must(t, table.Save(b, rows, nil))
		wantRows(t, path, b, rows)

		for range 3 {
			table = Load(path)
			changed, removed := bulk(rng, 20), []string(nil)
			for dir := range rows {
				if dir != "" && rng.IntN(4) == 0 && len(removed) < 500 {
					removed = append(removed, dir)
				}
			}
			for dir := range rows {
				if rng.IntN(10) == 0 {
					changed[dir] = Encode(dir, &Head{Ino: rng.Uint64()}, nil, nil)
				}
			}
			removed = slices.DeleteFunc(removed, func(dir string) bool { _, ok := changed[dir]; return ok })
			for _, dir := range removed {
				delete(rows, dir)
			}
			for dir, r := range changed {
				rows[dir] = r
			}
			b.Snapshot = blob(oid.SHA1, fmt.Sprint(rng.Uint64()))
			must(t, table.Save(b, changed, removed))
			wantRows(t, path, b, rows)
		}
	}
}

// Another process may be of another build, or have been killed while it wrote.
func TestRowsAreHandedOverWholeOrNotAtAll(t *testing.T) {
	rows := Rows{"\xff\n\x00": Row{}, "": Row{}} // the zero Row says that one goes
	for dir, r := range someRows(20) {
		rows[dir] = r
	}
	text := rows.Encode()
	var got Rows
	if err := got.Decode(text); err != nil || len(got) != len(rows) {
		t.Fatalf("%d of %d rows, %v", len(got), len(rows), err)
	}
	for dir, r := range rows {
		if g, ok := got[dir]; !ok || !g.Equal(r) || g.IsZero() != r.IsZero() {
			t.Errorf("%q came as another row", dir)
		}
	}
	for n := range len(text) { // some of them end between two rows
		if got.Decode(text[:n]) == nil {
			t.Errorf("%d of %d bytes are taken for all", n, len(text))
		}
	}
	if none := (Rows{}).Encode(); got.Decode(none) != nil || len(got) > 0 {
		t.Errorf("no rows came as %d", len(got))
	}
	if got.Decode(bytes.Repeat([]byte{0xff}, 20)) == nil {
		t.Error("a length without an end is read")
	}
}
