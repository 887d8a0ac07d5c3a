package verb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

// A restoring is a restore of which a plan may have been shown.
type restoring struct {
	Restore
	agreed
}

func restore(ctx context.Context, c *Call, p *restoring) (*wire.Restored, error) {
	op, err := p.op(ctx, c)
	return p.done(ctx, c, op, err)
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
		return p.done(ctx, c, op, nil)
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

// A merging is a merge of which a plan may have been shown.
type merging struct {
	Merge
	agreed
}

func merge(verb string) func(context.Context, *Call, *merging) (*wire.Restored, error) {
	return func(ctx context.Context, c *Call, p *merging) (*wire.Restored, error) {
		op, err := p.op(ctx, c, verb)
		return p.done(ctx, c, op, err)
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

// CodeOther is the error of an operation that would do something else than was agreed to.
const CodeOther = 11

// done carries an operation out, if it is what was agreed to.
func (p *agreed) done(ctx context.Context, c *Call, op engine.Op, err error) (*wire.Restored, error) {
	if err != nil {
		return nil, err
	}
	if p.Plan != "" {
		op.Agreed = func(now *engine.Diff) error {
			if digest(now) != p.Plan {
				return Refused(CodeOther, exit.Failed, "something has changed since the plan was made; nothing was changed: look at a new plan")
			}
			return nil
		}
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
	out.Branch, out.Here, out.Plan = plan.Target.Branch, c.Engine.Branch(), digest(plan)
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

// digest tells a plan from all others: by each path that it would change, from what to
// what, and by each that it would leave.
func digest(d *engine.Diff) string {
	h := sha256.New()
	fmt.Fprintf(h, "%v\n", d.Target.ID)
	for _, c := range d.Changes {
		fmt.Fprintf(h, "%q %o %v %o %v\n", c.Path, c.From.Mode, c.From.ID, c.To.Mode, c.To.ID)
	}
	for i, notes := range [][]engine.Note{d.Kept, d.Conflicts, d.Marked} {
		for _, n := range notes {
			fmt.Fprintf(h, "%d %q %q\n", i, n.Path, n.Reason)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
