package apply

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// run carries out the steps: leaves by several goroutines, directories one
// after the other, and the permissions of new directories at the end, so that
// a read-only directory is filled first.
func (a *applier) run(ctx context.Context, steps []Step) error {
	blocked, err := a.survey(ctx, steps)
	if err != nil {
		return err
	}
	a.narrow(steps, blocked)
	var made []*Step
	c := newClearing(steps)
	for order := c.order(steps); len(order) > 0; {
		rank := c.rank(order[0])
		n := 1
		for n < len(order) && c.rank(order[n]) == rank {
			n++
		}
		group := order[:0:n]
		for _, s := range order[:n] {
			err := errors.Join(safePath(s.Path), s.Have.check(), s.Want.check(), blocked[s.Path])
			if err == nil {
				group = append(group, s)
			} else if err := a.enter(s, err); err != nil {
				return err
			}
		}
		if err := a.runGroup(ctx, rank, group); err != nil {
			return err
		}
		if rank == makeDirs {
			made = group
		}
		order = order[n:]
	}
	for i := len(made) - 1; i >= 0; i-- {
		if err := a.settleMode(made[i]); err != nil {
			return err
		}
	}
	return nil
}

// runGroup carries out steps of one rank.
func (a *applier) runGroup(ctx context.Context, rank int, group []*Step) error {
	a.root.Forget()
	defer a.root.Forget()
	if rank == writeLeaves {
		return a.writeAll(ctx, group)
	}
	workers := 1
	if rank == clearLeaves || rank == removeLeaves || rank == makeDirs {
		workers = a.workers
	}
	for len(group) > 0 {
		n := len(group)
		if rank == makeDirs { // one is made when those above it are there
			for n = 1; n < len(group) && depth(group[n]) == depth(group[0]); n++ {
			}
		}
		err := Each(ctx, n, workers, func(i int) error { return a.enter(group[i], a.step(ctx, group[i])) })
		if err != nil {
			return err
		}
		group = group[n:]
	}
	return nil
}

// enter puts a step into the outcome. An error that ends the run is returned.
func (t *tally) enter(s *Step, err error) error {
	if fatal(err) {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil && s.idle():
	case err == nil && s.Want.absent():
		t.out.Deleted++
	case errors.Is(err, errThere):
		t.out.There = append(t.out.There, s.Path)
	case err == nil:
		t.out.Written++
	case errors.As(err, new(keptError)):
		t.out.Kept = append(t.out.Kept, note(s.Path, err))
	default:
		if t.failed == nil {
			t.failed = map[string]bool{}
		}
		t.failed[s.Path] = true
		t.out.Conflicts = append(t.out.Conflicts, note(s.Path, err))
	}
	if t.done++; t.progress != nil {
		t.progress(t.done, t.total)
	}
	return nil
}

// runSteps is how many neighbours of a long list one goroutine takes at a time.
const runSteps = 64

// Each calls do for 0 to n-1 on several goroutines, each taking runs of
// neighbours, until one fails or the context ends. Whoever reads ahead for it reads as
// many as are in a run of a long list.
func Each(ctx context.Context, n, workers int, do func(int) error) error {
	return eachRun(ctx, n, workers, func(from, to int) error {
		for i := from; i < to; i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachRun is Each for who has something to keep from one neighbour to the next.
func eachRun(ctx context.Context, n, workers int, do func(from, to int) error) error {
	run := runSteps
	for run > 1 && run*workers*4 > n {
		run /= 2
	}
	var next atomic.Int64
	var first error
	var once sync.Once
	work := func() {
		for {
			from := int(next.Add(int64(run))) - run
			if from >= n {
				return
			}
			if err := do(from, min(from+run, n)); err != nil {
				once.Do(func() { first = err })
				next.Store(int64(n))
				return
			}
		}
	}
	var wg sync.WaitGroup
	for range min(workers, (n+run-1)/run) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return first
}
