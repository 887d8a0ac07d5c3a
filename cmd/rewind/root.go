package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/engine"
)

// app is what the commands share: the flags before the verb and the engine.
type app struct {
	stdio
	dir      string
	force    bool
	noGit    bool
	json     bool
	told     bool // the one object of --json
	deadline time.Duration
	engine   *engine.Engine
	verb     string      // the command that opened it
	inTime   func() bool // says that the command has ended before its deadline
	progress progress
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "rewind",
		Short:         "A time machine for the working directory of coding agents",
		Long:          "rewind records the exact state of all files of a directory and puts any\nrecorded state back, without ever losing a byte. It needs no set-up: run\n\"rewind snapshot\" in any directory, with git or without.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          known,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		Version:       version(),
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{plainFlag(err)} })
	f := root.PersistentFlags()
	f.StringVarP(&a.dir, "dir", "C", ".", "work in this `directory` instead of the current one")
	f.BoolVar(&a.force, "force", false, "also work in /, the home directory, or a directory that holds the store")
	f.BoolVar(&a.noGit, "no-git", false, "leave git out, even inside a repository")
	for _, g := range groups(a) {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.list {
			c.GroupID = g.title
		}
		root.AddCommand(g.list...)
	}
	for _, c := range root.Commands() {
		c.Long = longer(c)
		a.completeIDs(c)
	}
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Args, completion.RunE = cobra.ArbitraryArgs, shellMissing
	}
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = func(_ *cobra.Command, args []string) error {
			if about, _, err := root.Find(args); err != nil || about == root {
				return known(root, args)
			}
			return nil
		}
	}
	return root
}

// A group is a part of the list of commands.
type group struct {
	title string
	list  []*cobra.Command
}

func groups(a *app) []group {
	return []group{
		{"Record and look", []*cobra.Command{snapshotCommand(a), listCommand(a), logCommand(a), showCommand(a), diffCommand(a), blameCommand(a), catCommand(a), statusCommand(a), uiCommand(a)}},
		{"Put a state back", []*cobra.Command{restoreCommand(a), undoCommand(a), redoCommand(a), revertCommand(a), applyCommand(a), bisectCommand(a)}},
		{"Work beside this directory", []*cobra.Command{forkCommand(a), forksCommand(a), adoptCommand(a), exportCommand(a)}},
		{"Name, keep and drop", []*cobra.Command{pinCommand(a), labelCommand(a), pruneCommand(a), purgeCommand(a), storesCommand(a), importCommand(a)}},
		{"Agents and other programs", []*cobra.Command{runCommand(a), watchCommand(a), hookCommand(a), setupCommand(a), mcpCommand(a), serveCommand(a)}},
		{"Check and measure", []*cobra.Command{doctorCommand(a), verifyCommand(a), syncCommand(a), benchCommand(a)}},
	}
}

// longer is the help of a command: with what an ID and a PATH are, where it
// takes one.
func longer(c *cobra.Command) string {
	text := c.Short + "."
	if strings.Contains(c.Use, "ID") || strings.Contains(c.Use, "FROM") {
		text += "\n\n" + helpOfIDs
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

// verb makes a command whose arguments are checked and whose mistakes are
// usage errors.
func verb(use, short string, args cobra.PositionalArgs, f func(*cobra.Command, []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: checked(args), RunE: f}
}

// checked makes what is wrong with the arguments a usage error.
func checked(args cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, list []string) error {
		if err := args(c, list); err != nil {
			return usagef("%s: %w (write: %s)", strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" "), err, strings.TrimSuffix(c.UseLine(), " [flags]"))
		}
		return nil
	}
}

// takes checks the number of arguments: at least and at most so many (-1: any
// number). Who gives too few is told which one is missing, with an example.
func takes(least, most int, example string) cobra.PositionalArgs {
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

// plainFlag says of a flag's value what it should be, in place of which function of
// Go could not read it.
func plainFlag(err error) error {
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

// nothing is what a verb takes that has no arguments.
var nothing = takes(0, 0, "")

// known refuses a verb that there is not, and names those that are near it.
func known(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2
	near := c.SuggestionsFor(args[0])
	if len(near) == 0 {
		return usagef("unknown command %q; \"rewind help\" lists them", args[0])
	}
	return usagef("unknown command %q; did you mean %s?", args[0], strings.Join(near, " or "))
}

// shellMissing is what completion says that names none of its shells.
func shellMissing(c *cobra.Command, args []string) error {
	var shells []string
	for _, shell := range c.Commands() {
		shells = append(shells, shell.Name())
	}
	if len(args) == 0 {
		return usagef("completion: the shell is missing: %s", strings.Join(shells, ", "))
	}
	return usagef("completion: %q is none of the shells: %s", args[0], strings.Join(shells, ", "))
}

// jsonFlag adds --json.
func (a *app) jsonFlag(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object on standard output and nothing else there")
	return c
}

// begin begins a command; the context ends at the deadline, if there is one.
func (a *app) begin(c *cobra.Command) (context.Context, error) {
	a.verb = c.Name()
	ctx := c.Context()
	if a.deadline < 0 {
		return nil, usagef("--deadline %v is negative", a.deadline)
	}
	if a.deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.deadline)
		context.AfterFunc(ctx, cancel)
		if a.endAfter != nil {
			a.inTime = a.endAfter(ctx, a.err)
		}
	}
	return ctx, nil
}

// open begins a command and finds the worktree.
func (a *app) open(c *cobra.Command) (context.Context, *engine.Engine, error) {
	ctx, err := a.begin(c)
	if err != nil {
		return nil, nil, err
	}
	e, err := a.openIn(ctx)
	if err == nil {
		a.warnOfBisect(ctx, c, e)
	}
	return ctx, e, err
}

// openIn finds the worktree of a command that has begun.
func (a *app) openIn(ctx context.Context) (*engine.Engine, error) {
	e, err := engine.Open(ctx, a.dir, &engine.Options{Force: a.force, NoGit: a.noGit, Recovered: a.printRecovered, Progress: a.progress.start(a.err)})
	if err != nil {
		return nil, a.nowhere(err)
	}
	a.engine = e
	a.printWarnings(e)
	return e, nil
}

// nowhere makes a directory of -C that there is not a mistake on the command line.
func (a *app) nowhere(err error) error {
	if info, statErr := os.Stat(a.dir); a.dir != "." && (errors.Is(statErr, os.ErrNotExist) || statErr == nil && !info.IsDir()) {
		return usageError{err}
	}
	return err
}

// gitLeftOut begins the warning that the repository is not obeyed (package locate).
const gitLeftOut = "git is left out"

// leftOut reports whether there is a repository that is not obeyed: its snapshots are
// not seen then.
func leftOut(warnings []string) bool {
	return slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, gitLeftOut) })
}

func (a *app) printWarnings(e *engine.Engine) {
	for _, w := range e.Warnings() {
		say(a.err, "rewind: warning: %s\n", w)
	}
}

func (a *app) close() {
	if a.engine != nil {
		a.engine.Close()
	}
	a.progress.clear()
	if a.inTime != nil {
		a.inTime()
	}
}
