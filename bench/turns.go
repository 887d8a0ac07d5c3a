package bench

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/seed-82afce7a/rewind/bench/report"
)

// looksMost is about how many points the curve of what is stored has.
const looksMost = 100

// turns: a scripted agent works in each lane, the same in each, and after each of
// its turns there is a snapshot. A round is a turn; the one that warms up only records
// what is there.
func turns(ctx context.Context, st *stage, w workload) ([]report.Result, error) {
	o := st.o
	defer func() { st.o = o }()
	st.o.Rounds = o.Turns
	var agents []*agent
	lines, err := st.compare(ctx, w, contender.makes, func(_ contender, l *lane) way {
		agents = append(agents, &agent{lane: l, o: o})
		return agents[len(agents)-1].way()
	})
	for i := range lines {
		lines[i].Growth = agents[i].growth
	}
	w.about = fmt.Sprintf("%d %s", o.Turns, w.about)
	return w.result(st, 2, lines), err
}

// An agent works in one lane.
type agent struct {
	lane    *lane
	o       Options
	turn    int
	content int64 // of what it has changed, deflated
	first   int64 // what was stored after the warming up
	growth  []report.Growth
}

// way is that of the agent's turns. Now and then is looked at what was recorded.
func (a *agent) way() way {
	w := a.lane.recorder(a.ready, a.work)
	holds := w.after
	w.after = func(ctx context.Context) error {
		if !a.due() {
			return nil
		}
		return firstError(holds(ctx), a.look())
	}
	return w
}

// due reports whether it is time to look at what was recorded.
func (a *agent) due() bool {
	n := a.turn - 1
	return n%max(a.o.Turns/looksMost, 1) == 0 || n == a.o.Turns
}

// ready lets the system begin anew before the first turn.
func (a *agent) ready(ctx context.Context) error {
	if a.turn == 0 {
		return a.lane.forget(ctx)
	}
	return a.lane.prime(ctx)
}

// work does the next turn.
func (a *agent) work() (changed, error) {
	a.turn++
	if a.turn == 1 {
		return changed{}, nil
	}
	files, err := a.lane.script(rand.New(rand.NewPCG(a.o.Seed, uint64(a.turn))))
	if err != nil {
		return changed{}, err
	}
	size, err := a.lane.deflated(files)
	a.content += size
	return changed{files: files}, err
}

// look adds up what is stored.
func (a *agent) look() error {
	n := a.turn - 1
	all, err := a.lane.tally()
	if n == 0 && a.lane.repository == "" { // of a repository there was nothing before
		a.first = all.allocated
	}
	g := report.Growth{Turn: n, Stored: all.allocated - a.first, Content: a.content}
	if a.lane.repository != "" {
		g.Bytes, g.Files = all.bytes, all.files
	}
	a.growth = append(a.growth, g)
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

// sizes makes a workload of another one, in directories of so many files, of ten times
// as many, and so on up to those that were asked for. With a corpus of somebody's there
// is one.
func sizes(from int, run func(context.Context, *stage, workload) ([]report.Result, error)) func(context.Context, *stage, workload) ([]report.Result, error) {
	return func(ctx context.Context, st *stage, w workload) (results []report.Result, err error) {
		var list []int
		for n := from; n < st.o.Files && st.o.Corpus == ""; n *= 10 {
			list = append(list, n)
		}
		left := map[string]string{}
		for _, n := range append(list, st.o.Files) {
			s := sized{st, n, left, run}
			r, err := s.results(ctx, w)
			results = append(results, r...)
			if err != nil {
				return results, err
			}
			for _, res := range r {
				for _, l := range res.Lines {
					if len(l.Seconds) > 0 && report.Median(l.Seconds).Median > tooSlow {
						left[l.Contender] = fmt.Sprintf("left out: it took more than %.0f s with %d files", tooSlow, n)
					}
				}
			}
		}
		return results, nil
	}
}

// A sized workload runs with so many files.
type sized struct {
	st    *stage
	files int
	left  map[string]string // who is left out, and why
	run   func(context.Context, *stage, workload) ([]report.Result, error)
}

// results runs it, in copies of their own.
func (s *sized) results(ctx context.Context, w workload) (_ []report.Result, err error) {
	st, o := s.st, s.st.o
	o.Files = s.files
	in := st
	if s.files != st.o.Files {
		in, err = newStage(ctx, o, place{dir: fmt.Sprintf("%s/size-%d", st.dir, s.files), kind: fmt.Sprintf("%s: %d files", st.kind, s.files)}, st.chosen)
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
		if why := s.left[c.name]; why != "" {
			lines = append(lines, report.Line{Contender: c.name, Left: why})
			continue
		}
		in.chosen = append(in.chosen, c)
	}
	r, err := s.run(ctx, in, w)
	for i := range r {
		r[i].Lines = append(r[i].Lines, lines...)
	}
	return r, err
}
