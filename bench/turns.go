package bench

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/seed-82afce7a/rewind/bench/report"
)

// turnsTime is how long one contender may take for its turns in all. The slow ones
// get no further, and say how far they came.
const turnsTime = time.Minute

// looksMost is how often what is stored is added up over the turns.
const looksMost = 100

// turns: a scripted agent works in each lane, the same in each, and after each of
// its turns there is a snapshot.
func turns(ctx context.Context, st *stage, w workload) ([]report.Result, error) {
	var agents []*agent
	for _, c := range st.chosen {
		if c.make == nil {
			continue
		}
		l, err := st.lane(ctx, c)
		if err != nil {
			return nil, err
		}
		if err := firstError(l.clean(ctx), l.system.forget(ctx, l)); err != nil {
			return nil, err
		}
		a := &agent{lane: l, line: report.Line{Contender: c.name}}
		a.way = way{name: c.name, lane: l, ours: c.ours(), prove: func(ctx context.Context) error { return l.comesBack(ctx, a.id) }}
		agents = append(agents, a)
	}
	defer func() {
		for _, a := range agents {
			st.tidy(ctx, []way{a.way})
		}
	}()
	var lines []report.Line
	for n := range st.o.Turns + 1 { // the first is not measured
		for i := range agents {
			a := agents[(n+i)%len(agents)]
			if a.line.Left != "" || a.late() {
				continue
			}
			st.o.Progress(fmt.Sprintf("turns: %d of %d: %s", n, st.o.Turns, a.line.Contender))
			err := a.turn(ctx, st.o, n)
			if err = a.way.judge(ctx, &a.line, err); err != nil {
				return nil, fmt.Errorf("%s: turn %d: %w", a.line.Contender, n, err)
			}
		}
	}
	for _, a := range agents {
		if a.line.Left == "" { // else it has not recorded what is there
			if err := a.way.shows(ctx, &a.line); err != nil {
				return nil, fmt.Errorf("%s: %w", a.line.Contender, err)
			}
			if n := len(a.line.Seconds); n < st.o.Turns {
				a.line.Left = cmp.Or(a.line.Left, fmt.Sprintf("ended after %d turns, which took a minute", n))
			}
		}
		lines = append(lines, a.line)
	}
	w.about = fmt.Sprintf("%d %s", st.o.Turns, w.about)
	return w.result(st, 2, lines), nil
}

// An agent works in one lane.
type agent struct {
	lane    *lane
	line    report.Line
	way     way
	id      string // of the last snapshot
	spent   time.Duration
	content int64 // of what it changed, deflated
	first   int64 // what was stored after the first turn
}

// turn does the n-th turn and records it. Turn 0 only records what is there.
func (a *agent) turn(ctx context.Context, o Options, n int) error {
	l := a.lane
	l.wake()
	defer l.rest()
	var files []string
	if n > 0 {
		var err error
		if files, err = l.script(rand.New(rand.NewPCG(o.Seed, uint64(n)))); err != nil {
			return err
		}
		size, err := l.deflated(files)
		if err != nil {
			return err
		}
		a.content += size
	}
	begun := time.Now()
	id, err := l.system.snapshot(ctx, l)
	took := time.Since(begun)
	if err != nil {
		return err
	}
	a.id, l.primed = id, true
	if n == 0 {
		return firstError(l.prime(ctx), a.look(0))
	}
	a.spent += took
	a.line.Seconds = append(a.line.Seconds, took.Seconds())
	if n%max(o.Turns/looksMost, 1) == 0 || n == o.Turns || a.late() {
		return firstError(a.look(n), l.holds(ctx, id, files))
	}
	return nil
}

// late reports whether the agent has taken its time.
func (a *agent) late() bool { return a.spent > turnsTime }

// look adds up what is stored.
func (a *agent) look(n int) error {
	size, err := a.lane.stored()
	if n == 0 {
		a.first = size
	}
	a.line.Growth = append(a.line.Growth, report.Growth{Turn: n, Stored: size - a.first, Content: a.content})
	return err
}

// script is one turn of the agent: it puts a line into one to three files; in one
// turn of ten it also makes a file, and in others deletes or renames one that it
// made. It gives the files that have other bytes.
func (l *lane) script(random *rand.Rand) (files []string, err error) {
	for range 1 + random.IntN(3) {
		name := l.names.old[random.IntN(len(l.names.old))]
		data, err := os.ReadFile(l.path(name))
		if err != nil {
			return nil, err
		}
		at := bytes.IndexByte(data[random.IntN(len(data)+1):], '\n') + 1
		line := append(text(random, 20+random.IntN(60)), '\n')
		data = append(data[:at:at], append(line, data[at:]...)...)
		if err := os.WriteFile(l.path(name), data, 0o644); err != nil {
			return nil, err
		}
		files = append(files, name)
	}
	made := fmt.Sprintf("%s.made.txt", l.names.old[random.IntN(min(20, len(l.names.old)))])
	_, gone := os.Lstat(l.path(made))
	switch what := random.IntN(10); {
	case what == 0:
		files = append(files, made)
		err = os.WriteFile(l.path(made), text(random, 500+random.IntN(4000)), 0o644)
	case what == 1 && gone == nil:
		err = os.Remove(l.path(made))
	case what == 2 && gone == nil:
		err = os.Rename(l.path(made), l.path(made+".renamed.txt"))
	}
	return files, err
}

// deflated is how many bytes files take, each deflated by itself.
func (l *lane) deflated(files []string) (sum int64, err error) {
	var out bytes.Buffer
	z, err := flate.NewWriter(&out, flate.DefaultCompression)
	if err != nil {
		return 0, err
	}
	for _, name := range files {
		data, err := os.ReadFile(l.path(name))
		if err != nil {
			return 0, err
		}
		out.Reset()
		z.Reset(&out)
		if _, err := z.Write(data); err != nil {
			return 0, err
		}
		if err := z.Close(); err != nil {
			return 0, err
		}
		sum += int64(out.Len())
	}
	return sum, nil
}

// tooSlow is how long a turn may take at one size, for its contender to come
// to the next.
const tooSlow = 3.0

// sizes: the turn with one edited file in directories of 100 files, 1,000 and so
// on up to those that were asked for. With a corpus of somebody's there is one.
func sizes(ctx context.Context, st *stage, w workload) (results []report.Result, err error) {
	var list []int
	for n := 100; n < st.o.Files && st.o.Corpus == ""; n *= 10 {
		list = append(list, n)
	}
	left := map[string]string{}
	for _, n := range append(list, st.o.Files) {
		r, err := st.sized(ctx, w, n, left)
		if err != nil {
			return results, err
		}
		results = append(results, r...)
		for _, l := range r[0].Lines {
			if len(l.Seconds) > 0 && report.Median(l.Seconds).Median > tooSlow {
				left[l.Contender] = fmt.Sprintf("left out: it took more than %.0f s with %d files", tooSlow, n)
			}
		}
	}
	return results, nil
}

// sized runs the turn with so many files, in copies of their own.
func (st *stage) sized(ctx context.Context, w workload, n int, left map[string]string) (_ []report.Result, err error) {
	o := st.o
	o.Files = n
	in := st
	if n != st.o.Files {
		in, err = newStage(ctx, o, place{dir: fmt.Sprintf("%s/size-%d", st.dir, n), kind: fmt.Sprintf("%s: %d files", st.kind, n)}, st.chosen)
		if err != nil {
			return nil, err
		}
		defer func() {
			in.close()
			err = firstError(err, removeAll(in.dir))
		}()
	}
	chosen := in.chosen
	defer func() { in.chosen = chosen }()
	in.chosen = nil
	var lines []report.Line
	for _, c := range chosen {
		if why := left[c.name]; why != "" {
			lines = append(lines, report.Line{Contender: c.name, Left: why})
			continue
		}
		in.chosen = append(in.chosen, c)
	}
	r, err := records(1, edit, true)(ctx, in, w)
	for i := range r {
		r[i].Lines = append(r[i].Lines, lines...)
	}
	return r, err
}
