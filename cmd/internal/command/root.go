package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/change"
	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/history"
	"github.com/seed-82afce7a/rewind/cmd/internal/record"
	"github.com/seed-82afce7a/rewind/cmd/internal/remote"
	"github.com/seed-82afce7a/rewind/cmd/internal/serve"
)

// Tree has all commands, for who writes pages about them: none is to be run.
func Tree() *cobra.Command { return newRoot(&cli.App{}) }

// newRoot is the tree of all commands.
func newRoot(c *cli.App) *cobra.Command {
	a := &app{c}
	c.Lend = record.LendTo(c)
	root := &cobra.Command{
		Use:           "rewind",
		Short:         "A time machine for the working directory of coding agents",
		Long:          "rewind records the exact state of all files of a directory and puts any\nrecorded state back, without ever losing a byte. It needs no set-up: run\n\"rewind snapshot\" in any directory, with git or without.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          known,
		RunE:          a.here,
		Version:       builtOf(cli.Built()), // a template of its own would link text/template: 2 MB
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit.Usage(cli.PlainFlag(err)) })
	f := root.PersistentFlags()
	f.StringVarP(&a.Dir, "dir", "C", ".", "work in this `directory` instead of the current one")
	f.BoolVar(&a.Force, "force", false, "also work in /, the home directory, or a directory that holds the store")
	f.BoolVar(&a.NoGit, "no-git", false, "leave git out, even inside a repository")
	_ = a.JSONFlag(root).Flags().MarkHidden("json") // of rewind alone
	root.AddCommand(record.Commands(a.App)...)
	root.AddCommand(history.Commands(a.App)...)
	root.AddCommand(change.Commands(a.App)...)
	root.AddCommand(remote.Commands(a.App)...)
	root.AddCommand(serve.Commands(a.App)...)
	root.AddCommand(uiCommand(a), setupCommand(a), doctorCommand(a), configCommand(a), uninstallCommand(a), benchCommand(a), versionCommand(a))
	groupOf := map[string]string{}
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g[0], Title: g[0] + ":"})
		for _, name := range strings.Fields(g[1]) {
			groupOf[name] = g[0]
		}
	}
	for _, c := range root.Commands() {
		c.GroupID = groupOf[c.Name()]
		c.Long = cli.Longer(c)
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

// groups are the parts of the list of commands.
var groups = [][2]string{
	{"Record and look", "snapshot list log show diff blame cat status ui"},
	{"Put a state back", "restore undo redo revert apply bisect"},
	{"Work beside this directory", "fork forks adopt export"},
	{"Name, keep and drop", "pin label prune purge stores import"},
	{"Keep elsewhere", "remote push fetch resume"},
	{"Agents and other programs", "run acp watch hook setup uninstall mcp serve"},
	{"Check and measure", "doctor config verify sync bench version"},
}

// known refuses a verb that there is not, and names those that are near it.
func known(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if line := answer(args[0]); line != "" {
		return exit.Usagef("there is no command %q: %s", args[0], line)
	}
	c.SuggestionsMinimumDistance = 2
	near := c.SuggestionsFor(args[0])
	if len(near) == 0 {
		return exit.Usagef("unknown command %q; \"rewind help\" lists them", args[0])
	}
	return exit.Usagef("unknown command %q; did you mean %s?", args[0], strings.Join(near, " or "))
}

// answer is what to say to a word that people try, and that may mean more than one thing.
func answer(word string) string {
	switch word {
	case "back", "rollback", "reset", "checkout", "goto":
		return "\"rewind restore @\" puts the last snapshot back, \"rewind undo\" takes back what a restore did; \"rewind list\" shows what there is"
	case "pull":
		return "\"rewind fetch\" brings the snapshots of a remote that are not here"
	case "clone":
		return "\"rewind resume URL DIR\" makes an empty directory what a snapshot in a remote is"
	case "init", "install":
		return "nothing has to be prepared: \"rewind snapshot\" records this directory, \"rewind setup\" makes the agents that are here do so"
	}
	return ""
}

// shellMissing is what completion says that names none of its shells.
func shellMissing(c *cobra.Command, args []string) error {
	var shells []string
	for _, shell := range c.Commands() {
		shells = append(shells, shell.Name())
	}
	if len(args) == 0 {
		return exit.Usagef("completion: the shell is missing: %s", strings.Join(shells, ", "))
	}
	return exit.Usagef("completion: %q is none of the shells: %s", args[0], strings.Join(shells, ", "))
}
