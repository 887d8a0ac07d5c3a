package records

import (
	"encoding/json"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// skippedInline is how many skipped paths are in a record itself. More are a
// content of the store, which snapshots share: a setting that leaves out 20,000
// files would else cost every turn megabytes.
const skippedInline = 64

// PackSkipped prepares a record's skipped paths for writing; put keeps a content.
func (s *Snapshot) PackSkipped(put func([]byte) (oid.ID, error)) (err error) {
	s.SkippedIn = oid.ID{}
	if len(s.Skipped) <= skippedInline {
		return nil
	}
	list, err := json.Marshal(s.Skipped)
	if err != nil {
		return err
	}
	s.SkippedIn, err = put(list)
	return err
}
