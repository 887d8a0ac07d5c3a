// Package serve answers programs: those that speak the protocol of docs/protocol.md, and agents that speak the
// Model Context Protocol.
package serve

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
		serveCommand(a), mcpCommand(a),
	}
}
