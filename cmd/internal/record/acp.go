package record

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/acp"
	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/hook"
	"github.com/seed-82afce7a/rewind/cmd/internal/process"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
)

// A between stands between an editor and an agent. Each point is made as a hook makes it.
type between struct {
	hooking
	acp.Relay
	told sync.Map // the lines that were said: where no state can be kept nobody else remembers
}

func acpCommand(a *app) *cobra.Command {
	b := between{hooking: hooking{app: a}}
	c := cli.Command("acp -- AGENT [ARG...]", "Run an agent for an editor that speaks the Agent Client Protocol, with a snapshot before each prompt and after each turn", cli.Takes(1, -1, "rewind acp -- gemini --acp"), func(c *cobra.Command, args []string) error {
		b.form = os.Getenv("REWIND_HOOK_LAYOUT")
		return b.run(c.Context(), args)
	})
	c.Flags().SetInterspersed(false)
	c.Flags().DurationVar(&b.patience, "wait", hookPatience, "how long a prompt, or the end of a turn, may wait; what takes longer goes on by itself")
	return c
}

func (b *between) run(ctx context.Context, args []string) error {
	b.Agent = filepath.Base(args[0])
	b.Begins = func(t acp.Turn) { b.point(ctx, "before", t) }
	b.Ends = func(t acp.Turn) { b.point(ctx, "after", t) }
	// An end that nobody reads any more is an error of the writer, and no end of this
	// process; what is caught here is not ignored by the agent.
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	defer signal.Stop(gone)
	state, err := b.relay(args)
	if err != nil {
		return b.app.notBegun("acp", args[0], err)
	}
	for _, t := range b.Left() {
		b.Ends(t)
	}
	if code := state.ExitCode(); code > 0 {
		return exit.Status(code)
	} else if code < 0 {
		return exit.Status(process.EndAs(state))
	}
	return nil
}

// restOfOutput is how long after an agent's end its output may rest before it counts as
// over: a process that it left behind may hold it open.
const restOfOutput = time.Second

// relay runs the agent, and returns when it has ended and all that it said was passed on.
func (b *between) relay(args []string) (*os.ProcessState, error) {
	cmd := exec.Command(args[0], args[1:]...)
	input, toAgent, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer toAgent.Close()
	fromAgent, output, err := os.Pipe()
	if err != nil {
		input.Close()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout = input, output
	var ended atomic.Bool
	passed := make(chan struct{})
	state, err := b.app.RunCommand(cmd, func() {
		input.Close()
		output.Close()
		go func() {
			err := b.ToAgent(toAgent, b.app.In)
			toAgent.Close()
			if in, ok := b.app.In.(io.Closer); ok && err != nil {
				in.Close() // the editor is to know that nobody reads
			}
		}()
		go func() {
			defer close(passed)
			_ = b.ToEditor(show.BehindWriter(b.app.Out), &resting{fromAgent, &ended})
			fromAgent.Close() // the agent is to know that nobody reads
		}()
	})
	if err != nil {
		input.Close()
		output.Close()
		fromAgent.Close()
		return nil, err
	}
	ended.Store(true)
	_ = fromAgent.SetReadDeadline(time.Now().Add(restOfOutput))
	<-passed
	return state, nil
}

// A resting is the output of an agent, which is over when the agent has ended and nothing
// has come for a while.
type resting struct {
	*os.File
	ended *atomic.Bool
}

func (r *resting) Read(p []byte) (int, error) {
	if r.ended.Load() {
		_ = r.SetReadDeadline(time.Now().Add(restOfOutput))
	}
	n, err := r.File.Read(p)
	if os.IsTimeout(err) {
		err = io.EOF
	}
	return n, err
}

// point makes one point. The agent waits for it as it would for a hook.
func (b *between) point(ctx context.Context, when string, t acp.Turn) {
	said := map[string]string{"agent": t.Agent, "session": t.Session, "cwd": t.Dir}
	if t.Text != "" { // an empty one asks for no point, and one of pictures alone has none
		said["prompt"] = t.Text
	}
	input, err := json.Marshal(said)
	if err != nil {
		return
	}
	dir, err := b.app.Absolute(".")
	if err != nil {
		dir = b.app.Dir
	}
	c := hook.Caller{Agent: hook.Editors, Event: when, Dir: dir, Input: bytes.NewReader(input), Patience: b.patience, Getenv: b.getenv, Start: b.start,
		Tell: func(line string) {
			if _, again := b.told.LoadOrStore(line, true); !again {
				show.Say(b.app.Err, "rewind: %s\n", line)
			}
		}}
	defer b.survive()
	c.Call(ctx)
}
