package journal

import "io"

// The lock file of the operations has the key of the operation that ended last.
// The store records that end too, but somebody may put an older copy of the store
// in its place. To that store the operation has not ended. If its steps were
// carried out again, they would undo what was done since. The file is not synced:
// after a loss of power it may have an older key.

// NoteEnd writes the key of an operation that has ended.
func NoteEnd(lock io.WriterAt, key string) {
	_, _ = lock.WriteAt([]byte(key), 0)
}

// HasEnded reports whether the operation with a key was the last to end.
func HasEnded(lock io.ReaderAt, of string) bool {
	key := make([]byte, len(of))
	n, _ := lock.ReadAt(key, 0)
	return n > 0 && string(key[:n]) == of
}
