package engine

import (
	"github.com/seed-82afce7a/rewind/engine/records"
)

// What the records of a store are made of; [records] says what each one means.
type (
	// A Snapshot is a recorded state of a worktree.
	Snapshot = records.Snapshot
	// A Point says what a snapshot was taken for.
	Point = records.Point
	// Rules are the ignore rules outside the tree that were in force.
	Rules = records.Rules
	// A Note names a path and says why it was left out, kept or not restored.
	Note = records.Note
	// A Path is a slash-separated path below the worktree, bytes as on disk.
	Path = records.Path
	// A Source says where a snapshot comes from that has no record of the usual kind.
	Source = records.Source
	// Limits say what a snapshot could not have contained because of who made it.
	Limits = records.Limits
	// An Operation is a restore, an undo or a redo.
	Operation = records.Operation
)
