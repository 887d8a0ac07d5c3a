package wire

import "github.com/seed-82afce7a/rewind/internal/oid"

// Pins is the answer of pin, and of pins.
type Pins struct {
	Pins map[string]oid.ID `json:"pins"` // the name of each pin, and the id that it is at
}

// Labels is the answer of label.
type Labels struct {
	ID     string   `json:"id"`
	Labels []string `json:"labels"` // what the snapshot has now, the newest first
}
