package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/hook"
	"github.com/seed-82afce7a/rewind/cmd/internal/socket"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

// A process that watches a worktree takes snapshots of it for others, which ask over
// a private socket (docs/decisions/0028-socket.md). Whatever goes wrong with that,
// the one that asked does the work itself.

// The things that may be asked for.
const (
	askSnapshot = "snapshot" // what the command snapshot prints
	askPoint    = "point"    // what the command run prints
	askHook     = "hook"     // the work of a hook
	askState    = "state"    // whether the worktree is watched
	askTurn     = "turn"     // what changed, for a command that then does its work itself
)

// An asked is one request.
type asked struct {
	What  string
	Dir   string            // where the work is to be done
	Alike map[string]string // in what both processes have to be equal
	Path  string            // where filters are looked for

	JSON     bool
	Warnings bool // of a point: also those of the worktree
	Options  engine.SnapshotOptions
	Seconds  float64 // until the deadline; 0: none

	Task  json.RawMessage // of a hook
	Tools string
	Form  string
}

// An answered is what there is to say about a request. Before it comes the word that
// the request was accepted.
type answered struct {
	Accepted bool   `json:",omitempty"`
	Refused  string `json:",omitempty"` // why not

	Done     bool   `json:",omitempty"` // the work was done
	Out, Err string `json:",omitempty"` // what the command is to print
	Exit     int    `json:",omitempty"`

	State *Watching `json:",omitempty"`
}

// A Watching is what is known of the process that watches.
type Watching struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`          // "rewind watch" or "rewind serve"; "": it does not answer
	Watched bool   `json:"watched"`          // the next snapshot looks only where something changed
	Why     string `json:"why,omitempty"`    // it does not
	Unused  string `json:"unused,omitempty"` // why commands like this one do their work themselves
	Served  int64  `json:"served"`           // requests
	Lent    int64  `json:"lent"`             // to commands that look by themselves, which it has told where

	Failing *Failing `json:"failing,omitempty"` // the snapshots that it takes by itself fail
}

// A Failing is why what changed is in no snapshot that the watching process takes by itself.
type Failing struct {
	Since time.Time `json:"since"` // when the first of them failed; it tries again at least once a minute
	Why   string    `json:"why"`   // the last of them failed
}

// Used reports whether the next snapshot is one that looks only where something
// changed, and if not, why. Nobody watches where it is nil.
func (w *Watching) Used() (yes bool, why string) {
	if w == nil {
		return false, ""
	}
	if w.Unused != "" {
		return false, "not used from here: " + w.Unused
	}
	return w.Watched, w.Why
}

// Sentence says whether a worktree is watched, and why not.
func (w *Watching) Sentence(e *engine.Engine) string {
	if w == nil {
		if watchSetting(e) == "false" {
			return "no: rewind.watch is false"
		}
		if place, err := socket.Open(os.Getenv, false); err == nil {
			_ = place.Close()
		} else if errors.Is(err, socket.ErrUnable) {
			return "no: " + err.Error()
		}
		return "no: \"rewind watch\" does so; with rewind.watch = true the next snapshot begins it"
	}
	by := "by " + w.Process()
	switch yes, why := w.Used(); {
	case w.Failing != nil:
		return fmt.Sprintf("%s: its own snapshots have failed since %s, and it tries again: %s", by, w.Failing.Since.Local().Format(time.DateTime), w.Failing.Why)
	case yes:
		return by + ": snapshots look only where something changed"
	case why != "":
		return by + ": snapshots look at everything: " + why
	default:
		return by + ": the next snapshot looks at everything"
	}
}

// Process names the process that watches.
func (w *Watching) Process() string {
	if w.Command == "" {
		return fmt.Sprintf("process %d", w.PID)
	}
	return fmt.Sprintf("process %d (%s)", w.PID, w.Command)
}

// errUnanswered is why somebody does without the socket.
var errUnanswered = errors.New("no answer that can be used")

// request sends a request to the process that watches a directory, and returns when that
// has accepted it. The caller closes the connection.
func (a *app) request(ctx context.Context, dir string, q *asked) (*socket.Conn, error) {
	if os.Getenv("REWIND_WATCH") == "false" {
		return nil, socket.ErrNone
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if q.Dir, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, err
	}
	place, err := socket.Open(os.Getenv, false)
	if err != nil {
		return nil, err
	}
	defer place.Close()
	conn, err := socket.Dial(ctx, place, q.Dir, program())
	if err != nil {
		return nil, err
	}
	q.Alike, q.Path = a.alike(), os.Getenv("PATH")
	request, err := json.Marshal(q)
	if err == nil {
		err = conn.Send(request)
	}
	var first answered
	if err == nil {
		first, err = heard(conn)
	}
	switch {
	case err != nil:
	case first.Refused != "":
		err = fmt.Errorf("%w: %s", errUnanswered, first.Refused)
	case !first.Accepted:
		err = errUnanswered
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// A silentError is of the process that is there and says nothing, such as one that was stopped.
type silentError int

// Error says so.
func (s silentError) Error() string { return fmt.Sprintf("process %d does not answer", int(s)) }

// heard reads one answer.
func heard(conn *socket.Conn) (out answered, err error) {
	p, err := conn.Next()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = silentError(conn.Peer())
	case err == nil && json.Unmarshal(p, &out) != nil:
		err = errUnanswered
	}
	return out, err
}

// beside has a snapshot taken by the process that watches. Done is false where there
// is none, or anything went wrong: then it is as if nobody had been asked.
func (a *app) beside(ctx context.Context, q *asked) (done bool, err error) {
	if a.Lent != nil {
		return false, nil
	}
	conn, err := a.request(ctx, a.Dir, q)
	if err != nil {
		return false, nil
	}
	defer conn.Close()
	out, err := heard(conn)
	if err != nil || ctx.Err() != nil || !sound(q, &out) {
		return false, nil
	}
	printLines(a.Err, out.Err)
	if !out.Done {
		return false, nil
	}
	a.Told = q.JSON
	printLines(a.Out, out.Out)
	if out.Exit == exit.Partial {
		return true, exit.ErrPartial
	}
	return true, nil
}

// printLines prints what another process has made for this one to print.
func printLines(w io.Writer, text string) {
	for line := range strings.Lines(text) {
		_, _ = io.WriteString(w, visible.Line(strings.TrimSuffix(line, "\n"))+"\n")
	}
}

// sound reports whether an answer is one to such a request.
func sound(q *asked, out *answered) bool {
	switch {
	case !out.Done:
		return out.Out == "" && out.Exit == 0
	case out.Exit != exit.Done && out.Exit != exit.Partial:
		return false
	case q.What == askPoint:
		return out.Out == ""
	case q.JSON:
		return json.Valid([]byte(out.Out)) && strings.HasPrefix(out.Out, "{")
	}
	return out.Out != ""
}

// State asks what watches the worktree; nil if nothing does.
func State(ctx context.Context, c *cli.App) *Watching {
	a := &app{c}
	var out answered
	conn, err := a.request(ctx, a.Dir, &asked{What: askState})
	if err == nil {
		defer conn.Close()
		out, err = heard(conn)
	}
	switch silent := silentError(0); {
	case errors.As(err, &silent):
		return &Watching{PID: int(silent), Why: "it does not answer"}
	case err != nil:
		return nil
	}
	return out.State
}

// LendTo asks the process that watches for a turn ([engine.Options]).
func LendTo(c *cli.App) func(context.Context, string) ([]byte, func([]byte), bool) {
	a := &app{c}
	return func(ctx context.Context, root string) ([]byte, func([]byte), bool) {
		conn, err := a.request(ctx, root, &asked{What: askTurn})
		if err != nil {
			return nil, nil, false
		}
		text, err := conn.Next()
		if err != nil {
			_ = conn.Close()
			return nil, nil, false
		}
		return text, func(back []byte) {
			if len(back) > 0 {
				_ = conn.Send(back) // else the next look is at everything
			}
			_ = conn.Close()
		}, true
	}
}

const (
	hookEnd     = "end" // is said when the work of a hook is done
	hookLineMax = 32 << 10
)

// besideHook gives the work of a hook to the process that watches. Lines are read from
// what it returns. If that process comes to an early end the work is begun anew by a
// process of the hook's own.
func (h *hooking) besideHook(task []byte) (io.ReadCloser, error) {
	var ev hook.Event
	if err := json.Unmarshal(task, &ev); err != nil {
		return nil, err
	}
	q := &asked{What: askHook, Task: task, Tools: h.getenv("REWIND_HOOK_TOOLS"), Form: h.form}
	conn, err := h.app.request(context.Background(), ev.Dir, q)
	if err != nil {
		return nil, err
	}
	from, to := io.Pipe()
	go func() {
		defer conn.Close()
		for {
			said, err := conn.Next()
			switch {
			case err != nil || string(said) != hookEnd && (len(said) > hookLineMax || said[len(said)-1] != '\n'):
				own, err := h.ownTask(task)
				if err == nil {
					_, err = io.Copy(to, own)
				}
				_ = to.CloseWithError(err)
				return
			case string(said) == hookEnd:
				_ = to.Close()
				return
			}
			if _, err := to.Write(said); err != nil { // nobody reads any more: it goes on without
				return
			}
		}
	}()
	return from, nil
}

// idleAfter is how long a process that a snapshot has started waits for the next one.
const idleAfter = "1h"

// LargeFrom is how many files a worktree has that is large for rewind.watch.
const LargeFrom = 5000

// startWatcher starts a process that watches, where rewind.watch asks for one and there is
// none, after a snapshot that has looked at so many files.
func (a *app) startWatcher(ctx context.Context, e *engine.Engine, looked int) {
	how := watchSetting(e)
	if how != "true" && (how != "large" || looked <= LargeFrom) || a.Self == "" {
		return
	}
	place, err := socket.Open(os.Getenv, true)
	if err != nil {
		return
	}
	defer place.Close()
	if conn, err := socket.Dial(ctx, place, e.Root(), program()); err == nil {
		_ = conn.Close() // it was asked, and refused
		return
	}
	cmd, err := a.Another("-C", e.Root(), "watch", "--no-points", "--idle", idleAfter)
	if err != nil {
		return
	}
	cmd.Dir = "/"
	if cmd.Start() == nil {
		_ = cmd.Process.Release()
	}
}
