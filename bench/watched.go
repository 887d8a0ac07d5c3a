package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/bench/report"
)

// fewFiles is how many files have other bytes when something is asked, or put back.
const fewFiles = 2

// A verb is what is done in a watched worktree in which few files were edited. It costs
// what changed, and nothing that grows with the files.
type verb struct {
	name, about string
	back        bool // it puts back: the workload watched-back
	restored    bool // it comes after a restore that took the edit back
}

var verbs = []verb{
	{name: "snapshot", about: "a snapshot"},
	{name: "diff", about: "what changed since the last snapshot"},
	{name: "preview", about: "what a snapshot would record"},
	{name: "plan of a restore", about: "what a restore of the last snapshot would do"},
	{name: "plan of an undo", about: "what an undo of the restore would do, by which they were put back", restored: true},
	{name: "status", about: "what is recorded, and what changed since"},
	{name: "restore", about: "a restore of the last snapshot", back: true},
	{name: "undo", about: "an undo of the restore by which they were put back", back: true, restored: true},
}

// everyVerb are those of rewind.
func everyVerb() (names []string) {
	for _, v := range verbs {
		names = append(names, v.name)
	}
	return names
}

// has reports whether a contender has a verb.
func (c contender) has(verb string) bool { return c.verbs != nil && slices.Contains(c.verbs(), verb) }

// An answerer is a system of which more is asked than that it records and restores.
type answerer interface {
	// answer carries out a verb. The id is that of the last snapshot, and after a restore
	// of the one to which an undo goes back.
	answer(ctx context.Context, l *lane, verb, id string) (string, error)
}

// asksEach makes a workload of the verbs of one kind.
func asksEach(back bool) func(context.Context, *stage, workload) ([]report.Result, error) {
	return func(ctx context.Context, st *stage, w workload) (results []report.Result, err error) {
		guests, err := st.guests()
		if err != nil {
			return nil, err
		}
		for _, v := range verbs {
			if v.back != back {
				continue
			}
			takes := func(c contender) bool { return c.has(v.name) }
			one := w
			one.name += ", " + v.name
			lines, err := st.compare(ctx, one, takes, func(_ contender, l *lane) way { return l.asked(v) }, guests...)
			if err != nil {
				return results, err
			}
			one = w
			one.about = "two files have other bytes since the last snapshot; " + v.about
			for _, r := range one.result(st, st.count(fewFiles), lines) {
				r.Verb = v.name
				results = append(results, r)
			}
		}
		return results, nil
	}
}

// An asking is one verb in one lane.
type asking struct {
	verb
	lane        *lane
	id          string            // of the snapshot before the edit, and after a restore of the one of it
	files       []string          // that were edited
	was, edited map[string]string // their bytes
	said        string
	took        string // the id of the snapshot that was taken
}

// asked is the way of a verb.
func (l *lane) asked(v verb) way {
	a := &asking{verb: v, lane: l}
	w := way{before: a.prepare, act: a.act, after: a.check}
	if v.name == "snapshot" || v.back {
		w.prove = a.prove
	}
	return w
}

// prepare edits files of a worktree that is watched, and puts them back where the verb
// comes after that.
func (a *asking) prepare(ctx context.Context) (err error) {
	l := a.lane
	if err = l.prime(ctx); err != nil {
		return err
	}
	if a.id, err = l.system.snapshot(ctx, l); err != nil {
		return err
	}
	if err = l.prime(ctx); err != nil {
		return err
	}
	a.files = l.pick(fewFiles)
	if a.was, err = l.contents(a.files); err != nil {
		return err
	}
	if _, err = edit(ctx, l, fewFiles); err != nil {
		return err
	}
	if a.edited, err = l.contents(a.files); err != nil || !a.restored {
		return err
	}
	before := a.id
	if a.id, err = l.system.snapshot(ctx, l); err != nil {
		return err
	}
	return firstError(l.system.restore(ctx, l, before), l.prime(ctx))
}

func (a *asking) act(ctx context.Context) (err error) {
	l := a.lane
	switch a.name {
	case "snapshot":
		a.took, err = l.system.snapshot(ctx, l)
	case "restore":
		err = l.system.restore(ctx, l, a.id)
	default:
		s, ok := l.system.(answerer)
		if !ok {
			return errors.ErrUnsupported
		}
		a.said, err = s.answer(ctx, l, a.name, a.id)
	}
	return err
}

// check compares what was said, or done, with the edit.
func (a *asking) check(ctx context.Context) error {
	switch {
	case a.name == "snapshot":
		return a.lane.holds(ctx, a.took, a.files)
	case !a.back:
		if n := namedIn(a.said); n != len(a.files) {
			return inexact{fmt.Sprintf("names %d changes, not %d", n, len(a.files))}
		}
		return nil
	}
	now, err := a.lane.contents(a.files)
	want := a.was
	if a.restored {
		want = a.edited
	}
	if err == nil && !maps.Equal(now, want) {
		err = inexact{"the files have other bytes than they should"}
	}
	return err
}

// prove takes one snapshot more, and lets all of it come back.
func (a *asking) prove(ctx context.Context) error {
	id, err := a.lane.system.snapshot(ctx, a.lane)
	if err != nil {
		return err
	}
	return a.lane.comesBack(ctx, id)
}

// contents reads files.
func (l *lane) contents(files []string) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range files {
		data, err := os.ReadFile(l.path(name))
		if err != nil {
			return nil, err
		}
		out[name] = string(data)
	}
	return out, nil
}

// namedIn counts the changes that an answer names: in rewind's JSON, or in a list
// that git has ended with NULs. Whoever says nothing of changes names none.
func namedIn(said string) int {
	if !strings.HasPrefix(said, "{") {
		return len(split0(said))
	}
	var reply struct {
		Changes []json.RawMessage
		Changed json.RawMessage
	}
	if json.Unmarshal([]byte(said), &reply) != nil {
		return -1
	}
	n, list := 0, []json.RawMessage(nil)
	if json.Unmarshal(reply.Changed, &n) != nil && json.Unmarshal(reply.Changed, &list) == nil {
		n = len(list)
	}
	return max(n, len(reply.Changes))
}

// guests are ways beside those of the contenders, with whom each verb is compared: a
// command of rewind that does nothing but begin, and git status. They go where the first
// contender works, as a copy of a million files is no small thing, while that is halted.
func (st *stage) guests() ([]way, error) {
	host := slices.IndexFunc(st.chosen, func(c contender) bool { return c.has("snapshot") })
	if host < 0 {
		return nil, nil
	}
	l, err := st.lane(context.Background(), st.chosen[host])
	if err != nil {
		return nil, err
	}
	g := &lane{binary: l.binary, tree: l.tree, state: l.state, scratch: l.scratch, env: l.env, names: l.names, read: memory{}}
	begins := way{
		name: "rewind version", lane: g, ours: true,
		before: func(context.Context) error { return nil },
		act: func(ctx context.Context) error {
			_, err := g.run(ctx, command{name: g.binary, args: []string{"version"}})
			return err
		},
		after: func(context.Context) error { return nil },
	}
	var ways []way
	if g.binary != "" {
		ways = append(ways, begins)
	}
	if c, ok := st.chosenKey("git-status"); ok {
		g.edits = 1 << 30 // its host makes edits of its own
		looks := g.looks(c, func() (changed, error) { return edit(context.Background(), g, fewFiles) })
		looks.name, looks.lane = c.name, g
		ways = append(ways, looks)
	}
	return ways, nil
}
