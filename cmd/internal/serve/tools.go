package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-82afce7a/rewind/cmd/internal/rpc"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/verb"
	"github.com/seed-82afce7a/rewind/engine"
)

// A tools is what an agent may look up and do over the Model Context Protocol. Most
// are verbs with some of their parameters; a restore needs the id of a plan that was
// shown before, and the user's leave.
type tools struct {
	app     *app
	restore bool // the user allows restores
	plans   map[string]shown
}

// A tool is one of them.
type tool struct {
	name, about string
	destroys    bool
	params      []verb.Param
	do          func(context.Context, arguments) (any, error)
}

type arguments = map[string]any

// A shown plan may be carried out as long as it would still do the same.
type shown struct {
	method string // that carries it out
	params arguments
	plan   string // the method that makes it
	digest string
}

// How much an agent is told at once, if it does not say.
const (
	patchMost  = 100_000
	listedMost = 20
	blamedMost = 200
)

// list lists the tools.
func (t *tools) list() []tool {
	text := reflect.TypeFor[string]()
	return []tool{
		t.reads("list", "List the recorded states of the files, newest first.", "list", "session limit", limited),
		t.reads("show", "Show one recorded state and what changed in it.", "show", "id", nil),
		t.reads("diff", "Show what differs between two recorded states, or between one and the files as they are.", "diff", "from to paths", compared).
			also(verb.Param{Name: "patch", Help: "with the lines that changed, up to 100 kB", Type: reflect.TypeFor[bool]()}),
		{name: "read", about: "Read a text file as it was in a recorded state.", do: t.read, params: []verb.Param{
			{Name: "id", Help: "a snapshot", Need: true, Type: text}, {Name: "path", Help: "a file, relative to the worktree", Need: true, Type: text}}},
		t.reads("log", "List the recorded states in which a file or directory changed, newest first.", "log", "path limit", limited),
		t.reads("blame", "Tell for each line of a file which recorded state brought it, and with it which prompt. A line without a snapshot is not recorded yet. 200 lines at a time.", "blame", "path id first last", someLines),
		t.plan("plan_restore", "Show what a restore would write and delete. Changes nothing. Returns the id of the plan.", "plan", "restore", "id paths"),
		t.plan("plan_undo", "Show what taking back the last restore would write and delete. Changes nothing. Returns the id of the plan.", "planUndo", "undo", ""),
		{name: "restore", about: "Carry out a plan of plan_restore or plan_undo that the user has seen and agreed to. What is there now is recorded first.", destroys: true, do: t.carryOut,
			params: []verb.Param{{Name: "plan", Help: "the id of a plan that was shown to the user, who agreed to it", Need: true, Type: text}}},
	}
}

// reads makes a tool that is a verb with some of its parameters, which adapt may change.
func (t *tools) reads(name, about, method, params string, adapt func(arguments)) tool {
	v, _ := verb.Find(method)
	made := tool{name: name, about: about, do: func(ctx context.Context, args arguments) (any, error) {
		if adapt != nil {
			adapt(args)
		}
		return t.call(ctx, method, args)
	}}
	for _, p := range v.Params() {
		if slices.Contains(strings.Fields(params), p.Name) {
			made.params = append(made.params, p)
		}
	}
	return made
}

func (t tool) also(p verb.Param) tool {
	t.params = append(t.params, p)
	return t
}

// plan makes a tool that makes a plan, and remembers what it would do.
func (t *tools) plan(name, about, plan, method, params string) tool {
	made := t.reads(name, about, plan, params, nil)
	made.do = func(ctx context.Context, args arguments) (any, error) {
		return t.show(ctx, shown{method: method, params: args, plan: plan})
	}
	return made
}

// call carries out one method of the protocol, and returns its result with what it
// warned of.
func (t *tools) call(ctx context.Context, method string, params any) (any, error) {
	p, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	v, _ := verb.Find(method)
	var warnings []string
	c := &verb.Call{Request: &rpc.Request{Method: method, Params: p}, Begun: time.Now(), Told: func(message string) { warnings = append(warnings, message) }}
	opt := &engine.Options{Force: t.app.Force, NoGit: t.app.NoGit, AutoPush: t.app.AutoPush, Recovered: func(done *engine.Restored) { c.Recovered = done }}
	if c.Engine, err = engine.Open(ctx, t.app.Dir, opt); err != nil {
		return nil, err
	}
	defer c.Engine.Close()
	out, err := v.Do(ctx, c)
	if c.Recovered != nil {
		warnings = append(warnings, show.RecoveredText(c.Recovered))
	}
	if err != nil || len(warnings) == 0 {
		return out, err
	}
	return object{"result": out, "warnings": warnings}, nil
}

// relative lets a path begin with a slash, as agents write it.
func relative(args arguments) {
	if path, ok := args["path"].(string); ok {
		args["path"] = strings.TrimPrefix(path, "/")
	}
}

// number is an argument, or what counts where none, or none above 0, was given.
func number(args arguments, name string, otherwise int) int {
	if n, _ := args[name].(float64); n > 0 {
		return int(n)
	}
	return otherwise
}

func limited(args arguments) {
	relative(args)
	args["limit"] = number(args, "limit", listedMost)
}

func compared(args arguments) {
	args["format"], args["maxBytes"] = "stat", patchMost
	if args["patch"] == true {
		args["format"] = "patch"
	}
}

// someLines tells of some lines at a time: an agent reads all that it is given.
func someLines(args arguments) {
	relative(args)
	first := number(args, "first", 1)
	most := first + blamedMost - 1
	args["first"], args["last"] = first, min(number(args, "last", most), most)
}

func (t *tools) read(ctx context.Context, args arguments) (any, error) {
	relative(args)
	id, path := args["id"].(string), args["path"].(string) // which are checked
	e, err := engine.Open(ctx, t.app.Dir, &engine.Options{Force: t.app.Force, NoGit: t.app.NoGit})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	s, err := e.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	text := &bounded{most: 4 * patchMost}
	if err := e.Cat(ctx, s, path, text); err != nil && !text.full {
		return nil, err
	}
	told := text.kept
	if text.full {
		told = wholeRunes(told)
	}
	if !utf8.Valid(told) {
		return nil, fmt.Errorf("%s is not text: \"rewind cat %s:%s > FILE\" gives its bytes", path, id, path)
	}
	return object{"id": s.ID.String(), "path": path, "text": string(told), "truncated": text.full}, nil
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
	kept []byte // no buffer that can read by itself: who copies would go past Write
	most int
	full bool
}

// Write takes what there is room for.
func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - len(b.kept); len(p) > room {
		b.full = true
		b.kept = append(b.kept, p[:room]...)
		return room, errors.New("it is longer than can be shown")
	}
	b.kept = append(b.kept, p...)
	return len(p), nil
}

// show makes a plan, and remembers what it would do.
func (t *tools) show(ctx context.Context, s shown) (any, error) {
	plan, err := t.call(ctx, s.plan, s.params)
	if err != nil {
		return nil, err
	}
	if s.digest, err = digestOf(plan); err != nil {
		return nil, err
	}
	id := s.digest[:12]
	t.plans[id] = s
	return object{"plan": id, "would": plan, "next": t.next()}, nil
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
func (t *tools) carryOut(ctx context.Context, args arguments) (any, error) {
	if !t.restore {
		return nil, errors.New("the user has not allowed restores by an agent (rewind mcp --allow-restore); they can run rewind restore ID, or rewind undo, themselves")
	}
	id := args["plan"].(string) // which is checked
	s, ok := t.plans[id]
	delete(t.plans, id)
	if !ok {
		return nil, fmt.Errorf("no plan %q was shown, or it was carried out: call plan_restore or plan_undo, and show the user what it does", id)
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
