package cas

import (
	"context"
	"io"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Repair stores an object again of which the store has a damaged copy, and
// returns its id. A [Stage] takes over what the store has, unread. That of Repair
// reads each chunk back instead, and writes whole what cannot be read. The object
// is durable when Repair returns nil.
func (s *Store) Repair(ctx context.Context, kind oid.Kind, r io.Reader, size int64) (oid.ID, error) {
	g := s.Stage()
	g.anew = true
	id, err := g.PutReader(ctx, kind, r, size, oid.ID{})
	if err != nil {
		g.Discard()
		return oid.ID{}, err
	}
	return id, g.Commit(ctx, nil)
}
