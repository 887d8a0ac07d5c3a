package records

import (
	"encoding/json"
	"fmt"
	"hash/maphash"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Visited remembers the records that were looked at, so that a second look gives
// what was recorded or changed since. The zero value has visited nothing.
type Visited struct {
	seed maphash.Seed
	rows map[string]uint64 // by table and key
}

// News returns the contents that operations need, which are their plans and what
// they are to write, and the snapshots, newest first, that were not visited before.
// Then they are visited.
func (v *View) News(visited *Visited) (contents []oid.ID, snaps []*Snapshot, err error) {
	for key, value := range v.Table(tableOperations).All() {
		if !visited.isNew(tableOperations, key, value) {
			continue
		}
		var op Operation
		if err := json.Unmarshal(value, &op); err != nil {
			return nil, nil, fmt.Errorf("%w: operation record %x: %w", ErrDamaged, key, err)
		}
		contents = append(append(contents, op.Plan), op.Contents...)
	}
	for key, value := range v.Table(tableSnapshots).Backward() {
		if !visited.isNew(tableSnapshots, key, value) {
			continue
		}
		s, err := row{key: key, value: value}.decode()
		if err != nil {
			return nil, nil, err
		}
		snaps = append(snaps, s)
	}
	return contents, snaps, nil
}

func (s *Visited) isNew(table string, key, value []byte) bool {
	if s.rows == nil {
		s.seed, s.rows = maphash.MakeSeed(), map[string]uint64{}
	}
	at, sum := table+string(key), maphash.Bytes(s.seed, value)
	if s.rows[at] == sum {
		return false
	}
	s.rows[at] = sum
	return true
}
