package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
)

func versionCommand(a *app) *cobra.Command {
	return a.JSONFlag(cli.Command("version", "Tell the version, the commit and its date, and the Go that built it", cli.Takes(0, 0, ""), func(*cobra.Command, []string) error {
		if b := cli.Built(); a.JSON {
			a.PrintJSON(b)
		} else {
			show.Say(a.Out, "rewind version %s\n", builtOf(b))
		}
		return nil
	}))
}

// builtOf says it in a line, without what the build does not know.
func builtOf(b cli.Build) string {
	var from []string
	if b.Commit != "" {
		from = append(from, "commit "+b.Commit[:min(12, len(b.Commit))])
	}
	if b.Date != "" {
		from = append(from, b.Date)
	}
	return b.Version + " (" + strings.Join(append(from, b.Go), ", ") + ")"
}
