// Package change has the commands that change files: those that put a recorded state back, whole or in part,
// and those that work in a second directory.
package change

import (
	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
)

// An app has the methods of this package.
type app struct{ *cli.App }

// Commands makes the commands.
func Commands(c *cli.App) []*cobra.Command {
	a := &app{c}
	return []*cobra.Command{
		restoreCommand(a), undoCommand(a), redoCommand(a), revertCommand(a), applyCommand(a), bisectCommand(a), forkCommand(a), forksCommand(a), adoptCommand(a), exportCommand(a),
	}
}
