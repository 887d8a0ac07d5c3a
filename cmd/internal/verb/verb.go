package verb

import (
	"context"
	"reflect"
	"strings"

	"github.com/spf13/pflag"

	"github.com/seed-82afce7a/rewind/engine"
)

// A Verb is something that rewind does for who asks: a method of the protocol and, in
// most cases, a command and a tool for agents as well.
//
// Its parameters are the fields of a struct. Their tags have the name in the protocol
// (json), what they mean (help, with the name of the value as <value>), whether they must
// be there (need), and of those that are flags of the command the flag (flag, "" for the
// same name): the flags, what agents are offered, and docs/protocol.md are made from them.
type Verb struct {
	Name         string
	Result       string // what docs/protocol.md says of it
	Do           func(context.Context, *Call) (any, error)
	Takes, Gives reflect.Type // the parameters and the result, as docs/protocol.schema.json describes them
}

// Handshake is the method that comes before all others.
var Handshake = Verb{Name: "initialize", Result: "see above", Takes: reflect.TypeFor[Initialize](), Gives: reflect.TypeFor[Initialized]()}

// with makes a verb whose parameters are the fields of a struct.
func with[P, R any](name, result string, do func(context.Context, *Call, *P) (R, error)) Verb {
	return Verb{name, result, func(ctx context.Context, c *Call) (any, error) {
		var p P
		if err := c.Decode(&p); err != nil {
			return nil, err
		}
		r, err := do(ctx, c, &p)
		if err != nil {
			return nil, err
		}
		return r, nil
	}, reflect.TypeFor[P](), reflect.TypeFor[R]()}
}

// Verbs lists what docs/protocol.md has, in its order.
func Verbs() []Verb {
	return []Verb{
		with("snapshot", "as `snapshot --json`", snapshot),
		with("preview", "as `snapshot --dry-run --json`", preview),
		with("plan", "as `restore --dry-run --json`, with `\"branch\"?` on which the snapshot was recorded and `\"here\"?`, the present one, and `\"plan\"`, by which `restore` is told that nothing else was agreed to. With `patch` also `\"patch\":TEXT,\"truncated\"?:true`, from what is on disk to the snapshot, and `changes` with the lines of `diff --stat`", plan),
		with("planRevert", "the same, for `revert`", planMerge("revert")),
		with("planApply", "the same, for `apply`", planMerge("apply")),
		with("planUndo", "the same, for `undo`", planUndo(engine.Undo)),
		with("planRedo", "the same, for `redo`", planUndo(engine.Redo)),
		with("restore", "as `restore --json`", restore),
		with("revert", "as `revert --json`", merge("revert")),
		with("apply", "as `apply --json`", merge("apply")),
		with("undo", "as `undo --json`", undo(engine.Undo)),
		with("redo", "as `redo --json`", undo(engine.Redo)),
		with("list", "as `list --json`", list),
		with("log", "as `log --json`", log),
		with("show", "as `show --json`", shown),
		with("diff", "as `diff --json`; with the format `patch` `{\"patch\":TEXT,\"truncated\"?:true}`", diff),
		with("cat", "`{\"data\":BASE64,\"more\"?:true}`: the bytes of a file of a snapshot, or a link's target; with `more` there are others behind them", cat),
		with("blame", "as `blame --json`", blame),
		with("exists", "`{\"ids\":[…],\"branches\"?:{ID:BRANCH,…},\"here\"?}`: those that name a snapshot that can be restored, on which branch each was recorded, and the present branch", exists),
		with("points", "`{\"points\":{ENTRY:ID,…},\"current\"?,\"undo\"?,\"pending\"?:{\"current\",\"undo\"?}}`: what entries are bound to, also by the sessions that this one was forked from; the state at `leaf`, and what that left for the child of its last fork. Only snapshots that can be restored", points),
		with("pin", "`{}`; a name that is used moves", pin),
		with("label", "`{}`: the snapshot has one more label, which is its newest, or no more the one that is removed", label),
		with("pins", "as `pin --json`", pins),
		with("prune", "as `prune --json`", prune),
		with("status", "as `status --json`, with `\"watched\"?`: true if the next snapshot of this server looks only where something changed, or `\"unwatched\"?`: why not", status),
		with("sync", "`{}`, or `{\"recovered\"}`", synced),
	}
}

// Find returns the verb of a name.
func Find(name string) (Verb, bool) {
	for _, v := range Verbs() {
		if v.Name == name {
			return v, true
		}
	}
	return Verb{}, false
}

// A Param is a parameter of a verb.
type Param struct {
	Name, Help string
	Need       bool
	Type       reflect.Type
}

// Params lists the parameters of a verb.
func (v Verb) Params() []Param { return paramsOf(v.Takes) }

func paramsOf(t reflect.Type) (out []Param) {
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		_, need := f.Tag.Lookup("need")
		out = append(out, Param{f.Tag.Get("json"), f.Tag.Get("help"), need, f.Type})
	}
	return out
}

// Flags makes flags of those parameters that a command takes as such.
func Flags(flags *pflag.FlagSet, params any) {
	v := reflect.ValueOf(params).Elem()
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		flag, ok := tag.Lookup("flag")
		if !ok {
			continue
		}
		name, short, _ := strings.Cut(flag, ",")
		if name == "" {
			name = tag.Get("json")
		}
		help := strings.ReplaceAll(strings.ReplaceAll(tag.Get("help"), "<", "`"), ">", "`")
		switch at := v.Field(i).Addr().Interface().(type) {
		case *bool:
			flags.BoolVarP(at, name, short, false, help)
		case *int:
			flags.IntVarP(at, name, short, 0, help)
		case *string:
			flags.StringVarP(at, name, short, "", help)
		}
	}
}
