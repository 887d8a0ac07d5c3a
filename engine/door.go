package engine

import (
	"context"

	"github.com/seed-82afce7a/rewind/engine/internal/blame"
	"github.com/seed-82afce7a/rewind/engine/internal/changes"
	"github.com/seed-82afce7a/rewind/engine/internal/locate"
	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
	"github.com/seed-82afce7a/rewind/engine/internal/mirror"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/engine/internal/watched"
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
	// A Tree is a worktree that is watched.
	Tree = watched.Tree
	// Upkeep is what turns leave to be done between them.
	Upkeep = mirror.Upkeep
	// StoreDir is the directory of the stores of directories without git.
	StoreDir = locate.Stores
	// A Store is one of them.
	Store = locate.Store
)

// What may have become of a store's directory.
const (
	Stands  = locate.Stands
	Gone    = locate.Gone
	Another = locate.Another
	Passed  = locate.Passed
	Unknown = locate.Unknown
)

// ErrNoStore is the error of a store that there is not.
var ErrNoStore = locate.ErrNone

// ErrUnseen is the error of a prune that could not look at a ledger.
var ErrUnseen = retention.ErrUnseen

// Stores lists the stores of directories without git.
func Stores(ctx context.Context, getenv func(string) string) (*StoreDir, []Store, error) {
	s, err := locate.OpenStores(getenv)
	if err != nil {
		return nil, nil, err
	}
	list, err := s.List(ctx)
	return s, list, err
}

// ChooseStore returns the store of the list that has a name.
func ChooseStore(list []Store, name string) (Store, error) { return locate.Choose(list, name) }
