package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/seed-82afce7a/rewind/bench/report"
)

// chosenKey gives a contender that was chosen.
func (st *stage) chosenKey(key string) (contender, bool) {
	i := slices.IndexFunc(st.chosen, func(c contender) bool { return c.key == key })
	if i < 0 {
		return contender{}, false
	}
	return st.chosen[i], true
}

// starts: commands that should cost no more than their start.
func starts(ctx context.Context, st *stage, w workload) ([]report.Result, error) {
	var ways []way
	for _, of := range []struct {
		key, name string
		command   func(l *lane) []string
	}{
		{"rewind", "rewind list", func(l *lane) []string { return []string{l.binary, "-C", l.tree, "list", "--limit", "20", "--json"} }},
		{"rewind", "rewind status", func(l *lane) []string { return []string{l.binary, "-C", l.tree, "status", "--json"} }},
		{"pi-rewind-hook", "git log of pi-rewind-hook", func(*lane) []string {
			return []string{"git", "log", "-20", "--first-parent", "--format=%H %T %s", hookRef}
		}},
		{"restic", "restic snapshots", func(l *lane) []string {
			return []string{"restic", "-q", "-r", l.state + "/restic", "snapshots", "--json"}
		}},
		{"git-status", "git version", func(*lane) []string { return []string{"git", "version"} }},
	} {
		c, ok := st.chosenKey(of.key)
		if !ok {
			continue
		}
		l, err := st.lane(ctx, c)
		if err != nil {
			return nil, err
		}
		ways = append(ways, l.command(of.name, of.command(l)...))
	}
	lines, err := measure(ctx, st, w.name, ways)
	return w.result(st, 0, lines), err
}

// command is a way that is one command, which must print something. The lane's
// system has recorded something before.
func (l *lane) command(name string, args ...string) way {
	var out []byte
	return way{
		name: name, lane: l, ours: l.contender.ours(),
		before: func(ctx context.Context) error {
			if l.system == nil {
				return nil
			}
			return l.prime(ctx)
		},
		act: func(ctx context.Context) (err error) {
			out, err = l.run(ctx, command{name: args[0], args: args[1:], env: []string{"RESTIC_PASSWORD=bench"}})
			return err
		},
		after: func(context.Context) error {
			if len(bytes.TrimSpace(out)) == 0 {
				return errors.New("printed nothing")
			}
			return nil
		},
	}
}

// atOnce is how many sessions there are in the workload of that name.
const atOnce = 4

// sessions: four of them edit and record the same directory at once. Each has
// an edit of its own, and its own snapshot must hold it.
func sessions(ctx context.Context, st *stage, w workload) ([]report.Result, error) {
	lines, err := st.compare(ctx, w, contender.makes, st.crowd)
	return w.result(st, atOnce, lines), err
}

// crowd is the way of four sessions of one contender in one lane.
func (st *stage) crowd(c contender, l *lane) way {
	files := l.pick(atOnce)
	all := crowd{l.system}
	for len(all) < len(files) {
		all = append(all, st.system(c, l))
	}
	ids := make([]string, len(files))
	return way{
		before: func(ctx context.Context) error {
			all.each(resident.wake)
			err := l.prime(ctx)
			all.each(func(r resident) {
				if err == nil {
					err = r.ready(ctx, l)
				}
			})
			return err
		},
		act: func(ctx context.Context) error {
			errs := make([]error, len(files))
			var done sync.WaitGroup
			for i, name := range files {
				if err := l.editFile(name); err != nil {
					return err
				}
				done.Go(func() { ids[i], errs[i] = all[i].snapshot(ctx, l) })
			}
			done.Wait()
			return firstError(errs...)
		},
		after: func(ctx context.Context) error {
			defer all.each(resident.rest)
			for i, name := range files {
				if err := l.holds(ctx, ids[i], []string{name}); err != nil {
					return err
				}
			}
			return nil
		},
		prove: func(ctx context.Context) error {
			id, err := l.system.snapshot(ctx, l)
			if err != nil {
				return err
			}
			return l.comesBack(ctx, id)
		},
	}
}

// A crowd is several sessions with one worktree.
type crowd []system

// each does something to every one that is resident.
func (c crowd) each(do func(resident)) {
	for _, s := range c {
		if r, ok := s.(resident); ok {
			do(r)
		}
	}
}

// histories: commands in a directory with a long history, beside git's own list of
// as many commits.
func histories(ctx context.Context, st *stage, w workload) ([]report.Result, error) {
	c, ok := st.chosenKey("rewind")
	if !ok {
		return nil, nil
	}
	l, err := st.lane(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := firstError(l.clean(ctx), l.system.forget(ctx, l)); err != nil {
		return nil, err
	}
	if err := st.fill(ctx, l); err != nil {
		return nil, err
	}
	own := func(name string, args ...string) way {
		return l.command(name, append([]string{l.binary, "-C", l.tree}, args...)...)
	}
	snapshot := l.recorder(l.prime, func() (changed, error) { return edit(ctx, l, 1) })
	snapshot.name, snapshot.lane, snapshot.ours = "rewind snapshot, one file edited", l, true
	half := fmt.Sprint(st.o.History / 2)
	ways := []way{snapshot, own("rewind list, 20 newest", "list", "--limit", "20", "--json"), own("rewind list, all", "list", "--limit", "0", "--json"), own("rewind status", "status", "--json"),
		own("rewind prune to half, dry run", "prune", "--max-snapshots", half, "--dry-run", "--json")}
	if st.o.History > 1 {
		git, err := st.chain(ctx)
		if err != nil {
			return nil, err
		}
		ways = append(ways, git...)
	}
	lines, err := measure(ctx, st, w.name, ways)
	if err != nil {
		return nil, err
	}
	w.about = fmt.Sprintf("%s of %d snapshots", strings.TrimSuffix(w.about, " with a long history")+" with a history", st.o.History)
	results := w.result(st, 1, lines)
	pruned, err := st.pruned(ctx, own("rewind prune to half", "prune", "--max-snapshots", half, "--json"))
	results[0].Lines = append(results[0].Lines, pruned)
	return results, err
}

// pruned measures what can be done once only.
func (st *stage) pruned(ctx context.Context, w way) (report.Line, error) {
	s, err := once(ctx, w, true)
	return report.Line{Contender: w.name, Seconds: []float64{s.took.Seconds()}, PeakBytes: s.peak, DiskBytes: []int64{s.disk}}, err
}

// fill gives a lane its history, by a process that lives on.
func (st *stage) fill(ctx context.Context, l *lane) error {
	s := &session{}
	defer s.end()
	for i := range st.o.History {
		if i%100 == 0 {
			st.o.Progress(fmt.Sprintf("history: snapshot %d of %d", i, st.o.History))
		}
		if _, err := edit(ctx, l, 1); err != nil {
			return err
		}
		if _, err := s.snapshot(ctx, l); err != nil {
			return err
		}
	}
	l.primed = true
	return nil
}

// chain gives the list of as many commits, made by git itself.
func (st *stage) chain(ctx context.Context) ([]way, error) {
	c, ok := st.chosenKey("git-status")
	if !ok {
		return nil, nil
	}
	l, err := st.lane(ctx, c)
	if err != nil {
		return nil, err
	}
	var in bytes.Buffer
	for range st.o.History {
		in.WriteString("commit refs/bench/chain\ncommitter bench <bench@localhost> 1700000000 +0000\ndata 8\nsnapshot\n")
	}
	if _, err := l.run(ctx, command{name: "git", args: []string{"fast-import", "--quiet", "--force"}, stdin: in.Bytes()}); err != nil {
		return nil, err
	}
	log := func(name string, more ...string) way {
		return l.command(name, append([]string{"git", "log", "--first-parent", "--format=%H %T %s", "refs/bench/chain"}, more...)...)
	}
	return []way{log("git log, 20 newest of as many commits", "-20"), log("git log, all of as many commits")}, nil
}
