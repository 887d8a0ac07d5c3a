package records

import (
	"encoding/json"
	"fmt"

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

// UnpackSkipped completes records by the skipped paths that have a content of
// their own; load gives a content.
func UnpackSkipped(load func(oid.ID) ([]byte, error), list ...*Snapshot) error {
	known := map[oid.ID][]Note{}
	for _, s := range list {
		if s == nil || s.SkippedIn.IsZero() || len(s.Skipped) > 0 {
			continue
		}
		notes, ok := known[s.SkippedIn]
		if !ok {
			payload, err := load(s.SkippedIn)
			if err != nil {
				return fmt.Errorf("what snapshot %v left out: %w", s.ID, err)
			}
			if err := json.Unmarshal(payload, &notes); err != nil {
				return fmt.Errorf("%w: what snapshot %v left out: %w", ErrDamaged, s.ID, err)
			}
			known[s.SkippedIn] = notes
		}
		s.Skipped = notes
	}
	return nil
}
