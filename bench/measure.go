package bench

import (
	"cmp"
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
	grown              *[]report.Growth                // of what it has stored; nil: nobody looks
}

// inexact is an error that says what is not as it was recorded.
type inexact struct{ what string }

func (e inexact) Error() string { return e.what }

// unready is an error that says why a contender cannot be what it stands for here.
type unready struct{ why string }

func (e unready) Error() string { return e.why }

// A measurement is a workload that is being measured.
type measurement struct {
	st    *stage
	name  string // of the workload, with the number of files
	ways  []way
	lines []report.Line
	paces []pace
}

// A pace is how fast one way goes through its rounds.
type pace struct {
	turn  time.Duration // its last one, with what was prepared and checked
	spent time.Duration // in the rounds that count
}

// measure runs the ways of one workload: a round that warms up and takes the
// memory, and then the rounds that count. At the end each proves what it recorded.
func measure(ctx context.Context, st *stage, name string, ways []way) ([]report.Line, error) {
	m := measurement{st, fmt.Sprintf("%s, %d files", name, st.names.files), ways, make([]report.Line, len(ways)), make([]pace, len(ways))}
	for i, w := range ways {
		m.lines[i].Contender = w.name
	}
	for round := range st.o.Rounds + 1 {
		for turn := range ways {
			i := (turn + round) % len(ways)
			if m.left(i) == 0 {
				continue
			}
			if err := m.turn(ctx, round, i); err != nil {
				return nil, fmt.Errorf("%s: %w", ways[i].name, err)
			}
		}
	}
	for i, w := range ways {
		if err := m.prove(ctx, i); err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return m.lines, nil
}

// left is how many turns one way still has, with the one that warms up. Who has
// taken too long has none.
func (m *measurement) left(i int) int {
	if m.lines[i].Left != "" || m.paces[i].spent > m.st.o.longest {
		return 0
	}
	n := m.st.o.Rounds - len(m.lines[i].Seconds)
	if m.paces[i].turn == 0 {
		n++
	}
	return n
}

// toGo says about how long the rounds will go on: as long as each way took the last time.
func (m *measurement) toGo() string {
	var sum time.Duration
	for i, p := range m.paces {
		sum += min(time.Duration(m.left(i))*p.turn, max(m.st.o.longest-p.spent, 0)+p.turn)
	}
	if sum < 10*time.Second {
		return ""
	}
	return fmt.Sprintf(", about %s to go", rounded(sum))
}

// rounded is a duration as people tell it.
func rounded(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}

// turn gives one way its turn in a round, and notes what came of it.
func (m *measurement) turn(ctx context.Context, round, i int) error {
	w, line, pace := m.ways[i], &m.lines[i], &m.paces[i]
	if round == 0 {
		m.st.o.Progress(fmt.Sprintf("%s: warming up: %s", m.name, w.name))
	} else {
		m.st.o.Progress(fmt.Sprintf("%s: round %d of %d: %s%s", m.name, round, m.st.o.Rounds, w.name, m.toGo()))
	}
	begun := time.Now()
	s, err := once(ctx, w, round == 0)
	if err = w.judge(ctx, line, err); err != nil || line.Left != "" {
		return err
	}
	if round == 0 {
		line.PeakBytes, pace.turn = s.peak, s.took // what was prepared for the first turn is there for the others
		if all := s.took * time.Duration(m.st.o.Rounds); all > m.st.o.longest/2 {
			m.st.o.Note(fmt.Sprintf("%s: %s takes %s each time, and ends after %s", m.name, w.name, rounded(s.took), rounded(m.st.o.longest)))
		}
		return nil
	}
	line.Seconds = append(line.Seconds, s.took.Seconds())
	line.DiskBytes = append(line.DiskBytes, s.disk)
	if w.lane.counts != nil {
		line.Requests = append(line.Requests, s.asked)
	}
	pace.turn = time.Since(begun)
	pace.spent += pace.turn
	return nil
}

// prove lets one way show that what it recorded comes back.
func (m *measurement) prove(ctx context.Context, i int) error {
	w, line := m.ways[i], &m.lines[i]
	if line.Left != "" {
		return nil
	}
	if n := len(line.Seconds); n < m.st.o.Rounds {
		defer func() {
			line.Left = cmp.Or(line.Left, fmt.Sprintf("ended after %d rounds, which took %s", n, rounded(m.paces[i].spent)))
		}()
	}
	m.st.o.Progress(fmt.Sprintf("%s: is it exact: %s", m.name, w.name))
	return w.shows(ctx, line)
}

// shows notes whether what was recorded comes back. Before that nobody is exact.
func (w way) shows(ctx context.Context, line *report.Line) error {
	if w.prove == nil {
		return nil
	}
	w.lane.wake()
	err := w.prove(ctx)
	w.lane.rest()
	if err == nil && line.Exact == "" {
		line.Exact = report.Exact
	}
	if err != nil && !w.ours && ctx.Err() == nil {
		err = inexact{err.Error()} // a restore that fails puts nothing back
	}
	return w.judge(ctx, line, err)
}

// judge says of an outcome what it means for the line: whoever else is wrong is
// told of; if we are, the run ends.
func (w way) judge(ctx context.Context, l *report.Line, err error) error {
	var wrong inexact
	var not unready
	switch {
	case err == nil:
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
	took  time.Duration
	peak  int64 // bytes of the largest process; 0 where unknown
	disk  int64 // bytes allocated by it, net
	asked int   // requests
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
	asked := w.lane.requests()
	start := time.Now()
	err = w.act(ctx)
	s := sample{took: time.Since(start), peak: w.lane.peak.bytes(), asked: w.lane.requests() - asked}
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
