package engine

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestADamagedHeaderTakesNoSnapshotAway flips a bit where bbolt says which
// transaction was the last, and asks for the snapshot that it recorded.
func TestADamagedHeaderTakesNoSnapshotAway(t *testing.T) {
	p := newPlace(t, true)
	e := p.open()
	p.snap(e, "one", nil)
	last := p.snap(e, "two", nil)
	path := filepath.Join(e.dir, storeFile)
	file, err := os.ReadFile(path)
	p.must(err)
	const page, transaction = 4096, 16 + 48
	at := transaction
	if binary.NativeEndian.Uint64(file[page+transaction:]) > binary.NativeEndian.Uint64(file[transaction:]) {
		at += page
	}
	file[at+7] ^= 0x20
	p.must(os.WriteFile(path, file, 0o600))
	fresh := p.open()
	if !slices.Contains(fresh.Warnings(), mended) {
		t.Errorf("it is not said: %q", fresh.Warnings())
	}
	list := p.list(fresh, nil)
	if len(list) != 2 || list[0].ID != last.ID {
		t.Errorf("%d snapshots are listed", len(list))
	}
	if again := p.open(); len(again.Warnings()) != 0 {
		t.Errorf("it is said again: %q", again.Warnings())
	}
	p.wantClean(fresh)
}
