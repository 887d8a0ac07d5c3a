// Package bisect finds the snapshot with which something began to fail: by
// restoring one snapshot after the other in the worktree itself, where everything
// is that a program needs, and putting the present back.
//
// It promises:
//
//   - The present is recorded before the first file is changed, and is put back
//     exactly. Whatever ends the program before that, a bisect stands open in the
//     worktree's history ([Open]), and [Bisect.Close] puts the present back.
//   - What a tested command changed does not reach the next snapshot. It is in a
//     snapshot of its own first ([Tested].Left).
//   - Undo and redo take back afterwards what they took back before.
//
// It runs nothing and prints nothing: who asks for a verdict is the caller.
//
// # How, and why
//
// The worktree's history says that a bisect stands open ([engine.Engine.StartBisect]):
// the present, where the files stood, the tops of undo and redo, and the ends and
// verdicts. One transaction writes that with the snapshot of the present. A file of
// its own could say something else than the history. It is bound to the birth of the
// directory, so a planted one is not carried out. A prune keeps the present, but does
// not know the ends: then the search stops, and all can be put back. A purge is
// refused meanwhile, in every worktree of the store: the files on disk are not the
// owner's.
//
// A step is two ordinary operations, a restore and an undo. So at any moment one undo
// leads back, also for a program that knows nothing of bisects. To go from one
// snapshot to the next would save half of them, and need as many undos at the end. The
// end is one transaction, which sets the tops of undo and redo as they were.
//
// No command puts the present back unasked: a bisect may stand open on purpose. A lock
// beside the store keeps a second process from ending one while a test runs. A path
// that cannot be put back is named, and the bisect stays open.
//
// Not taken: a second worktree, where nothing that is ignored would be; restores on
// the user's own stack of undo, whose next undo would lead into the middle of a
// search; 126 and 127 as a mistake, as a program may be missing in an old snapshot.
//
// TestAKillDuringABisectLosesNothing holds the promise at every call.
package bisect
