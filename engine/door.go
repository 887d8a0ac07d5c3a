package engine

import (
	"context"

	"github.com/seed-82afce7a/rewind/engine/internal/blame"
	"github.com/seed-82afce7a/rewind/engine/internal/changes"
	"github.com/seed-82afce7a/rewind/engine/internal/locate"
	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
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
	// A Store is one of a directory without git.
	Store = locate.Store
)

// Stores lists the stores of directories without git, by the names of their folders.
// [Store.Remove] removes one with all its history.
func Stores(ctx context.Context, getenv func(string) string) ([]Store, error) {
	s, err := locate.OpenStores(getenv)
	if err != nil {
		return nil, refused(err)
	}
	return s.List(ctx)
}
