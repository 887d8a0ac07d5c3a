package main

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
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
	text, err := printed(func(a *app) error { return a.printPlan(plan, time.Since(c.begun)) })
	if err != nil {
		return nil, err
	}
	more := map[string]any{}
	for name, ref := range map[string]string{"branch": plan.Target.Branch, "here": c.engine.Branch()} {
		if ref != "" {
			more[name] = ref
		}
	}
	if !p.Patch {
		return extended(text, more)
	}
	d := c.engine.DiffPlan(plan)
	patch, err := patchOf(ctx, d, p.MaxBytes)
	if err != nil {
		return nil, err
	}
	if more["patch"] = patch.Patch; patch.Truncated {
		more["truncated"] = true
	}
	stat, err := printed(func(a *app) error { return a.printDiffJSON(ctx, d, true) })
	if err != nil {
		return nil, err
	}
	lines := map[string]any{}
	if err := json.Unmarshal(stat, &lines); err != nil {
		return nil, err
	}
	maps.Copy(more, lines)
	return extended(text, more)
}

// extended adds fields to an object.
func extended(object json.RawMessage, more map[string]any) (any, error) {
	out := map[string]any{}
	if err := json.Unmarshal(object, &out); err != nil {
		return nil, err
	}
	maps.Copy(out, more)
	return out, nil
}
