package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/engine"
)

// SplitPaths separates what stands before "--" from the paths behind it.
func (a *App) SplitPaths(args []string, most int) (before, paths []string, err error) {
	before = args
	if a.Dash >= 0 {
		before, paths = args[:a.Dash], args[a.Dash:]
	}
	if len(before) > most {
		return nil, nil, exit.Usagef("%s: %q is too much (put paths after --)", a.Verb, before[most])
	}
	return before, paths, nil
}

// KindOf checks the name of a system that a flag gives, "" for none.
func KindOf(flag, name string) error {
	for _, k := range append(engine.ImportKinds(), "") {
		if k == name {
			return nil
		}
	}
	return exit.Usagef("%s %q is none of %s", flag, name, strings.Join(engine.ImportKinds(), ", "))
}

// Duration is n units of time, or the longest there is: 292 years.
func Duration(n float64, unit time.Duration) time.Duration {
	if n >= float64(math.MaxInt64/unit) {
		return math.MaxInt64
	}
	return time.Duration(n * float64(unit))
}

// AgentName is an agent's name as rewind has it: people also call it by the name of its
// product, as claude-code.
func AgentName(name string) string {
	short := strings.ToLower(name)
	for _, end := range []string{"-code", "-cli"} {
		short = strings.TrimSuffix(short, end)
	}
	return strings.TrimPrefix(short, "github-")
}

// AlsoLabel lets --label say what --message does.
func AlsoLabel(f *pflag.FlagSet) {
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "label" {
			name = "message"
		}
		return pflag.NormalizedName(name)
	})
}

// WithHint adds to an error what may be its reason, if it may be.
func WithHint(err error, hint string) error {
	if hint == "" || !errors.As(err, &exit.UsageError{}) && !errors.Is(err, engine.ErrNoSnapshot) {
		return err
	}
	return fmt.Errorf("%w; %s", err, hint)
}

// FlagHint tells who wrote a flag behind "--" that it is a path there; "" if
// nobody did.
func FlagHint(paths []string) string {
	for _, p := range paths {
		if strings.HasPrefix(p, "-") {
			return fmt.Sprintf("behind -- everything is a path, also %s: flags stand before it", p)
		}
	}
	return ""
}

// Longer is the help of a command: with what an ID, a URL and a PATH are, where it
// takes one.
func Longer(c *cobra.Command) string {
	text := c.Short + "."
	if strings.Contains(c.Use, "ID") || strings.Contains(c.Use, "FROM") {
		text += "\n\n" + helpOfIDs
	}
	if strings.Contains(c.Use, "URL") {
		text += "\n\n" + helpOfURLs
	}
	switch {
	case strings.Contains(c.Use, "-- PATH"):
		text += "\n\n" + helpOfPaths
	case strings.Contains(c.Use, ":PATH"), strings.Contains(c.Use, ":]PATH"):
		text += "\n\nPATH is a file, relative to the current directory; /PATH is relative to the top of\nthe worktree."
	case strings.Contains(c.Use, "PATH"):
		text += "\n\nPATH is a file, or a directory with everything below it, as its name is. A pattern\nhas to say :(glob)PATTERN."
	}
	return text
}

const (
	helpOfURLs = `URL is the place of a repository of restic:
  /DIR                             a directory, as of a disk or a mounted share
  s3://BUCKET/FOLDER               of AWS, or of the server that its settings name
  s3:https://SERVER/BUCKET/FOLDER  of any server that speaks S3
or of git:
  git@HOST:PATH, https://HOST/PATH.git, ssh://…, or the name of a remote of git`
	helpOfIDs = `ID names a snapshot:
  @        the last one that was recorded on purpose; @~1 the one before it, and so on
  @{TIME}  what @ was then: @{10 minutes ago}, @{yesterday}, @{2026-11-21 14:00}
  undo:1   what the last restore, revert, undo or the like replaced; undo:2 the one before, and so on
  3f2a1b…  its id as "rewind list" shows it, or four or more digits of its beginning
  NAME     the name that "rewind pin" gave it; also pin:NAME
  label:…  the one with this label
  :/TEXT   the newest of which a label or prompt has the text
  prompt:… the state before an agent worked on the prompt with this id`
	helpOfPaths = `PATH is a file, or a directory with everything below it, relative to the current
directory. "*.go" means every file of such a name here and below. Behind -- all
is a PATH: flags stand before it.`
)

// Command makes a command whose arguments are checked and whose mistakes are
// usage errors.
func Command(use, short string, args cobra.PositionalArgs, f func(*cobra.Command, []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: checked(args), RunE: f}
}

// InWorktree makes a command that works in a worktree, which is open when f is called.
func (a *App) InWorktree(use, short string, args cobra.PositionalArgs, f func(context.Context, *engine.Engine, []string) error) *cobra.Command {
	return Command(use, short, args, func(c *cobra.Command, args []string) error {
		ctx, e, err := a.Open(c)
		if err != nil {
			return err
		}
		return f(ctx, e, args)
	})
}

// checked makes what is wrong with the arguments a usage error.
func checked(args cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, list []string) error {
		if err := args(c, list); err != nil {
			return exit.Usagef("%s: %w (write: %s)", strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" "), err, strings.TrimSuffix(c.UseLine(), " [flags]"))
		}
		return nil
	}
}

// Takes checks the number of arguments: at least and at most so many (-1: any
// number). Who gives too few is told which one is missing, with an example.
func Takes(least, most int, example string) cobra.PositionalArgs {
	return func(c *cobra.Command, list []string) error {
		switch {
		case len(list) < least:
			words := strings.Fields(strings.ReplaceAll(c.Use, " -- ", " "))
			return fmt.Errorf("%s is missing, as in: %s", strings.TrimSuffix(words[len(list)+1], "..."), example)
		case most == 0 && len(list) > 0:
			return fmt.Errorf("%q is too much: it takes no arguments", list[0])
		case most > 0 && len(list) > most:
			return fmt.Errorf("%q is too much, as in: %s", list[most], example)
		}
		return nil
	}
}

// PlainFlag says of a flag's value what it should be, in place of which function of
// Go could not read it.
func PlainFlag(err error) error {
	for name, want := range map[string]string{
		": strconv.ParseInt: ":  "it is no whole number",
		": strconv.ParseUint: ": "it is no whole number from 0 on",
		": strconv.ParseBool: ": "write the flag alone",
		": time: ":              "it is no duration, such as 2s or 12h",
	} {
		if text, _, ok := strings.Cut(err.Error(), name); ok {
			return fmt.Errorf("%s: %s", text, want)
		}
	}
	return err
}

// Nothing is what a verb takes that has no arguments.
var Nothing = Takes(0, 0, "")
