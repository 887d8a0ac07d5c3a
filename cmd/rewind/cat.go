package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/internal/fork"
)

func catCommand(a *app) *cobra.Command {
	return verb("cat ID:PATH", "Print a file of a snapshot", takes(1, 1, "rewind cat @:README.md"), func(c *cobra.Command, args []string) error {
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		id, path, ok := cutID(args[0])
		if !ok {
			example := "@:" + args[0]
			if strings.HasPrefix(args[0], "@") {
				example = args[0] + ":README.md"
			}
			return usagef("%s: %q is no ID:PATH, such as %s", c.Name(), args[0], example)
		}
		if path, err = a.named(path); err != nil {
			return err
		}
		s, err := e.Resolve(ctx, id)
		if err != nil {
			return err
		}
		return ignoreClosed(e.Cat(ctx, s, path, a.out))
	})
}

// cutID separates ID:PATH. Some kinds of names have a colon of their own: a time has
// it in its braces, the others one at their beginning and no more.
func cutID(text string) (id, path string, ok bool) {
	if name := ownColon().FindString(text); name != "" {
		return name[:len(name)-1], text[len(name):], true
	}
	return strings.Cut(text, ":")
}

var ownColon = pattern(`^(@\{[^}]*\}|(undo|prompt|label|pin|):[^:]+):`)

// pattern compiles an expression when it is first needed: whatever a program makes
// beforehand, each start of it takes longer.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

func exportCommand(a *app) *cobra.Command {
	return verb("export ID DIR", "Write what a snapshot holds into a new directory", takes(2, 2, "rewind export @ ../copy"), func(c *cobra.Command, args []string) error {
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		s, err := e.Resolve(ctx, args[0])
		if err != nil {
			return err
		}
		dir, err := a.absolute(args[1])
		if err != nil {
			return err
		}
		if err := fork.PlaceExport(ctx, e, dir); err != nil {
			return mistakenPlace(c.Name(), err)
		}
		r, err := e.Export(ctx, s, dir)
		if err != nil {
			return err
		}
		a.progress.clear()
		for _, n := range r.Conflicts {
			say(a.err, "not as recorded: %s: %s\n", quote(n.Path), n.Reason)
		}
		say(a.out, "wrote %s to %s\n", count(r.Written, "file"), args[1])
		if isBelow(e.Root(), dir) {
			say(a.err, "rewind: note: %s is in the worktree: the next snapshot records it, unless it is ignored\n", args[1])
		}
		return outcome(r)
	})
}

// isBelow reports whether a directory that is there lies below another one.
func isBelow(root, dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(root, real)
	return err == nil && filepath.IsLocal(rel)
}
