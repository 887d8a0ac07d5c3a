package verb

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
)

func callPlan(ctx context.Context, c *Call) (any, error) {
	s, opt, err := target(ctx, c)
	if err != nil {
		return nil, err
	}
	plan, err := c.Engine.Plan(ctx, s.ID, opt)
	if err != nil {
		return nil, err
	}
	return planned(ctx, c, plan)
}

func callPlanUndo(ctx context.Context, c *Call, redo bool) (any, error) {
	plan, err := c.Engine.PlanUndo(ctx, redo)
	if err != nil {
		return nil, err
	}
	return planned(ctx, c, plan)
}

// callUndo is undo or redo. Whoever names the snapshot to which it is to lead means
// no other: since the user saw a plan another process may have restored something.
func callUndo(ctx context.Context, c *Call, redo bool) (any, error) {
	var p struct{ ID string }
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	if p.ID != "" {
		plan, err := c.Engine.PlanUndo(ctx, redo)
		if err != nil {
			return nil, err
		}
		if plan.Target.ID.String() != p.ID {
			return nil, fmt.Errorf("another process has restored files since: %s would lead to %s, not to %s; nothing was changed", c.Method, plan.Target.ID.Short(), p.ID)
		}
	}
	if redo {
		return restored(c)(c.Engine.Redo(ctx))
	}
	return restored(c)(c.Engine.Undo(ctx))
}

// merged is what planRevert, revert, planApply and apply are asked for.
func merged(ctx context.Context, c *Call, verb string) ([]engine.Span, *engine.RestoreOptions, error) {
	var p struct {
		IDs              []string
		Paths            []string
		Ignored, Markers bool
	}
	if err := c.Decode(&p); err != nil {
		return nil, nil, err
	}
	list, err := SpansOf(ctx, c.Engine, p.IDs, func(id string) (*engine.Snapshot, error) { return c.Engine.Resolve(ctx, id) })
	if err != nil {
		return nil, nil, err
	}
	spans, label := list.Merged(verb == "revert")
	return spans, &engine.RestoreOptions{Paths: p.Paths, Ignored: p.Ignored, Markers: p.Markers, Label: label}, nil
}

func callPlanMerge(ctx context.Context, c *Call, verb string) (any, error) {
	spans, opt, err := merged(ctx, c, verb)
	if err != nil {
		return nil, err
	}
	plan, err := c.Engine.PlanMerge(ctx, spans, opt)
	if err != nil {
		return nil, err
	}
	return planned(ctx, c, plan)
}

func callMerge(ctx context.Context, c *Call, verb string) (any, error) {
	spans, opt, err := merged(ctx, c, verb)
	if err != nil {
		return nil, err
	}
	return restored(c)(c.Engine.Merge(ctx, verb, spans, opt))
}

// planned is the plan with the branches on which it was recorded and would be
// carried out, and with the lines that it changes if the client wants them.
func planned(ctx context.Context, c *Call, plan *engine.Plan) (any, error) {
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
	d := c.Engine.DiffPlan(plan)
	patch, err := patchOf(ctx, d, p.MaxBytes)
	if err != nil {
		return nil, err
	}
	out.Patch, out.Truncated = &patch.Patch, patch.Truncated
	lines, err := Difference(ctx, d, true)
	out.Changes = lines.Changes
	return out, err
}
