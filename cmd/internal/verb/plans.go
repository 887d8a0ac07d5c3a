package verb

import (
	"context"
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// op is the restore of a snapshot.
func (p *Restore) op(ctx context.Context, c *Call) (engine.Op, error) {
	s, err := c.Engine.Find(ctx, p.ID)
	if err != nil {
		return engine.Op{}, err
	}
	op := p.Op()
	op.To = s.ID
	return op, nil
}

func restore(ctx context.Context, c *Call, p *Restore) (*wire.Restored, error) {
	op, err := p.op(ctx, c)
	return done(ctx, c, op, err)
}

// A planRestoring is a restore that is only planned.
type planRestoring struct {
	Restore
	patched
}

func plan(ctx context.Context, c *Call, p *planRestoring) (*wire.Plan, error) {
	op, err := p.op(ctx, c)
	return planned(ctx, c, p.patched, op, err)
}

func planUndo(verb string) func(context.Context, *Call, *patched) (*wire.Plan, error) {
	return func(ctx context.Context, c *Call, p *patched) (*wire.Plan, error) {
		return planned(ctx, c, *p, engine.Op{Verb: verb}, nil)
	}
}

// undo is undo or redo. Whoever names the snapshot to which it is to lead means
// no other: since the user saw a plan another process may have restored something.
func undo(verb string) func(context.Context, *Call, *undoing) (*wire.Restored, error) {
	return func(ctx context.Context, c *Call, p *undoing) (*wire.Restored, error) {
		op := engine.Op{Verb: verb}
		if p.ID != "" {
			var err error
			if op.To, err = oid.Parse(p.ID); err != nil {
				return nil, exit.Usagef("%q is not a whole id", p.ID)
			}
		}
		return done(ctx, c, op, nil)
	}
}

// op is the merge of what is named.
func (p *Merge) op(ctx context.Context, c *Call, verb string) (engine.Op, error) {
	list, err := RangesOf(ctx, c.Engine, p.IDs, func(id string) (*engine.Snapshot, error) { return c.Engine.Find(ctx, id) })
	if err != nil {
		return engine.Op{}, err
	}
	op := p.Op(verb)
	op.Ranges, op.Label = list.Merged(verb == "revert")
	return op, nil
}

func merge(verb string) func(context.Context, *Call, *Merge) (*wire.Restored, error) {
	return func(ctx context.Context, c *Call, p *Merge) (*wire.Restored, error) {
		op, err := p.op(ctx, c, verb)
		return done(ctx, c, op, err)
	}
}

// A planMerging is a merge that is only planned.
type planMerging struct {
	Merge
	patched
}

func planMerge(verb string) func(context.Context, *Call, *planMerging) (*wire.Plan, error) {
	return func(ctx context.Context, c *Call, p *planMerging) (*wire.Plan, error) {
		op, err := p.op(ctx, c, verb)
		return planned(ctx, c, p.patched, op, err)
	}
}

// done carries an operation out.
func done(ctx context.Context, c *Call, op engine.Op, err error) (*wire.Restored, error) {
	if err != nil {
		return nil, err
	}
	r, err := c.Engine.Do(ctx, op)
	if err != nil {
		return nil, err
	}
	if r.Bridge != nil {
		c.Warn(r.Bridge.Error())
	}
	return wire.NewRestored(r, time.Since(c.Begun)), nil
}

// planned is the plan of an operation, with the branches on which it was recorded and would be
// carried out, and with the lines that it changes if the client wants them.
func planned(ctx context.Context, c *Call, p patched, op engine.Op, err error) (*wire.Plan, error) {
	if err != nil {
		return nil, err
	}
	plan, err := c.Engine.Plan(ctx, op)
	if err != nil {
		return nil, err
	}
	out := wire.NewPlan(plan, time.Since(c.Begun))
	out.Branch, out.Here = plan.Target.Branch, c.Engine.Branch()
	if !p.Patch {
		return out, nil
	}
	patch, err := patchOf(ctx, plan, p.MaxBytes)
	if err != nil {
		return nil, err
	}
	out.Patch, out.Truncated = &patch.Patch, patch.Truncated
	lines, err := Difference(ctx, plan, true)
	out.Changes = lines.Changes
	return out, err
}
