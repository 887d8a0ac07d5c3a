package wire

import (
	"time"

	"github.com/seed-82afce7a/rewind/engine"
)

// Stores is the answer of stores.
type Stores struct {
	Stores  []Store `json:"stores,omitzero"`
	Removed *Store  `json:"removed,omitempty"` // with --remove, alone
}

// A Store is one of a directory without git.
type Store struct {
	ID        string    `json:"id"`
	Directory *Path     `json:"directory,omitempty"`
	State     string    `json:"state"` // of the directory: stands, gone, another (is there now), passed (it is a git repository now, which has this history too) or unknown
	Bytes     int64     `json:"bytes"`
	Snapshots int       `json:"snapshots"`
	LastTime  time.Time `json:"last_time,omitzero"`
	Error     string    `json:"error,omitempty"`
}

// NewStores tells of stores.
func NewStores(list []engine.Store) Stores {
	out := Stores{Stores: make([]Store, 0, len(list))}
	for _, st := range list {
		s := Store{ID: st.ID, State: st.State, Bytes: st.Bytes, Snapshots: st.Snapshots, LastTime: st.Last, Error: text(st.Err)}
		if st.Directory != "" {
			p := NewPath(engine.Path(st.Directory))
			s.Directory = &p
		}
		out.Stores = append(out.Stores, s)
	}
	return out
}
