package verb

import (
	"context"
	"errors"
	"math"
	"path"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/rpc"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/fork"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func callSnapshot(ctx context.Context, c *Call) (any, error) {
	var p struct {
		Label, Session, Entry, Trigger string
		DeadlineMs                     float64
	}
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	if p.DeadlineMs > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cli.Duration(p.DeadlineMs, time.Millisecond))
		defer cancel()
	}
	r, err := c.Engine.Snapshot(ctx, &engine.SnapshotOptions{Label: p.Label, Session: p.Session, Entry: p.Entry, Trigger: p.Trigger})
	if err != nil {
		return nil, err
	}
	for _, err := range []error{r.Bridge, r.Unfinished} {
		if err != nil {
			c.Warn(err.Error())
		}
	}
	return wire.NewSnapshot(r, time.Since(c.Begun)), nil
}

func callPreview(ctx context.Context, c *Call) (any, error) {
	r, err := c.Engine.Preview(ctx)
	if err != nil {
		return nil, err
	}
	return wire.NewSnapshot(r, time.Since(c.Begun)), nil
}

// target is the part that plan, show and restore have in common.
func target(ctx context.Context, c *Call) (s *engine.Snapshot, op engine.Op, err error) {
	var p struct {
		ID       string
		Paths    []string
		Ignored  bool
		KeepMine bool
	}
	if err := c.Decode(&p); err != nil {
		return nil, op, err
	}
	if s, err = c.Engine.Resolve(ctx, p.ID); err == nil {
		op = engine.Op{To: s.ID, Paths: p.Paths, Ignored: p.Ignored, KeepMine: p.KeepMine}
	}
	return s, op, err
}

func callRestore(ctx context.Context, c *Call) (any, error) {
	_, op, err := target(ctx, c)
	if err != nil {
		return nil, err
	}
	return restored(c)(c.Engine.Do(ctx, op))
}

// restored turns the outcome of a restore, undo or redo into a result.
func restored(c *Call) func(*engine.Restored, error) (any, error) {
	return func(r *engine.Restored, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		if r.Bridge != nil {
			c.Warn(r.Bridge.Error())
		}
		return wire.NewRestored(r, time.Since(c.Begun)), nil
	}
}

func callList(ctx context.Context, c *Call) (any, error) {
	var p struct {
		All, Changes           bool
		Session, Trigger, Grep string
		Since, Until, Older    string
		Limit                  int
		Paths                  []string
	}
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	l := show.Listing{Since: p.Since, Until: p.Until, Opt: engine.ListOptions{
		All: p.All, Changes: p.Changes, Session: p.Session, Trigger: p.Trigger, Grep: p.Grep, Paths: p.Paths, Limit: max(0, p.Limit),
	}}
	if err := l.Check(nil); err != nil {
		return nil, err
	}
	if p.Older != "" {
		s, err := c.Engine.Resolve(ctx, p.Older)
		if err != nil {
			return nil, err
		}
		l.Opt.Older = s.ID
	}
	list, err := c.Engine.List(ctx, &l.Opt)
	if err != nil {
		return nil, err
	}
	m, err := show.MomentsOf(ctx, c.Engine)
	if err != nil && !errors.Is(err, engine.ErrDamaged) { // the snapshots are worth more than their names
		return nil, err
	}
	return wire.NewList(list, m.Here, m.Ops, m.Pins), nil
}

func callLog(ctx context.Context, c *Call) (any, error) {
	var p struct {
		Path  string
		Limit int
	}
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	name := path.Clean(p.Path)
	if p.Path == "" || path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
		return nil, exit.Usagef("path %q is no path of the worktree", p.Path)
	}
	log, err := c.Engine.Log(ctx, name, max(0, p.Limit))
	if err != nil {
		return nil, err
	}
	return wire.NewLog(name, log), nil
}

func callShow(ctx context.Context, c *Call) (any, error) {
	s, _, err := target(ctx, c)
	if err != nil {
		return nil, err
	}
	before, err := c.Engine.Before(ctx, s)
	if err != nil {
		return nil, err
	}
	d, err := c.Engine.Diff(ctx, before, s, nil)
	if err != nil {
		return nil, err
	}
	return wire.NewShown(s, d.Changes), nil
}

func callDiff(ctx context.Context, c *Call) (any, error) {
	var p struct {
		From, To, Format string
		Paths            []string
		MaxBytes         int
	}
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	var ids []string
	if p.From == "" && p.To != "" {
		p.From = "@"
	}
	for _, id := range []string{p.From, p.To} {
		if id != "" {
			ids = append(ids, id)
		}
	}
	from, to, err := DiffSides(ctx, c.Engine, ids, func(id string) (*engine.Snapshot, error) { return c.Engine.Resolve(ctx, id) })
	if err != nil {
		return nil, err
	}
	d, err := c.Engine.Diff(ctx, from, to, p.Paths)
	if err != nil {
		return nil, err
	}
	switch p.Format {
	case "", "names", "stat":
		return Difference(ctx, d, p.Format == "stat")
	case "patch":
		return patchOf(ctx, d, p.MaxBytes)
	}
	return nil, Refused(rpc.CodeParams, exit.BadUsage, `format is "names", "stat" or "patch"`)
}

func callBlame(ctx context.Context, c *Call) (any, error) {
	var p struct {
		ID, Path    string
		First, Last int
	}
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	if p.Path == "" || p.First < 0 || p.Last < 0 {
		return nil, Refused(rpc.CodeParams, exit.BadUsage, "path is a file, first and last are numbers of lines from 1 on")
	}
	if p.Last == 0 {
		p.Last = math.MaxInt
	}
	var s *engine.Snapshot
	var err error
	if p.ID != "" {
		if s, err = c.Engine.Resolve(ctx, p.ID); err != nil {
			return nil, err
		}
	}
	r, err := c.Engine.Blame(ctx, s, p.Path, max(1, p.First), p.Last)
	if err != nil {
		return nil, err
	}
	return wire.NewBlame(p.Path, s, r), nil
}

// parseIDs takes whole ids; what is none cannot exist.
func parseIDs(texts []string) []oid.ID {
	var ids []oid.ID
	for _, text := range texts {
		if id, err := oid.Parse(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

func callExists(ctx context.Context, c *Call) (any, error) {
	var p struct{ IDs []string }
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	ids, err := c.Engine.Existing(ctx, parseIDs(p.IDs))
	if err != nil {
		return nil, err
	}
	out := struct {
		IDs      []oid.ID          `json:"ids"`
		Branches map[string]string `json:"branches,omitempty"`
		Here     string            `json:"here,omitempty"`
	}{IDs: ids, Branches: map[string]string{}, Here: c.Engine.Branch()}
	for _, id := range ids {
		// What was there a moment ago may be pruned by now: then it has no branch.
		if s, err := c.Engine.Resolve(ctx, id.String()); err == nil && s.Branch != "" {
			out.Branches[id.String()] = s.Branch
		}
	}
	return out, ctx.Err()
}

func callPoints(ctx context.Context, c *Call) (any, error) {
	var p struct {
		File, Leaf string
		Entries    []string
	}
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	at, pending, err := c.Engine.Points(ctx, p.File, p.Leaf, p.Entries)
	if err != nil {
		return nil, err
	}
	type state struct {
		Current string `json:"current,omitempty"`
		Undo    string `json:"undo,omitempty"`
	}
	out := struct {
		Points map[string]oid.ID `json:"points"`
		state
		Pending *state `json:"pending,omitempty"`
	}{Points: map[string]oid.ID{}, state: state{at.Current.String(), at.Undo.String()}}
	for _, b := range at.Bindings {
		out.Points[b.Entry] = b.Snapshot
	}
	if !pending.Current.IsZero() {
		out.Pending = &state{pending.Current.String(), pending.Undo.String()}
	}
	return out, nil
}

func callPin(ctx context.Context, c *Call) (any, error) {
	var p struct {
		ID, Name string
		Remove   bool
	}
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	if p.Remove {
		return nil, c.Engine.Pin(ctx, p.Name, oid.ID{})
	}
	s, err := c.Engine.Resolve(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	return nil, c.Engine.Pin(ctx, p.Name, s.ID)
}

func callLabel(ctx context.Context, c *Call) (any, error) {
	var p struct {
		ID, Label string
		Remove    bool
	}
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	s, err := c.Engine.Resolve(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	return nil, c.Engine.Label(ctx, s.ID, strings.TrimSpace(p.Label), p.Remove)
}

func callPins(ctx context.Context, c *Call) (any, error) {
	pins, err := c.Engine.Pins(ctx)
	if err != nil {
		return nil, err
	}
	return struct {
		Pins map[string]oid.ID `json:"pins"`
	}{pins}, nil
}

func callPrune(ctx context.Context, c *Call) (any, error) {
	var p struct {
		MaxSnapshots    int
		MaxAgeDays      float64
		Session         string
		DryRun, Startup bool
	}
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	if p.MaxSnapshots < 0 || p.MaxAgeDays < 0 {
		return nil, exit.Usagef("limits cannot be negative")
	}
	age := cli.Duration(p.MaxAgeDays, 24*time.Hour)
	forked, err := fork.Needed(ctx, c.Engine)
	if err != nil {
		return nil, err
	}
	out, err := c.Engine.Prune(ctx, &engine.PruneOptions{MaxSnapshots: p.MaxSnapshots, MaxAge: age, Session: p.Session, DryRun: p.DryRun, Startup: p.Startup, Forked: forked})
	if err != nil {
		return nil, err
	}
	return wire.NewPruned(out, nil, p.DryRun), nil
}

func callStatus(ctx context.Context, c *Call) (any, error) {
	st, err := c.Engine.Status(ctx)
	if err != nil {
		return nil, err
	}
	return wire.NewStatus(st), nil
}

func callSync(ctx context.Context, c *Call) (any, error) {
	r, err := c.Engine.Sync(ctx)
	if r.Unfinished != nil {
		c.Warn(r.Unfinished.Error())
	}
	if err != nil || r.Recovered == nil {
		return nil, err
	}
	return wire.NewSynced(r), nil
}
