package objects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// ErrUnfinished is reported of an operation that has begun and has not ended.
var ErrUnfinished = errors.New("stopped half-way")

// A kept plan has a version, because it may be read by another build than the one
// that wrote it.
type keptPlan struct {
	Version int          `json:"version"`
	Steps   []apply.Step `json:"steps"`
}

const planVersion = 1

// stepBytes is about what a step takes.
const stepBytes = 256

// EncodeSteps encodes the steps of a plan one by one: of a million all at once the package
// json would hold the text three times.
func EncodeSteps(steps []apply.Step) ([]byte, error) {
	if len(steps) == 0 {
		return json.Marshal(keptPlan{Version: planVersion, Steps: steps})
	}
	out := fmt.Appendf(make([]byte, 0, stepBytes*len(steps)+64), `{"version":%d,"steps":[`, planVersion)
	for i := range steps {
		if i > 0 {
			out = append(out, ',')
		}
		out = steps[i].AppendJSON(out)
	}
	return append(out, "]}"...), nil
}

// DecodeSteps reads what [EncodeSteps] gives.
func DecodeSteps(data []byte) ([]apply.Step, error) {
	var j keptPlan
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, fmt.Errorf("%w: the journal: %w", records.ErrDamaged, err)
	}
	if j.Version != planVersion {
		return nil, fmt.Errorf("%w: a journal of version %d", cas.ErrNewerFormat, j.Version)
	}
	return j.Steps, nil
}

// PrefetchSteps asks the store where it has what steps write, while the caller goes on and
// reads them. What it returns is to be called once: it puts them into the order in which the
// store has that, and prepares to read it.
func (o *Objects) PrefetchSteps(ctx context.Context, steps []apply.Step) (ready func() *Prefetch) {
	ids := make([]oid.ID, len(steps))
	for i := range steps {
		ids[i] = steps[i].Want.ID
	}
	var order []int
	var places []cas.Place
	var asking sync.WaitGroup
	asking.Go(func() { order, places = o.nearby(ctx, ids) })
	return func() *Prefetch {
		asking.Wait()
		return o.inOrder(steps, ids, order, places)
	}
}

// inOrder is the second half of [Objects.PrefetchSteps].
func (o *Objects) inOrder(steps []apply.Step, ids []oid.ID, order []int, places []cas.Place) *Prefetch {
	for i := range order { // in place: there may be a million steps
		at := i
		for order[at] != i {
			from := order[at]
			steps[at], steps[from] = steps[from], steps[at]
			ids[at], ids[from] = ids[from], ids[at]
			places[at], places[from] = places[from], places[at]
			order[at], at = at, from
		}
		order[at] = at
	}
	n := 0 // of those that write something
	for i, id := range ids {
		if !id.IsZero() {
			ids[n], places[n] = id, places[i]
			n++
		}
	}
	p := o.Prefetch(ids[:n])
	p.at = places[:n]
	return p
}
