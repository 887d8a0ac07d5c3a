package records

import (
	"crypto/sha256"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// News returns the contents that operations need, which are their plans and what
// they are to write, and the snapshots, newest first, that were not visited before.
// Then they are: a sum of each is put into visited, by table and key, so that a second look
// gives what was recorded or changed since.
func (v *View) News(visited map[string][sha256.Size]byte) (contents []oid.ID, snaps []*Snapshot, err error) {
	isNew := func(table string, key, value []byte) bool {
		at, sum := table+string(key), sha256.Sum256(value)
		known := visited[at] == sum
		visited[at] = sum
		return !known
	}
	for key, value := range v.Table(tableOperations).All() {
		if !isNew(tableOperations, key, value) {
			continue
		}
		op, err := decodeOperation(key, value)
		if err != nil {
			return nil, nil, err
		}
		contents = append(append(contents, op.Plan), op.Contents...)
	}
	for key, value := range v.Table(tableSnapshots).Backward() {
		if !isNew(tableSnapshots, key, value) {
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
