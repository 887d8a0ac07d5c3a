package stattable

import (
	"fmt"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// wide makes rows of some bytes together.
func wide(bytes int) map[string]Row {
	rows := map[string]Row{"": Encode("", &Head{Ino: 1}, nil, nil)}
	for n := 0; n < bytes; {
		var items []Item
		for k := range 200 {
			items = append(items, Item{Name: fmt.Sprint("f", k), Mode: tree.File | 0o644, Ino: uint64(n + k), Raw: blob(oid.SHA1, fmt.Sprint(n, k))})
		}
		dir := fmt.Sprintf("d%04d", len(rows))
		rows[dir] = Encode(dir, &Head{Ino: uint64(n)}, items, nil)
		n += len(rows[dir].p)
	}
	return rows
}

// transactions is how many there were in a file.
func transactions(t *testing.T, path string) (id int) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	must(t, err)
	defer db.Close()
	must(t, db.View(func(tx *bolt.Tx) error { id = tx.ID(); return nil }))
	return id
}

func TestALargeFirstTableIsWrittenInSmallTransactionsAndALaterChangeInOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	rows, b := wide(5*fillBytes), Binding{Store: "s"}
	save(t, Load(path), b, rows)
	wantRows(t, path, b, rows)
	first := transactions(t, path)
	if first < 5 {
		t.Errorf("%d bytes were written in %d transactions", 5*fillBytes, first)
	}
	save(t, Load(path), b, rows)
	wantRows(t, path, b, rows)
	if n := transactions(t, path) - first; n != 1 {
		t.Errorf("%d transactions of a change", n)
	}
}

// A process is killed while it fills the first table. What it has written is
// never believed: not when it is loaded, and not by who writes into the file.
func TestATableThatIsHalfFilledIsNone(t *testing.T) {
	for _, loadedBefore := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "t")
		early := Load(path)
		db, err := bolt.Open(path, 0o600, nil)
		must(t, err)
		w := filling{table: &Table{path: path}, db: db, changed: wide(3 * fillBytes)}
		var dirs []string
		for dir := range w.changed {
			dirs = append(dirs, dir)
		}
		if left, err := w.most(dirs); err != nil || len(left) == 0 || len(left) == len(dirs) {
			t.Fatalf("%d of %d are left, %v", len(left), len(dirs), err)
		}
		must(t, db.Close())
		late := Load(path)
		if _, _, ok := late.Row(dirs[0]); ok || late.Len() != 0 {
			t.Errorf("a table without a header has %d rows", late.Len())
		}
		own, b := map[string]Row{"own": Encode("own", &Head{Ino: 7}, nil, nil)}, Binding{Store: "s"}
		if loadedBefore {
			late.Close()
			save(t, early, b, own)
		} else {
			save(t, late, b, own)
		}
		wantRows(t, path, b, own)
	}
}
