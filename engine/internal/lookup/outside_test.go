package lookup

import (
	"encoding/binary"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// TestEachLostSnapshotIsAskedOnceWhateverTheNumberOfCheckpoints: a repository may
// have many of both, and what was asked for each pair took their product.
func TestEachLostSnapshotIsAskedOnceWhateverTheNumberOfCheckpoints(t *testing.T) {
	const many = 20000
	named := func(i int) oid.ID {
		return oid.SHA1.Sum(oid.Blob, binary.BigEndian.AppendUint64(nil, uint64(i)))
	}
	var checkpoints []*records.Snapshot
	for i := range many {
		checkpoints = append(checkpoints, &records.Snapshot{ID: named(i)})
	}
	asked := 0
	left := unimported(checkpoints, func(yield func(*records.Snapshot) bool) {
		for i := range many {
			asked++
			l := &records.Snapshot{ID: named(-1 - i), Source: &records.Source{}}
			if i%2 == 0 { // of every other checkpoint there is an import
				l.Source.Commit = named(i)
			}
			if !yield(l) {
				return
			}
		}
	})
	if asked != many || len(left) != many/2 {
		t.Fatalf("asked %d times, %d are left", asked, len(left))
	}
	for i, s := range left {
		if s.ID != named(2*i+1) {
			t.Fatalf("%v is left in place %d", s.ID, i)
		}
	}
}
