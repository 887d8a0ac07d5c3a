// Package history has the commands that look at what is recorded, name it, check it and drop it.
package history

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
		listCommand(a), logCommand(a), showCommand(a), diffCommand(a), blameCommand(a), catCommand(a), statusCommand(a), verifyCommand(a), syncCommand(a), pinCommand(a), labelCommand(a), pruneCommand(a), purgeCommand(a), storesCommand(a), importCommand(a),
	}
}
