// Package record has what takes snapshots for others: the command, a command that is run between two, the hook
// of an agent, and the process that watches a worktree and is asked by all of them.
package record

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
		snapshotCommand(a), runCommand(a), watchCommand(a), hookCommand(a), acpCommand(a),
	}
}
