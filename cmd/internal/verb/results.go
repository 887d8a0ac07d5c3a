package verb

import (
	"encoding/json"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// What the protocol alone has: all other results are what commands print (package wire).

// An Initialized is the answer of initialize.
type Initialized struct {
	Protocol  int      `json:"protocol"` // the version in force
	Version   string   `json:"version"`  // of the program
	Root      string   `json:"root"`     // of the worktree
	Git       bool     `json:"git"`      // it belongs to a git repository
	Branch    string   `json:"branch,omitempty"`
	Algorithm string   `json:"algorithm"` // the hash behind the ids: sha1, sha256 or blake3
	Store     string   `json:"store"`     // the store's file
	Warnings  []string `json:"warnings"`
}

// A part is the answer of cat.
type part struct {
	Data []byte `json:"data"`
	More bool   `json:"more,omitempty"` // there are other bytes behind them
}

// An existent is the answer of exists.
type existent struct {
	IDs      []oid.ID          `json:"ids"`                // those that name a snapshot that can be restored
	Branches map[string]string `json:"branches,omitempty"` // by id, on which it was recorded
	Here     string            `json:"here,omitempty"`     // the present branch
}

// A pointed is the answer of points.
type pointed struct {
	Points map[string]oid.ID `json:"points"` // by entry, what it is bound to
	state
	Pending *state `json:"pending,omitempty"` // what `leaf` left for the child of its last fork
}

// A state is what a session says of the files at one of its entries.
type state struct {
	Current string `json:"current,omitempty"` // the snapshot at which they stood
	Undo    string `json:"undo,omitempty"`    // what undo would have returned to
}

// A Progress says how far a request is.
type Progress struct {
	ID    json.RawMessage `json:"id"`   // of the request
	Step  string          `json:"step"` // scan, restore or verify
	Done  int             `json:"done"` // files
	Total int             `json:"total,omitempty"`
	Bytes int64           `json:"bytes,omitempty"`
}

// A Warning tells of something that did not stop a request.
type Warning struct {
	Message string `json:"message"`
}
