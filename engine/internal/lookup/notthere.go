package lookup

import (
	"fmt"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A NotThere error says that a snapshot has nothing at some paths. It is an
// [ErrNoSnapshot]: there is no such thing to be had.
type NotThere struct {
	Snapshot oid.ID
	Paths    []records.Note // with the reason, if one is known
	Other    string         // what has nothing there either; "": there is no other
}

// Error names the paths.
func (n NotThere) Error() string {
	var names []string
	for _, at := range n.Paths {
		name := fmt.Sprintf("%q", at.Path)
		if at.Reason != "" {
			name += " (" + at.Reason + ", and not recorded)"
		}
		names = append(names, name)
	}
	where := "snapshot " + n.Snapshot.Short()
	if n.Other != "" {
		return fmt.Sprintf("neither %s nor %s has %s", where, n.Other, strings.Join(names, ", "))
	}
	return fmt.Sprintf("%s has no path %s", where, strings.Join(names, ", "))
}

// Is makes it an ErrNoSnapshot.
func (n NotThere) Is(target error) bool { return target == ErrNoSnapshot }
