// Package mirror is the one way into git, and sees to it that a record names only
// what is held: durably in the store, or durably in git and reachable from our
// ref as it is on disk (docs/decisions/0005-bridge.md has the order of steps).
//
// A staged state becomes a [Held], which alone gets a [Way] into git; so nothing
// can be recorded that was not looked after. Apart from that the package brings
// into git what is pending, takes out of the ref what was dropped, and mends what
// others took from it. It touches nothing of git but objects and our ref, and
// knows no file of the worktree.
package mirror

import (
	"context"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
)

// A Mirror is the way into one repository. Without git it only holds.
type Mirror struct {
	Objects *objects.Objects
	View    func(context.Context, func(*records.View) error) error   // reads the records; without a store it does nothing
	Update  func(context.Context, func(*records.Update) error) error // changes them in a durable transaction

	upkeep *Upkeep // of a program that lives on; nil: nothing is left for later
}

func (m *Mirror) git() *gitbridge.Repo { return m.Objects.Git }
