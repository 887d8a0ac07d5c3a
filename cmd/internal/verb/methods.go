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

func snapshot(ctx context.Context, c *Call, p *Snapshot) (out wire.Snapshot, err error) {
	if p.DeadlineMs > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cli.Duration(p.DeadlineMs, time.Millisecond))
		defer cancel()
	}
	opt := p.Options()
	r, err := c.Engine.Snapshot(ctx, &opt)
	if err != nil {
		return out, err
	}
	for _, err := range []error{r.Bridge, r.Unfinished} {
		if err != nil {
			c.Warn(err.Error())
		}
	}
	return wire.NewSnapshot(r, time.Since(c.Begun)), nil
}

func preview(ctx context.Context, c *Call, _ *struct{}) (out wire.Snapshot, err error) {
	r, err := c.Engine.Snapshot(ctx, &engine.SnapshotOptions{DryRun: true})
	if err != nil {
		return out, err
	}
	return wire.NewSnapshot(r, time.Since(c.Begun)), nil
}

func list(ctx context.Context, c *Call, p *List) (out wire.List, err error) {
	p.Limit = max(0, p.Limit)
	l := p.Listing()
	if err := l.Check(nil); err != nil {
		return out, err
	}
	if p.Older != "" {
		s, err := c.Engine.Find(ctx, p.Older)
		if err != nil {
			return out, err
		}
		l.Opt.Older = s.ID
	}
	list, err := c.Engine.List(ctx, &l.Opt)
	if err != nil {
		return out, err
	}
	m, err := show.MomentsOf(ctx, c.Engine)
	if err != nil && !errors.Is(err, engine.ErrDamaged) { // the snapshots are worth more than their names
		return out, err
	}
	return wire.NewList(list, m.Here, m.Ops, m.Pins), nil
}

func log(ctx context.Context, c *Call, p *Log) (out wire.Log, err error) {
	name := path.Clean(p.Path)
	if p.Path == "" || path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
		return out, exit.Usagef("path %q is no path of the worktree", p.Path)
	}
	log, err := c.Engine.Log(ctx, name, max(0, p.Limit))
	if err != nil {
		return out, err
	}
	return wire.NewLog(name, log), nil
}

func shown(ctx context.Context, c *Call, p *identified) (out wire.Shown, err error) {
	s, err := c.Engine.Find(ctx, p.ID)
	if err != nil {
		return out, err
	}
	d, err := Itself(ctx, c.Engine, s)
	if err != nil {
		return out, err
	}
	return wire.NewShown(s, d.Changes), nil
}

func diff(ctx context.Context, c *Call, p *diffing) (out difference, err error) {
	var ids []string
	if p.From == "" && p.To != "" {
		p.From = "@"
	}
	for _, id := range []string{p.From, p.To} {
		if id != "" {
			ids = append(ids, id)
		}
	}
	from, to, err := DiffSides(ctx, c.Engine, ids, func(id string) (*engine.Snapshot, error) { return c.Engine.Find(ctx, id) })
	if err != nil {
		return out, err
	}
	d, err := c.Engine.Diff(ctx, from, to, p.Paths)
	if err != nil {
		return out, err
	}
	switch p.Format {
	case "", "names", "stat":
		changes, err := Difference(ctx, d, p.Format == "stat")
		return difference{Difference: &changes}, err
	case "patch":
		patch, err := patchOf(ctx, d, p.MaxBytes)
		return difference{patchJSON: &patch}, err
	}
	return out, Refused(rpc.CodeParams, exit.BadUsage, `format is "names", "stat" or "patch"`)
}

func blame(ctx context.Context, c *Call, p *blaming) (out wire.Blame, err error) {
	if p.Path == "" || p.First < 0 || p.Last < 0 {
		return out, Refused(rpc.CodeParams, exit.BadUsage, "path is a file, first and last are numbers of lines from 1 on")
	}
	if p.Last == 0 {
		p.Last = math.MaxInt
	}
	var s *engine.Snapshot
	if p.ID != "" {
		if s, err = c.Engine.Find(ctx, p.ID); err != nil {
			return out, err
		}
	}
	lines, err := c.Engine.Blame(ctx, s, p.Path, max(1, p.First), p.Last)
	if err != nil && len(lines) == 0 {
		return out, err
	}
	return wire.NewBlame(p.Path, s, lines, err), nil
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

func exists(ctx context.Context, c *Call, p *existing) (out existent, err error) {
	ids, err := c.Engine.Existing(ctx, parseIDs(p.IDs))
	if err != nil {
		return out, err
	}
	out = existent{IDs: ids, Branches: map[string]string{}, Here: c.Engine.Branch()}
	for _, id := range ids {
		// What was there a moment ago may be pruned by now: then it has no branch.
		if s, err := c.Engine.Find(ctx, id.String()); err == nil && s.Branch != "" {
			out.Branches[id.String()] = s.Branch
		}
	}
	return out, ctx.Err()
}

func points(ctx context.Context, c *Call, p *pointing) (out pointed, err error) {
	at, pending, err := c.Engine.Points(ctx, p.File, p.Leaf, p.Entries)
	if err != nil {
		return out, err
	}
	out = pointed{Points: map[string]oid.ID{}, state: state{Current: at.Current.String(), Undo: at.Undo.String()}}
	for _, b := range at.Bindings {
		out.Points[b.Entry] = b.Snapshot
	}
	if !pending.Current.IsZero() {
		out.Pending = &state{Current: pending.Current.String(), Undo: pending.Undo.String()}
	}
	return out, nil
}

func pin(ctx context.Context, c *Call, p *pinning) (struct{}, error) {
	if p.Remove {
		return struct{}{}, c.Engine.Pin(ctx, p.Name, oid.ID{})
	}
	s, err := c.Engine.Find(ctx, p.ID)
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, c.Engine.Pin(ctx, p.Name, s.ID)
}

func label(ctx context.Context, c *Call, p *labelling) (struct{}, error) {
	s, err := c.Engine.Find(ctx, p.ID)
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, c.Engine.Label(ctx, s.ID, strings.TrimSpace(p.Label), p.Remove)
}

func pins(ctx context.Context, c *Call, _ *struct{}) (out wire.Pins, err error) {
	pins, err := c.Engine.Pins(ctx)
	if err != nil {
		return out, err
	}
	return wire.Pins{Pins: pins}, nil
}

func prune(ctx context.Context, c *Call, p *Prune) (out wire.Pruned, err error) {
	opt, err := p.Options()
	if err != nil {
		return out, err
	}
	if opt.Forked, err = fork.Needed(ctx, c.Engine); err != nil {
		return out, err
	}
	done, err := c.Engine.Prune(ctx, opt)
	if err != nil {
		return out, err
	}
	return wire.NewPruned(done, nil, p.DryRun), nil
}

func status(ctx context.Context, c *Call, _ *struct{}) (out wire.Status, err error) {
	st, err := c.Engine.Status(ctx)
	if err != nil {
		return out, err
	}
	out = wire.NewStatus(st)
	if !st.Watched {
		return out, nil
	}
	since, err := Since(ctx, c.Engine)
	if err != nil || since == nil {
		return out, err
	}
	d, err := Difference(ctx, since, false)
	out.Changed = d.Changes
	return out, err
}

func synced(ctx context.Context, c *Call, _ *struct{}) (out wire.Synced, err error) {
	r, err := c.Engine.Sync(ctx)
	if r.Unfinished != nil {
		c.Warn(r.Unfinished.Error())
	}
	if err != nil {
		return out, err
	}
	return wire.NewSynced(r), nil
}
