package objects

import (
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// ErrNewerFormat is reported of a store that a newer version has written.
var ErrNewerFormat = cas.ErrNewerFormat

// What a person can do about a store that is damaged as a whole. An object or a
// record that is damaged hinders only what needs it.
const (
	wayOutBehind = `its newest snapshots may be missing, and no command relies on it as it is; "rewind sync" goes on with what is there, and what refs/pi-rewind/store has beside it "rewind list --all" shows`
	wayOutBroken = `move it and its .lock away: the next "rewind snapshot" makes a new one, and in a git repository it has the snapshots again that refs/pi-rewind/store keeps`
)

// StoreError turns the damages that the store reports into [records.ErrDamaged],
// and says what can be done about them. Every other error, and one that it made
// itself, comes back as it is.
func StoreError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, records.ErrDamaged): // it has been here
		return err
	case errors.Is(err, cas.ErrBehind):
		return fmt.Errorf("%w: %w: %s", records.ErrDamaged, err, wayOutBehind)
	case errors.Is(err, cas.ErrBroken), errors.Is(err, cas.ErrNotStore):
		return fmt.Errorf("%w: %w: %s", records.ErrDamaged, err, wayOutBroken)
	case errors.Is(err, cas.ErrCorrupt):
		return fmt.Errorf("%w: %w", records.ErrDamaged, err)
	}
	return err
}

// TooLarge reports whether an object is whole, as far as anybody knows, and cannot
// be read: git keeps it in a form that needs more memory than there may be.
func TooLarge(err error) bool { return errors.Is(err, gitodb.ErrTooLarge) }

// gitError says of an object of git that it cannot be read, and whether it is
// damaged.
func gitError(id oid.ID, err error) error {
	if TooLarge(err) {
		return fmt.Errorf("object %v: %w", id, err)
	}
	return fmt.Errorf("%w: object %v: %w", records.ErrDamaged, id, err)
}

// ReadError turns what reading an object has met that is missing or damaged, in the store or in git, into a
// [records.ErrDamaged]. Every other error comes back as it is.
func ReadError(id oid.ID, err error) error {
	if errors.Is(err, cas.ErrNotFound) || errors.Is(err, gitodb.ErrNotFound) || errors.Is(err, gitodb.ErrCorrupt) {
		return fmt.Errorf("%w: object %v: %w", records.ErrDamaged, id, err)
	}
	return StoreError(err)
}

// TreeError turns the error of a malformed tree into a [records.ErrDamaged].
func TreeError(err error) error {
	if errors.Is(err, tree.ErrMalformed) {
		return fmt.Errorf("%w: %w", records.ErrDamaged, err)
	}
	return err
}
