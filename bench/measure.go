package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-82afce7a/rewind/bench/report"
)

// A way is one line of a workload's result: how one contender does it. Only act
// is measured; before makes the situation, after checks what was done.
type way struct {
	name               string
	lane               *lane
	ours               bool // a failure ends the run
	before, act, after func(ctx context.Context) error
	prove              func(ctx context.Context) error // whether what was recorded comes back; nil: nothing was
}

// inexact is an error that says what is not as it was recorded.
type inexact struct{ what string }

func (e inexact) Error() string { return e.what }

// unready is an error that says why a contender cannot be what it stands for here.
type unready struct{ why string }

func (e unready) Error() string { return e.why }

// measure runs the ways of one workload: a round that warms up and takes the
// memory, and then the rounds that count.
func measure(ctx context.Context, st *stage, name string, ways []way) ([]report.Line, error) {
	lines := make([]report.Line, len(ways))
	for i, w := range ways {
		lines[i].Contender = w.name
	}
	for round := range st.o.Rounds + 1 {
		for turn := range ways {
			i := (turn + round) % len(ways)
			if lines[i].Left != "" {
				continue
			}
			st.o.Progress(fmt.Sprintf("%s: round %d of %d: %s", name, round, st.o.Rounds, ways[i].name))
			s, err := once(ctx, ways[i], round == 0)
			if err = ways[i].judge(ctx, &lines[i], err); err != nil {
				return nil, fmt.Errorf("%s: %w", ways[i].name, err)
			}
			if round == 0 {
				lines[i].PeakBytes = s.peak
			} else if lines[i].Left == "" {
				lines[i].Seconds = append(lines[i].Seconds, s.took.Seconds())
				lines[i].DiskBytes = append(lines[i].DiskBytes, s.disk)
			}
		}
	}
	for i, w := range ways {
		if w.prove == nil || lines[i].Left != "" {
			continue
		}
		st.o.Progress(fmt.Sprintf("%s: is it exact: %s", name, w.name))
		w.lane.wake()
		err := w.prove(ctx)
		w.lane.rest()
		if err != nil && !w.ours && ctx.Err() == nil {
			err = inexact{err.Error()} // a restore that fails puts nothing back
		}
		if err = w.judge(ctx, &lines[i], err); err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return lines, nil
}

// judge says of an outcome what it means for the line: whoever else is wrong is
// told of; if we are, the run ends.
func (w way) judge(ctx context.Context, l *report.Line, err error) error {
	var wrong inexact
	var not unready
	switch {
	case err == nil:
		if w.prove != nil && l.Exact == "" {
			l.Exact = report.Exact
		}
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &not):
		l.Left = w.lane.oneLine(not)
	case w.ours:
		return err
	case errors.As(err, &wrong):
		l.Exact, l.Inexact = report.NotExact, w.lane.oneLine(wrong)
	default:
		l.Left = "failed: " + w.lane.oneLine(err)
	}
	return nil
}

// A sample is what one turn of one contender cost.
type sample struct {
	took time.Duration
	peak int64 // bytes of the largest process; 0 where unknown
	disk int64 // bytes allocated by it, net
}

// once gives one contender its turn.
func once(ctx context.Context, w way, watchMemory bool) (sample, error) {
	w.lane.wake()
	defer w.lane.rest()
	if err := w.before(ctx); err != nil {
		return sample{}, fmt.Errorf("prepare: %w", err)
	}
	w.lane.peak.reset(watchMemory)
	size, err := w.lane.stored()
	if err != nil {
		return sample{}, err
	}
	start := time.Now()
	err = w.act(ctx)
	s := sample{took: time.Since(start), peak: w.lane.peak.bytes()}
	w.lane.peak.reset(false)
	if err != nil {
		return sample{}, err
	}
	after, err := w.lane.stored()
	if err != nil {
		return sample{}, err
	}
	s.disk = after - size
	if err := w.after(ctx); err != nil {
		return s, fmt.Errorf("check: %w", err)
	}
	return s, nil
}
