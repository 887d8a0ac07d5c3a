package history

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
)

func catCommand(a *app) *cobra.Command {
	return a.InWorktree("cat ID:PATH", "Print a file of a snapshot", cli.Takes(1, 1, "rewind cat @:README.md"), func(ctx context.Context, e *engine.Engine, args []string) error {
		id, path, ok := cli.CutID(args[0])
		if !ok {
			example := "@:" + args[0]
			if strings.HasPrefix(args[0], "@") {
				example = args[0] + ":README.md"
			}
			return exit.Usagef("%s: %q is no ID:PATH, such as %s", a.Verb, args[0], example)
		}
		path, err := a.Named(path)
		if err != nil {
			return err
		}
		s, err := e.Find(ctx, id)
		if err != nil {
			return err
		}
		return show.IgnoreClosed(e.Cat(ctx, s, path, a.Out))
	})
}
