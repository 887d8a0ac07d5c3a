package command

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/history"
	"github.com/seed-82afce7a/rewind/cmd/internal/record"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
)

// A standing is what rewind says that is called without a command.
type standing struct {
	Status  *history.Status `json:"status,omitempty"`  // what status prints
	Refused string          `json:"refused,omitempty"` // in its place: why nothing is recorded here
	Agents  []agentHere     `json:"agents"`            // that are here
	Next    []step          `json:"next"`              // what is useful now
}

// An agentHere is an agent that is installed.
type agentHere struct {
	Name  string `json:"name"`
	Calls bool   `json:"calls"` // it calls rewind
}

// A step is a command that is useful now.
type step struct {
	Command string `json:"command"`
	What    string `json:"what"` // it does
}

// here says where one stands, and what to do next. It looks at no file of the worktree.
func (a *app) here(c *cobra.Command, _ []string) error {
	at := standing{Agents: []agentHere{}}
	s := theSetup()
	for _, name := range s.Found() {
		at.Agents = append(at.Agents, agentHere{name, s.Calls(name)})
	}
	ctx, e, err := a.openQuietly(c)
	switch {
	case errors.Is(err, engine.ErrRefused):
		at.Refused = strings.TrimPrefix(exit.Sentence(ctx, err), engine.ErrRefused.Error()+": ")
	case err != nil:
		return err
	default:
		if at.Status, err = history.StatusOf(ctx, a.App, e, func() *record.Watching { return record.State(ctx, a.App) }); err != nil {
			return err
		}
		a.PrintWarnings(e)
		a.PrintBisect(ctx, e)
	}
	at.Next = at.steps()
	a.Progress.Clear()
	if a.JSON {
		a.PrintJSON(at)
		return nil
	}
	if at.Refused != "" {
		show.Say(a.Out, "here       nothing is recorded: %s\n", at.Refused)
	} else {
		a.printStanding(&at.Status.Status.Status)
		show.Say(a.Out, "watched    %s\n", at.Status.Watcher.Sentence(e))
	}
	show.Say(a.Out, "agents     %s\n", agentsText(at.Agents))
	word := "next"
	for _, next := range at.Next {
		show.Say(a.Out, "%-10s %-24s %s\n", word, next.Command, next.What)
		word = ""
	}
	show.Say(a.Out, "%-10s %-24s %s\n", "", "rewind help", "lists all commands")
	return nil
}

// printStanding says what is recorded of a worktree.
func (a *app) printStanding(st *engine.Status) {
	kind := "without git"
	if st.Git {
		kind = "git repository"
	}
	show.Say(a.Out, "worktree   %s (%s)\n", st.Root, kind)
	switch {
	case st.Snapshots == 0:
		show.Say(a.Out, "recorded   nothing yet; what is recorded can be put back, exactly\n")
	case st.Recorded.IsZero():
		show.Say(a.Out, "recorded   %s\n", show.Count(st.Snapshots, "snapshot"))
	default:
		show.Say(a.Out, "recorded   %s, the last %s: %s\n", show.Count(st.Snapshots, "snapshot"), show.Age(time.Since(st.RecordedTime)), st.Recorded.Short())
	}
	switch {
	case st.Unfinished != nil:
		show.Say(a.Out, "unfinished a %s of %s was interrupted\n", st.Unfinished.Kind, st.Unfinished.To.Short())
	case !st.Here.IsZero() && st.Here != st.Recorded:
		show.Say(a.Out, "here       the files were restored to %s, and nothing was recorded since\n", st.Here.Short())
	}
}

// agentsText names agents by whether they call rewind.
func agentsText(list []agentHere) string {
	text := ""
	for _, calls := range []bool{true, false} {
		var names []engine.Path
		for _, agent := range list {
			if agent.Calls == calls {
				names = append(names, engine.Path(agent.Name))
			}
		}
		if len(names) == 0 {
			continue
		}
		if text != "" {
			text += "; "
		}
		text += map[bool]string{true: "calling rewind: ", false: "not calling it: "}[calls] + show.Paths(names)
	}
	if text == "" {
		return "none that \"rewind setup\" knows is here"
	}
	return text
}

// steps are the three commands that are most useful now.
func (at *standing) steps() (list []step) {
	add := func(command, what string) { list = append(list, step{command, what}) }
	if at.Refused != "" {
		add("rewind -C DIR", "tells of another directory: go to a project's")
	} else if st := at.Status.Status.Status; st.Unfinished != nil {
		add("rewind snapshot", "finishes what was interrupted, and records the result")
		add("rewind "+takesBack(st.Unfinished), "takes it back")
	} else if st.Snapshots == 0 {
		add("rewind snapshot", "records the state of all files")
	} else {
		add("rewind diff", "shows what changed since the last snapshot")
		add("rewind list", "lists the snapshots, with what each one changed")
		if st.Undo > 0 {
			add("rewind undo", "takes back what the last restore did, and asks before")
		}
	}
	for _, agent := range at.Agents {
		if !agent.Calls {
			add("rewind setup", "makes the agents that are here call rewind at every turn")
			break
		}
	}
	switch {
	case at.Refused != "":
		add("rewind stores", "lists what is recorded of directories without git")
		add("rewind doctor", "tells what is well and what is not")
	case at.Status.Status.Status.Snapshots == 0:
		add("rewind run -- COMMAND", "runs a command, with a snapshot before and one after")
		add("rewind watch", "records whenever nothing has changed for a while")
	default:
		add("rewind restore @", "puts the last snapshot back, and asks before")
		add("rewind ui", "looks through all this on the terminal")
	}
	return list[:3]
}
