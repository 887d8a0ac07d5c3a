package objects

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// What shares a frame of the store is written one after another, so that the frame is
// decoded once.
func TestStepsWriteInTheOrderInWhichTheStoreHasTheContents(t *testing.T) {
	k, ctx := newKit(t, false), context.Background()
	var ids []oid.ID
	for i := range 10 {
		ids = append(ids, k.keep(fmt.Sprint("content ", i))...) // each in a frame of its own
	}
	var steps []apply.Step
	for _, i := range []int{7, 2, 9, 0, 4, 1, 8, 6, 3, 5} {
		steps = append(steps, apply.Step{Path: fmt.Sprint(i), Want: apply.Node{Mode: 0o100644, ID: ids[i]}}, apply.Step{Path: fmt.Sprint("gone", i)})
	}
	nowhere := oid.SHA1.Sum(oid.Blob, []byte("only git has it"))
	p := k.PrefetchSteps(ctx, append([]apply.Step{{Path: "git's", Want: apply.Node{Mode: 0o100644, ID: nowhere}}}, steps...))()
	if len(p.ids) != 11 || len(p.at) != 11 || slices.ContainsFunc(p.ids, oid.ID.IsZero) || p.ids[0] != nowhere {
		t.Errorf("%d contents are read ahead of 11 that are written, at %d places", len(p.ids), len(p.at))
	}
	k.PrefetchSteps(ctx, steps)()
	for i, s := range steps[10:] {
		if s.Path != fmt.Sprint(i) || s.Want.ID != ids[i] {
			t.Fatalf("step %d is %s", i, s.Path)
		}
	}
	paths := map[string]bool{}
	for _, s := range steps {
		paths[s.Path] = true
	}
	if len(paths) != 20 {
		t.Errorf("some steps are lost: %v", paths)
	}
	none := &Objects{Algorithm: oid.SHA1, Store: k.none}
	none.PrefetchSteps(ctx, steps)() // without a store any order is fine
	if len(steps) != 20 || steps[10].Path != "0" {
		t.Errorf("without a store they are moved: %+v", steps)
	}
}
