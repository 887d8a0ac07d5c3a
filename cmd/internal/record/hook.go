package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/hook"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
)

// hookPatience is shorter than that of every agent (docs/agents.md).
const hookPatience = 10 * time.Second

// A hooking is one call of a hook, or the work that it left to another process.
type hooking struct {
	app      *app
	patience time.Duration
	tools    string
	form     string
	task     bool

	// open opens the worktree in which a point is made; nil: alone.
	open func(context.Context, string, *engine.Options) (e *engine.Engine, done func(), err error)
}

func hookCommand(a *app) *cobra.Command {
	h := hooking{app: a}
	c := cli.Command("hook AGENT [EVENT]", "Record a snapshot when an agent calls (docs/agents.md); always exit 0", cli.Takes(0, 2, "rewind hook claude Stop"), func(c *cobra.Command, args []string) error {
		if h.form == "" {
			h.form = os.Getenv("REWIND_HOOK_LAYOUT")
		}
		if h.task {
			return h.work(c.Context())
		}
		agent, event := hook.Generic, ""
		if len(args) > 0 {
			agent = cli.AgentName(args[0])
		}
		if len(args) > 1 {
			event = args[1]
		}
		h.call(c.Context(), agent, event)
		return nil
	})
	f := c.Flags()
	f.DurationVar(&h.patience, "wait", hookPatience, "how long the agent may wait; what takes longer goes on by itself")
	f.StringVar(&h.tools, "tools", "", "points of single tools: changes (before the first change of a file), or all (default: $REWIND_HOOK_TOOLS, else none)")
	f.StringVar(&h.form, "layout", "", "also write each point in the form of this `system`, as snapshot does (default: $REWIND_HOOK_LAYOUT, else none)")
	f.BoolVar(&h.task, "task", false, "carry out the task on standard input")
	_ = f.MarkHidden("task")
	return c
}

// getenv is the environment, with what flags say.
func (h *hooking) getenv(name string) string {
	if name == "REWIND_HOOK_TOOLS" && h.tools != "" {
		return h.tools
	}
	return os.Getenv(name)
}

// call is what the agent waits for.
func (h *hooking) call(ctx context.Context, agent, event string) {
	dir, err := h.app.Absolute(".")
	if err != nil {
		dir = h.app.Dir
	}
	c := hook.Caller{Agent: agent, Event: event, Dir: dir, Input: h.app.In, Patience: h.patience, Getenv: h.getenv, Start: h.start,
		Tell: func(line string) { h.tell(agent, line) }}
	if show.IsTerminal(h.app.In) { // a person tries it, and has no JSON to type
		c.Input = nil
	}
	defer h.survive()
	c.Call(ctx)
}

// messaged are the agents that show nobody what a hook that succeeds writes to
// standard error. They show the user, and not the model, the one field of an object on
// standard output (docs/agents.md).
var messaged = []string{"claude", "codex", "gemini", "qwen"}

// tell says one line where the user of the agent sees it.
func (h *hooking) tell(agent, line string) {
	show.Say(h.app.Err, "rewind: %s\n", line)
	if slices.Contains(messaged, agent) && !show.IsTerminal(h.app.In) {
		h.app.PrintJSON(map[string]string{"systemMessage": "rewind: " + line})
	}
}

// start has the work done by a process that outlives this one: one that watches the
// worktree, or one that is started for it.
func (h *hooking) start(task []byte) (io.ReadCloser, error) {
	if out, err := h.besideHook(task); err == nil {
		return out, nil
	}
	return h.ownTask(task)
}

// ownTask begins the work in a process that outlives this one, or in this one if there
// cannot be another.
func (h *hooking) ownTask(task []byte) (io.ReadCloser, error) {
	if h.app.Self != "" {
		if out, err := h.process(task); err == nil {
			return out, nil
		}
	}
	from, to := io.Pipe()
	w := hook.Worker{Getenv: h.getenv, Output: to, Take: h.take}
	go func() {
		defer to.Close() // also where the work ends in a panic: the agent goes on
		defer h.survive()
		_ = to.CloseWithError(w.Work(context.Background(), task))
	}()
	return from, nil
}

// survive says what went wrong, and lets the agent go on.
func (h *hooking) survive() {
	if p := recover(); p != nil {
		show.Say(h.app.Err, "rewind: nothing was recorded: %v\n", p)
	}
}

func (h *hooking) process(task []byte) (io.ReadCloser, error) {
	cmd, err := h.app.Another("hook", "--task", "--layout="+h.form)
	if err != nil {
		return nil, err
	}
	cmd.Stdin = bytes.NewReader(task)
	cmd.Env = append(os.Environ(), "REWIND_HOOK_TOOLS="+h.getenv("REWIND_HOOK_TOOLS"))
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	cmd.Stdout = in
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	go func() { _ = cmd.Wait() }() // one that stands between an editor and an agent lives for days
	return out, nil
}

// work carries out a task. Its reader may be gone by the time there is something to
// say.
func (h *hooking) work(ctx context.Context) error {
	signal.Ignore(syscall.SIGPIPE)
	task, err := io.ReadAll(h.app.In)
	if err != nil {
		return err
	}
	w := hook.Worker{Getenv: os.Getenv, Output: show.BehindWriter(h.app.Out), Take: h.take}
	return w.Work(ctx, task)
}

// take makes one point, and returns what the user has to know of it. Where the agent
// has gone into another worktree since its conversation began, such as a repository
// inside, both have one: either may be where its turn changes files.
func (h *hooking) take(ctx context.Context, ev *hook.Event) (lines []string, err error) {
	if err := cli.KindOf("--layout", h.form); err != nil {
		lines = append(lines, err.Error())
		h.form = ""
	}
	said, root, err := h.point(ctx, ev, ev.Dir, "")
	lines = append(lines, said...)
	if ev.Project == "" {
		return lines, err
	}
	said, other, failed := h.point(ctx, ev, ev.Project, root)
	lines = append(lines, said...)
	switch {
	case failed != nil && err == nil:
		err = fmt.Errorf("%s: %w", show.Quote(engine.Path(ev.Project)), failed)
	case failed == nil && err != nil && other != root: // a directory that the agent has removed, say
		lines, err = append(lines, "nothing was recorded in "+show.Quote(engine.Path(ev.Dir))+": "+err.Error()), nil
	}
	return lines, err
}

// point makes one point in the worktree of a directory, unless that is the one that
// has it already.
func (h *hooking) point(ctx context.Context, ev *hook.Event, dir, made string) (lines []string, root string, err error) {
	tell := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	open := h.open
	if open == nil {
		open = openAlone
	}
	e, end, err := open(ctx, dir, &engine.Options{Force: h.app.Force, NoGit: h.app.NoGit, AutoPush: h.app.AutoPush, Recovered: func(done *engine.Restored) {
		tell("%s", show.RecoveredText(done))
		for _, n := range done.Conflicts {
			tell("conflict: %s: %s", show.Quote(n.Path), n.Reason)
		}
	}})
	if err != nil {
		return lines, "", err
	}
	defer end()
	if e.Root() == made {
		return lines, made, nil
	}
	for _, w := range e.Warnings() {
		tell("warning: %s", w)
	}
	trigger := ev.Act
	if trigger == hook.BeforeTool {
		trigger = hook.AfterTool
	}
	r, err := e.Snapshot(ctx, &engine.SnapshotOptions{
		Label: ev.Label, Session: ev.Session, Entry: ev.Prompt, Trigger: string(trigger), Agent: ev.Agent, Prompt: ev.Text, Layout: h.form,
	})
	if err != nil {
		return lines, e.Root(), errors.New(exit.Sentence(ctx, err))
	}
	if h.open == nil {
		h.app.startWatcher(ctx, e, r.Looked)
	}
	return append(lines, worthSaying(r)...), e.Root(), nil
}

// openAlone opens a worktree for one use.
func openAlone(ctx context.Context, dir string, opt *engine.Options) (*engine.Engine, func(), error) {
	e, err := engine.Open(ctx, dir, opt)
	if err != nil {
		return nil, nil, err
	}
	return e, func() { _ = e.Close() }, nil
}

// worthSaying is what the user has to know of a snapshot that nobody looks at.
func worthSaying(r *engine.Recorded) (lines []string) {
	tell := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for i, n := range r.Unexpected {
		if i == 3 {
			tell("left out: %s more (\"rewind status\" names them)", show.Count(len(r.Unexpected)-i, "path"))
			break
		}
		tell("left out: %s: %s", show.Quote(n.Path), n.Reason)
	}
	for _, err := range []error{r.Unfinished, r.Bridge, r.LayoutError} {
		if err != nil {
			tell("warning: %v", err)
		}
	}
	if len(r.Exposed) > 0 {
		tell("%s may hold secrets and are in git objects now (\"git config rewind.secrets builtin\" keeps such files out of git, \"rewind purge\" removes what is there)", show.Paths(r.Exposed))
	}
	return lines
}
