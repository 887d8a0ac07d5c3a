package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/hook"
	"github.com/seed-82afce7a/rewind/cmd/internal/record"
	"github.com/seed-82afce7a/rewind/cmd/internal/setup"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/extension"
)

// A finding is what was found of one thing, of this worktree or of an agent.
type finding struct {
	About string `json:"about"` // "here", or the agent
	setup.Check
}

// An examined is what --json prints of doctor.
type examined struct {
	Well     bool      `json:"well"` // there is nothing to do
	Findings []finding `json:"findings"`
}

// aboutHere is what findings are about that are of no agent.
const aboutHere = "here"

func doctorCommand(a *app) *cobra.Command {
	var deep, forIssue bool
	c := cli.Command("doctor", "Tell what is well and what is not, in this directory and with the agents that are here", cli.Nothing, func(c *cobra.Command, _ []string) error {
		if forIssue && a.JSON {
			return exit.Usagef("--report is a text: leave out --json")
		}
		here, st := a.examineHere(c, deep)
		found := findingsOf(aboutHere, here)
		s := theSetup()
		for _, name := range s.Found() {
			last := hook.LastSeen(os.Getenv, name)
			found = append(found, findingsOf(name, s.Examine(name, setup.Last{Time: last.Time, Fail: last.Fail}))...)
		}
		a.Progress.Clear()
		if forIssue {
			a.report(st, found)
			return nil
		}
		todo := 0
		for _, f := range found {
			if f.State == setup.ToDo {
				todo++
			}
		}
		if a.JSON {
			a.PrintJSON(examined{todo == 0, found})
		} else {
			a.printFindings(found, todo)
		}
		if todo > 0 {
			return exit.Status(exit.Failed)
		}
		return nil
	})
	c.Flags().BoolVar(&deep, "deep", false, "also read everything back that snapshots need, as verify does")
	c.Flags().BoolVar(&forIssue, "report", false, "print what an issue needs, without any path, name or content of yours")
	return a.JSONFlag(c)
}

// theSetup knows the agents of whoever runs this.
func theSetup() *setup.Setup {
	return &setup.Setup{Getenv: os.Getenv, Files: extension.Files, Command: asCalled(), OnPath: func(program string) bool {
		_, err := exec.LookPath(program)
		return err == nil
	}}
}

func findingsOf(about string, checks []setup.Check) (out []finding) {
	for _, c := range checks {
		out = append(out, finding{about, c})
	}
	return out
}

func (a *app) printFindings(found []finding, todo int) {
	about := ""
	for _, f := range found {
		if f.About != about {
			about = f.About
			show.Say(a.Out, "%s\n", about)
		}
		show.Say(a.Out, "  %-5s %-10s %s\n", f.State, f.What, f.Text)
		if f.Mend != "" {
			show.Say(a.Out, "  %-5s %-10s → %s\n", "", "", f.Mend)
		}
	}
	if todo == 0 {
		show.Say(a.Out, "nothing is wrong\n")
		return
	}
	show.Say(a.Out, "%s to do\n", show.Count(todo, "thing"))
}

// examineHere looks at git, the worktree and its store; st is nil where these cannot be read.
func (a *app) examineHere(c *cobra.Command, deep bool) (out []setup.Check, st *engine.Status) {
	out = []setup.Check{examineGit(c.Context())}
	ctx, e, err := a.openQuietly(c)
	if err != nil {
		return append(out, setup.Check{What: "worktree", State: setup.ToDo, Text: exit.Sentence(c.Context(), err), Mend: mendOf(err)}), nil
	}
	st, err = e.Status(ctx)
	if err != nil {
		return append(out, setup.Check{What: "store", State: setup.ToDo, Text: exit.Sentence(ctx, err), Mend: "rewind verify"}), nil
	}
	out = append(out, examineStatus(st)...)
	w := record.State(ctx, a.App)
	out = append(out, examineWatch(w, w.Sentence(e)))
	if deep {
		out = append(out, examineDeep(ctx, e))
	}
	return out, st
}

// openQuietly is open without its warnings, which are findings here.
func (a *app) openQuietly(c *cobra.Command) (context.Context, *engine.Engine, error) {
	a.Verb = c.Name()
	e, err := engine.Open(c.Context(), a.Dir, &engine.Options{Force: a.Force, NoGit: a.NoGit, Progress: a.Progress.Start(a.Err)})
	a.Engine = e
	return c.Context(), e, err
}

// mendOf is what mends an error of opening a worktree, as far as that is known.
func mendOf(err error) string {
	if errors.Is(err, engine.ErrDamaged) {
		return "rewind verify"
	}
	return ""
}

func examineGit(ctx context.Context) setup.Check {
	path, err := exec.LookPath("git")
	if err != nil {
		return setup.Check{What: "git", State: setup.Told, Text: "there is no git program: rewind works without it, but for filters, rare encodings and some forms of repositories"}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, path, "version").Output()
	if err != nil {
		return setup.Check{What: "git", State: setup.ToDo, Text: fmt.Sprintf("%s does not run: %v", path, err), Mend: "install git anew"}
	}
	return setup.Check{What: "git", State: setup.Well, Text: strings.TrimSpace(string(text)) + ", " + path}
}

// examineStatus says what a status means.
func examineStatus(st *engine.Status) (out []setup.Check) {
	add := func(what string, state setup.State, text, mend string) {
		out = append(out, setup.Check{What: what, State: state, Text: text, Mend: mend})
	}
	kind := "without git"
	if st.Git {
		kind = "a git repository that is trusted"
	}
	add("worktree", setup.Well, st.Root+", "+kind, "")
	for _, w := range st.Warnings {
		out = append(out, examineWarning(w))
	}
	if st.StoreBytes == 0 {
		add("store", setup.Told, "nothing is recorded yet", "rewind snapshot")
		return out
	}
	add("store", setup.Well, fmt.Sprintf("%s, %s in %s", show.Count(st.Snapshots, "snapshot"), show.Size(st.StoreBytes), st.Store), "")
	if op := st.Unfinished; op != nil {
		add("unfinished", setup.ToDo, fmt.Sprintf("a %s of %s was interrupted", op.Kind, op.To.Short()), "rewind snapshot finishes it, rewind "+takesBack(op)+" takes it back")
	}
	for _, n := range st.Lost {
		add("not whole", setup.ToDo, fmt.Sprintf("snapshot %s: %s", n.Path[:min(len(n.Path), 12)], n.Reason), "rewind sync, if git or a clone still has what it lacks")
	}
	if len(st.Exposed) > 0 {
		add("secrets", setup.ToDo, show.Paths(st.Exposed)+" may hold secrets, and are in git objects", "git config rewind.secrets builtin && rewind purge --yes PATH")
	}
	examineRef(st, add)
	examineCost(st, add)
	if n := len(st.Skipped); n > 0 {
		add("left out", setup.Told, show.Count(n, "path")+" of the newest snapshot; the first: "+string(st.Skipped[0].Path)+": "+st.Skipped[0].Reason, "rewind status names them all")
	}
	return out
}

// takesBack is the verb that takes an interrupted operation back.
func takesBack(op *engine.Operation) string {
	if op.Kind == "undo" {
		return "redo"
	}
	return "undo"
}

type adding func(what string, state setup.State, text, mend string)

func examineRef(st *engine.Status, add adding) {
	switch {
	case !st.Git:
	case st.RefLost:
		add("ref", setup.ToDo, "refs/pi-rewind/store does not keep what it did", "rewind sync")
	case st.Pending > 0:
		add("ref", setup.ToDo, show.Count(st.Pending, "snapshot")+" not in git yet", "rewind sync")
	default:
		add("ref", setup.Well, "refs/pi-rewind/store keeps every snapshot", "")
	}
}

func examineCost(st *engine.Status, add adding) {
	text := show.Size(st.StoreBytes+st.GitBytes) + " of the disk"
	if st.FreeBytes != nil {
		text += ", of which " + show.Size(*st.FreeBytes) + " are free"
	}
	switch {
	case st.FreeBytes != nil && *st.FreeBytes == 0:
		add("disk", setup.ToDo, "the disk is full, and nothing can be recorded", "make room, then rewind prune --max-store-size SIZE --gc")
	case st.Much:
		add("disk", setup.ToDo, "history takes "+text+": more than a tenth of that", "rewind prune --max-store-size SIZE --gc")
	default:
		add("disk", setup.Well, "history takes "+text, "")
	}
}

// What a warning itself says that mends it, and the setting that it is about.
var (
	quotedCommand = cli.Pattern(`"((?:git|sudo|rewind) [^"]+)"`)
	settingName   = cli.Pattern(`^(?:unknown )?setting (rewind\.[A-Za-z]+)`)
)

// examineWarning says what a warning of the engine is about, and what mends it.
func examineWarning(w string) setup.Check {
	c := setup.Check{What: "warning", State: setup.ToDo, Text: w}
	if m := quotedCommand().FindStringSubmatch(w); m != nil {
		c.Mend = m[1]
	}
	switch m := settingName().FindStringSubmatch(w); {
	case m != nil:
		c.What, c.Mend = "setting", "git config --show-origin --get-all "+m[1]+" tells where it stands; so may the file rewind/config of yours"
	case strings.Contains(w, "max_user_watches"):
		c.What, c.Mend = "watch", "sudo sysctl fs.inotify.max_user_watches=1048576"
	case strings.Contains(w, "max_user_instances"):
		c.What, c.Mend = "watch", "sudo sysctl fs.inotify.max_user_instances=1024"
	case strings.HasPrefix(w, "not watched"):
		c.What, c.State = "watch", setup.Told // snapshots look at everything, and are right
	case strings.HasPrefix(w, cli.GitLeftOut):
		c.What = "trust"
	case strings.HasPrefix(w, "the history of "):
		c.What, c.State = "history", setup.Told
	case c.Mend == "rewind verify":
		c.What = "store"
	}
	return c
}

// examineWatch says whether the worktree is watched, and whether the system's limits
// are in the way of that.
func examineWatch(w *record.Watching, text string) setup.Check {
	c := examineWarning("not watched: " + text)
	c.Text = text
	switch {
	case w == nil:
	case w.Failing != nil:
		c.State = setup.ToDo
	case w.Watched && w.Unused == "":
		c.State = setup.Well
	}
	return c
}

// examineDeep reads everything back.
func examineDeep(ctx context.Context, e *engine.Engine) setup.Check {
	v, err := e.Verify(ctx)
	switch {
	case err != nil:
		return setup.Check{What: "contents", State: setup.ToDo, Text: exit.Sentence(ctx, err), Mend: "rewind verify"}
	case len(v.Damaged)+len(v.Unread) > 0:
		return setup.Check{What: "contents", State: setup.ToDo, Text: fmt.Sprintf("%d damaged, %d not read", len(v.Damaged), len(v.Unread)), Mend: "rewind verify names them; rewind sync brings back what git has"}
	}
	return setup.Check{What: "contents", State: setup.Well, Text: fmt.Sprintf("%s of %s read, all whole", show.Count(v.Objects, "object"), show.Count(v.Snapshots, "snapshot"))}
}
