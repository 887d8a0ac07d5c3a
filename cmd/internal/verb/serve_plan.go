package verb

import (
	"context"
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func callPlan(ctx context.Context, c *Call) (any, error) {
	_, op, err := target(ctx, c)
	if err != nil {
		return nil, err
	}
	return planned(ctx, c, op)
}

// callUndo is undo or redo. Whoever names the snapshot to which it is to lead means
// no other: since the user saw a plan another process may have restored something.
func callUndo(ctx context.Context, c *Call, verb string) (any, error) {
	var p struct{ ID string }
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	op := engine.Op{Verb: verb}
	if p.ID != "" {
		var err error
		if op.To, err = oid.Parse(p.ID); err != nil {
			return nil, exit.Usagef("%q is not a whole id", p.ID)
		}
	}
	return restored(c)(c.Engine.Do(ctx, op))
}

// merged is what planRevert, revert, planApply and apply are asked for.
func merged(ctx context.Context, c *Call, verb string) (op engine.Op, err error) {
	var p struct {
		IDs              []string
		Paths            []string
		Ignored, Markers bool
	}
	if err := c.Decode(&p); err != nil {
		return op, err
	}
	list, err := SpansOf(ctx, c.Engine, p.IDs, func(id string) (*engine.Snapshot, error) { return c.Engine.Resolve(ctx, id) })
	if err != nil {
		return op, err
	}
	spans, label := list.Merged(verb == "revert")
	return engine.Op{Verb: verb, Spans: spans, Paths: p.Paths, Ignored: p.Ignored, Markers: p.Markers, Label: label}, nil
}

func callPlanMerge(ctx context.Context, c *Call, verb string) (any, error) {
	op, err := merged(ctx, c, verb)
	if err != nil {
		return nil, err
	}
	return planned(ctx, c, op)
}

func callMerge(ctx context.Context, c *Call, verb string) (any, error) {
	op, err := merged(ctx, c, verb)
	if err != nil {
		return nil, err
	}
	return restored(c)(c.Engine.Do(ctx, op))
}

// planned is the plan of an operation, with the branches on which it was recorded and would be
// carried out, and with the lines that it changes if the client wants them.
func planned(ctx context.Context, c *Call, op engine.Op) (any, error) {
	plan, err := c.Engine.Plan(ctx, op)
	if err != nil {
		return nil, err
	}
	var p struct {
		Patch    bool
		MaxBytes int
	}
	if err := c.Decode(&p); err != nil {
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
