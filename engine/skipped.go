package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// skippedInline is how many skipped paths stand in a record itself. More are a
// content of the store, which snapshots share: a setting that leaves out 20,000
// files would else cost every turn megabytes.
const skippedInline = 64

// packSkipped prepares a record's skipped paths for writing; put keeps a content.
func (s *Snapshot) packSkipped(put func([]byte) (oid.ID, error)) (err error) {
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

// encode makes the record of a snapshot. Skipped paths that have a content of
// their own are not in it.
func (s *Snapshot) encode() ([]byte, error) {
	if s.SkippedIn.IsZero() {
		return json.Marshal(s)
	}
	short := *s
	short.Skipped = nil
	return json.Marshal(&short)
}

// fill completes records by the skipped paths that have a content of their own.
func (e *Engine) fill(ctx context.Context, list ...*Snapshot) error {
	known := map[oid.ID][]Note{}
	for _, s := range list {
		if s == nil || s.SkippedIn.IsZero() || len(s.Skipped) > 0 {
			continue
		}
		notes, ok := known[s.SkippedIn]
		if !ok {
			payload, err := e.payload(ctx, oid.Blob, s.SkippedIn)
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

// putSkipped keeps a long list of skipped paths in a stage.
func putSkipped(ctx context.Context, stage *cas.Stage) func([]byte) (oid.ID, error) {
	return func(list []byte) (oid.ID, error) {
		id, err := stage.Put(ctx, oid.Blob, list, oid.ID{})
		return id, storeError(err)
	}
}
