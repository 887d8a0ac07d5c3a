package main

import (
	"context"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/wire"
)

func callPlan(ctx context.Context, c *call) (any, error) {
	s, opt, err := target(ctx, c)
	if err != nil {
		return nil, err
	}
	plan, err := c.engine.Plan(ctx, s.ID, opt)
	if err != nil {
		return nil, err
	}
	return planned(ctx, c, plan)
}

func callPlanUndo(ctx context.Context, c *call, redo bool) (any, error) {
	plan, err := c.engine.PlanUndo(ctx, redo)
	if err != nil {
		return nil, err
	}
	return planned(ctx, c, plan)
}

// planned is the plan with the branches on which it was recorded and would be
// carried out, and with the lines that it changes if the client wants them.
func planned(ctx context.Context, c *call, plan *engine.Plan) (any, error) {
	var p struct {
		Patch    bool
		MaxBytes int
	}
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	out := wire.NewPlan(plan, time.Since(c.begun))
	out.Branch, out.Here = plan.Target.Branch, c.engine.Branch()
	if !p.Patch {
		return out, nil
	}
	d := c.engine.DiffPlan(plan)
	patch, err := patchOf(ctx, d, p.MaxBytes)
	if err != nil {
		return nil, err
	}
	out.Patch, out.Truncated = &patch.Patch, patch.Truncated
	lines, err := difference(ctx, d, true)
	out.Changes = lines.Changes
	return out, err
}
