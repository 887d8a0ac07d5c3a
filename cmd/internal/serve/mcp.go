package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/rpc"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/verb"
	"github.com/seed-82afce7a/rewind/engine"
)

// A tools is what an agent may look up and do over the Model Context Protocol. Each
// tool is a method of the protocol of serve; a restore needs the id of a plan that was
// shown before, and the user's leave.
type tools struct {
	app     *app
	restore bool // the user allows restores

	mu    sync.Mutex
	plans map[string]shown
}

// A shown plan may be carried out as long as it would still do the same.
type shown struct {
	method string // that carries it out
	params json.RawMessage
	plan   string // the method that makes it
	digest string
}

func mcpCommand(a *app) *cobra.Command {
	t := &tools{app: a, plans: map[string]shown{}}
	c := cli.Command("mcp", "Serve an agent over the Model Context Protocol, on standard input and output (docs/agents.md)", cli.Nothing, func(c *cobra.Command, _ []string) error {
		err := t.server().Run(c.Context(), &mcp.StdioTransport{})
		if c.Context().Err() != nil || errors.Is(err, mcp.ErrConnectionClosed) {
			return nil
		}
		return err
	})
	c.Flags().BoolVar(&t.restore, "allow-restore", false, "let the agent carry out a restore or undo whose plan it has shown")
	return c
}

// The parameters of the tools. An ID is what "rewind list" shows, "@", or "prompt:ID".
type (
	listParams struct {
		Session string `json:"session,omitempty" jsonschema:"only the points of this conversation"`
		Limit   int    `json:"limit,omitempty" jsonschema:"at most so many (default 20)"`
	}
	idParams struct {
		ID    string   `json:"id" jsonschema:"a snapshot: an id from list, @ for the last one, prompt:ID for the state before a prompt"`
		Paths []string `json:"paths,omitempty" jsonschema:"only these files or directories, relative to the worktree"`
	}
	diffParams struct {
		From  string   `json:"from,omitempty" jsonschema:"a snapshot (default: the last one)"`
		To    string   `json:"to,omitempty" jsonschema:"a snapshot (default: the files as they are now)"`
		Paths []string `json:"paths,omitempty" jsonschema:"only these files or directories"`
		Patch bool     `json:"patch,omitempty" jsonschema:"with the lines that changed, up to 100 kB"`
	}
	fileParams struct {
		ID   string `json:"id" jsonschema:"a snapshot"`
		Path string `json:"path" jsonschema:"a file, relative to the worktree"`
	}
	logParams struct {
		Path  string `json:"path" jsonschema:"a file or directory, relative to the worktree"`
		Limit int    `json:"limit,omitempty" jsonschema:"at most so many (default 20)"`
	}
	blameParams struct {
		Path  string `json:"path" jsonschema:"a text file, relative to the worktree"`
		ID    string `json:"id,omitempty" jsonschema:"a snapshot (default: the file as it is now)"`
		First int    `json:"first,omitempty" jsonschema:"the number of the first line (default 1)"`
		Last  int    `json:"last,omitempty" jsonschema:"the number of the last line (default: 200 lines)"`
	}
	planParams struct {
		Plan string `json:"plan" jsonschema:"the id of a plan that was shown to the user, who agreed to it"`
	}
	noParams struct{}
)

// How much an agent is told at once, if it does not say.
const (
	patchMost  = 100_000
	listedMost = 20
	blamedMost = 200
)

// server makes the server with its tools and resources.
func (t *tools) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "rewind", Version: cli.Version()}, &mcp.ServerOptions{
		Instructions: "rewind recorded all files of this directory before each prompt and after each turn. Look up what a file was, or what changed. A restore changes the user's files: show the plan, with what it deletes, and ask first.",
	})
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	tool(s, &mcp.Tool{Name: "list", Description: "List the recorded states of the files, newest first.", Annotations: reads}, t.list)
	tool(s, &mcp.Tool{Name: "show", Description: "Show one recorded state and what changed in it.", Annotations: reads}, call1[idParams](t, "show"))
	tool(s, &mcp.Tool{Name: "diff", Description: "Show what differs between two recorded states, or between one and the files as they are.", Annotations: reads}, t.diff)
	tool(s, &mcp.Tool{Name: "read", Description: "Read a text file as it was in a recorded state.", Annotations: reads}, t.read)
	tool(s, &mcp.Tool{Name: "log", Description: "List the recorded states in which a file or directory changed, newest first.", Annotations: reads}, t.log)
	tool(s, &mcp.Tool{Name: "blame", Description: "Tell for each line of a file which recorded state brought it, and with it which prompt. A line without a snapshot is not recorded yet.", Annotations: reads}, t.blame)
	tool(s, &mcp.Tool{Name: "plan_restore", Description: "Show what a restore would write and delete. Changes nothing. Returns the id of the plan.", Annotations: reads}, func(ctx context.Context, p idParams) (any, error) {
		return t.show(ctx, shown{method: "restore", plan: "plan"}, p)
	})
	tool(s, &mcp.Tool{Name: "plan_undo", Description: "Show what taking back the last restore would write and delete. Changes nothing. Returns the id of the plan.", Annotations: reads}, func(ctx context.Context, p noParams) (any, error) {
		return t.show(ctx, shown{method: "undo", plan: "planUndo"}, p)
	})
	destroys := true
	tool(s, &mcp.Tool{Name: "restore", Description: "Carry out a plan of plan_restore or plan_undo that the user has seen and agreed to. What is there now is recorded first.", Annotations: &mcp.ToolAnnotations{DestructiveHint: &destroys}}, t.carryOut)
	s.AddResource(&mcp.Resource{URI: "rewind://points", Name: "points", Description: "The recorded states of the files, newest first", MIMEType: "application/json"}, t.points)
	return s
}

// tool adds a tool whose result is an object, or an error that the agent reads.
func tool[In any](s *mcp.Server, def *mcp.Tool, do func(context.Context, In) (any, error)) {
	mcp.AddTool(s, def, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, nil, errors.New(exit.Sentence(ctx, err))
		}
		return nil, out, nil
	})
}

// call1 is a tool that is one method of the protocol.
func call1[In any](t *tools, method string) func(context.Context, In) (any, error) {
	return func(ctx context.Context, in In) (any, error) { return t.call(ctx, method, in) }
}

// call carries out one method of the protocol, and returns its result with what it
// warned of.
func (t *tools) call(ctx context.Context, method string, params any) (any, error) {
	p, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	var warnings []string
	c := &verb.Call{Request: &rpc.Request{Method: method, Params: p}, Begun: time.Now(), Told: func(message string) { warnings = append(warnings, message) }}
	opt := &engine.Options{Force: t.app.Force, NoGit: t.app.NoGit, Recovered: func(done *engine.Restored) { c.Recovered = done }}
	if c.Engine, err = engine.Open(ctx, t.app.Dir, opt); err != nil {
		return nil, err
	}
	defer c.Engine.Close()
	out, err := verb.Methods[method](ctx, c)
	if c.Recovered != nil {
		warnings = append(warnings, show.RecoveredText(c.Recovered))
	}
	if err != nil || len(warnings) == 0 {
		return out, err
	}
	return map[string]any{"result": out, "warnings": warnings}, nil
}

func (t *tools) list(ctx context.Context, p listParams) (any, error) {
	if p.Limit <= 0 {
		p.Limit = listedMost
	}
	return t.call(ctx, "list", p)
}

func (t *tools) diff(ctx context.Context, p diffParams) (any, error) {
	format := "stat"
	if p.Patch {
		format = "patch"
	}
	return t.call(ctx, "diff", map[string]any{"from": p.From, "to": p.To, "paths": p.Paths, "format": format, "maxBytes": patchMost})
}

// open is for what is no method of the protocol.
func (t *tools) open(ctx context.Context) (*engine.Engine, error) {
	return engine.Open(ctx, t.app.Dir, &engine.Options{Force: t.app.Force, NoGit: t.app.NoGit})
}

func (t *tools) read(ctx context.Context, p fileParams) (any, error) {
	e, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	s, err := e.Resolve(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	text := &bounded{most: 4 * patchMost}
	if err := e.Cat(ctx, s, strings.TrimPrefix(p.Path, "/"), text); err != nil && !text.full {
		return nil, err
	}
	told := text.Bytes()
	if text.full {
		told = wholeRunes(told)
	}
	if !utf8.Valid(told) {
		return nil, fmt.Errorf("%s is not text: \"rewind cat %s:%s > FILE\" gives its bytes", p.Path, p.ID, p.Path)
	}
	return map[string]any{"id": s.ID.String(), "path": p.Path, "text": string(told), "truncated": text.full}, nil
}

// wholeRunes returns a text that was cut off without the rune that was cut through.
func wholeRunes(text []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if last := text[len(text)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return text[:len(text)-i]
			}
			return text
		}
	}
	return text
}

// A bounded buffer refuses what is beyond its bound.
type bounded struct {
	bytes.Buffer
	most int
	full bool
}

// Write takes what there is room for.
func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); len(p) > room {
		b.full = true
		_, _ = b.Buffer.Write(p[:room])
		return room, errors.New("it is longer than can be shown")
	}
	return b.Buffer.Write(p)
}

// log lists the snapshots that changed a path.
func (t *tools) log(ctx context.Context, p logParams) (any, error) {
	if p.Path = strings.TrimPrefix(p.Path, "/"); p.Limit <= 0 {
		p.Limit = listedMost
	}
	return t.call(ctx, "log", p)
}

// blame tells of some lines at a time: an agent reads all that it is given.
func (t *tools) blame(ctx context.Context, p blameParams) (any, error) {
	p.Path, p.First = strings.TrimPrefix(p.Path, "/"), max(1, p.First)
	if most := p.First + blamedMost - 1; p.Last <= 0 || p.Last > most {
		p.Last = most
	}
	return t.call(ctx, "blame", p)
}

// show makes a plan, and remembers what it would do.
func (t *tools) show(ctx context.Context, s shown, params any) (any, error) {
	p, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	s.params = p
	plan, err := t.call(ctx, s.plan, s.params)
	if err != nil {
		return nil, err
	}
	if s.digest, err = digestOf(plan); err != nil {
		return nil, err
	}
	id := s.digest[:12]
	t.mu.Lock()
	t.plans[id] = s
	t.mu.Unlock()
	return map[string]any{"plan": id, "would": plan, "next": t.next()}, nil
}

// next says what the agent is to do with a plan.
func (t *tools) next() string {
	if t.restore {
		return "Show the user what this writes and deletes, and ask. After a yes, call restore with this plan."
	}
	return "Show the user what this writes and deletes. The user has not allowed you to carry it out: tell them to run rewind restore ID, or rewind undo, in a terminal."
}

// digestOf is a digest of what a plan does: not of how long it took.
func digestOf(plan any) (string, error) {
	text, err := json.Marshal(plan)
	if err != nil {
		return "", err
	}
	var does struct {
		ID      string          `json:"id"`
		Changes json.RawMessage `json:"changes"`
		Kept    json.RawMessage `json:"kept"`
		Result  json.RawMessage `json:"result"` // beside warnings
	}
	if err := json.Unmarshal(text, &does); err != nil {
		return "", err
	}
	if len(does.Result) > 0 {
		return digestOf(does.Result)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", does.ID, does.Changes, does.Kept))
	return hex.EncodeToString(sum[:]), nil
}

// carryOut does what a plan that was shown does, if it would still do the same.
func (t *tools) carryOut(ctx context.Context, p planParams) (any, error) {
	if !t.restore {
		return nil, errors.New("the user has not allowed restores by an agent (rewind mcp --allow-restore); they can run rewind restore ID, or rewind undo, themselves")
	}
	t.mu.Lock()
	s, ok := t.plans[p.Plan]
	delete(t.plans, p.Plan)
	t.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("no plan %q was shown, or it was carried out: call plan_restore or plan_undo, and show the user what it does", p.Plan)
	}
	plan, err := t.call(ctx, s.plan, s.params)
	if err != nil {
		return nil, err
	}
	now, err := digestOf(plan)
	if err != nil {
		return nil, err
	}
	if now != s.digest {
		return nil, errors.New("the files have changed since the plan was shown, so it would do something else now: nothing was changed; make a new plan, and show it")
	}
	return t.call(ctx, s.method, s.params)
}

// points is the resource of the recorded states.
func (t *tools) points(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	list, err := t.list(ctx, listParams{Limit: 100})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json", Text: string(text)}}}, nil
}
