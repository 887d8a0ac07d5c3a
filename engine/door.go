package engine

import (
	"context"

	"github.com/seed-82afce7a/rewind/engine/internal/blame"
	"github.com/seed-82afce7a/rewind/engine/internal/changes"
	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/engine/internal/shelf"
)

// What the rooms below have, and callers of the engine use.
type (
	// Lines say which snapshot brought each line of a file.
	Lines = blame.Result
	// A Line is one of them.
	Line = blame.Line
	// A Changed is one path of them.
	Changed = changes.Changed
	// A Name says what became of a path.
	Name = changes.Name
	// A Touch is a snapshot that changed a path.
	Touch = lookup.Touch
	// Shelf is the directory of the stores of directories without git.
	Shelf = shelf.Shelf
	// A Store is one of them.
	Store = shelf.Store
)

// What may have become of a store's directory.
const (
	Stands  = shelf.Stands
	Gone    = shelf.Gone
	Another = shelf.Another
	Passed  = shelf.Passed
	Unknown = shelf.Unknown
)

// ErrNoStore is the error of a store that there is not.
var ErrNoStore = shelf.ErrNone

// ErrUnseen is the error of a prune that could not look at a ledger.
var ErrUnseen = retention.ErrUnseen

// Stores lists the stores of directories without git.
func Stores(ctx context.Context, getenv func(string) string) (*Shelf, []Store, error) {
	s, err := shelf.Open(getenv)
	if err != nil {
		return nil, nil, err
	}
	list, err := s.Stores(ctx)
	return s, list, err
}

// ChooseStore returns the store of the list that has a name.
func ChooseStore(list []Store, name string) (Store, error) { return shelf.Choose(list, name) }
