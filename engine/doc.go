// Package engine is rewind for programs in Go: it records the state of a
// directory with all its files, and puts recorded states back.
//
// It promises what README.md promises: what a restore overwrites or deletes is in a
// durable snapshot first; a snapshot id exists only if every path was recorded or is
// named as skipped; nothing of the user's git is touched but one ref,
// refs/pi-rewind/store. It prints nothing and asks nothing, has no global state, and
// keeps no lock between two calls. What it cannot do is an error that says what
// to do, or a path that is named with its reason in what the call returns.
//
// A dozen types are all that most programs need: [Options] and [Engine] to open,
// [SnapshotOptions], [Recorded], [ListOptions] and [Snapshot] to record and find,
// [Diff] and [Change] to look, [Op] and [Restored] to change the files, [Watch] to live on.
//
// # Open
//
// [Open] finds the worktree that a directory belongs to, and its store, and gives an
// [Engine]. Many goroutines may use it, and many processes may have one on the same
// worktree. [Options] say what of the surroundings counts. [Engine.Status] tells what
// there is to know without looking at the files, [Engine.Root] where they lie,
// [Engine.Warnings] what is wrong with the settings.
//
// # Record and find
//
// [Engine.Snapshot] records the present. A [Snapshot] has an id and the points
// that it was taken for. [Engine.List] lists snapshots, newest first; [Engine.Find]
// turns an id or a name such as "@" or "undo:1" into one. [Engine.Here] is the one at
// which the files stand, [Engine.Before] the one that another is compared with.
// [Engine.Label] and [Engine.Pin] name them, [Engine.Operations] is what was restored.
//
// # Look
//
// [Engine.Diff] compares two snapshots, or one with the present, and reads the bytes of
// both sides. [Engine.Cat] writes the content of one file, [Engine.Export] all of them.
// [Engine.Log] and [Engine.Blame] tell what changed a path, and each of its lines.
//
// # Change the files
//
// An [Op] says what is to be done: a restore, an undo, a redo, or a merge of what changed
// in some ranges of history. [Engine.Plan] tells what it would change, in the same form
// as a comparison; [Engine.Do] does it, and can always be taken back. If it is
// interrupted, the next call of any kind that records or changes anything finishes it
// and says so (Recovered).
//
// # Live on
//
// A program that lives on has a [Watch]. It opens the worktree for each turn, and lets
// snapshots look only where something changed.
//
// # Keep house
//
// [Engine.Prune] drops snapshots beyond the limits, [Engine.Purge] takes paths out
// of all of them, [Engine.Import] takes over the checkpoints of other systems,
// [Engine.Sync] puts right what a crash or another program has left: what they did is a
// [Housekeeping]. [Engine.Verify] reads everything back. [Engine.Fork] writes a snapshot into a second working directory,
// and [Engine.StartBisect] lets somebody go through the history and come back.
//
// # Errors
//
// Test them with [errors.Is]: [ErrNoSnapshot], [ErrAmbiguous], [ErrDamaged],
// [ErrRefused], [ErrNothing], [ErrUnfinished], and those
// of the context.
//
// # What stays
//
// Before version 1.0 a minor version may change what this package exports; CHANGELOG.md
// names each change that breaks a program. From 1.0 on only a major version does. Fields,
// methods and conditions may be added at any time: name the fields of a struct that you
// fill, and expect errors and reasons that you do not know. The words of messages are for
// people, and no part of the promise.
package engine
