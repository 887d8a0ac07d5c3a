package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// transactions is how many transactions have written to the store so far.
func (p *place) transactions() (n int) {
	p.t.Helper()
	db, err := bolt.Open(filepath.Join(p.dir, ".git", "rewind", storeFile), 0o600, &bolt.Options{ReadOnly: true})
	p.must(err)
	p.must(db.View(func(tx *bolt.Tx) error { n = tx.ID(); return nil }))
	p.must(db.Close())
	return n
}

func TestASnapshotWritesTheStoreOnce(t *testing.T) {
	p := newPlace(t, true)
	p.snap(p.open(), "zero", nil)
	for i := range 4 {
		before := p.transactions()
		p.snap(p.open(), fmt.Sprint(i), nil)
		if n := p.transactions() - before; n != 1 {
			t.Errorf("snapshot %d took %d transactions", i, n)
		}
		p.wantPending(0)
	}
	before := p.transactions()
	if r, err := p.open().Snapshot(context.Background(), nil); err != nil || !r.Reused {
		t.Errorf("%+v, %v", r, err)
	}
	if n := p.transactions() - before; n != 0 {
		t.Errorf("a snapshot of nothing new took %d transactions", n)
	}
}

// wantPending checks what status says of git.
func (p *place) wantPending(n int) {
	p.t.Helper()
	st := p.status(p.open())
	if st.Pending != n {
		p.t.Errorf("%d snapshots are pending, want %d", st.Pending, n)
	}
}
