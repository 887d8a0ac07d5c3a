package engine

import (
	"context"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Pins lists the snapshots that were pinned by name.
func (e *Engine) Pins(ctx context.Context) (map[string]oid.ID, error) {
	pins := map[string]oid.ID{}
	err := e.view(ctx, func(v *cas.View) error {
		for name, value := range v.Table(tablePins).All() {
			id, err := oid.FromBytes(value)
			if err != nil {
				continue // names nothing that could be kept
			}
			pins[string(name)] = id
		}
		return nil
	})
	return pins, err
}
