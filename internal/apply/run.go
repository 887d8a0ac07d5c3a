package apply

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
)

// Files are written in batches. The bytes of a batch are made durable before
// the first of its files takes its place, so that even after a loss of power a
// path holds the old content or the new, whole. A batch costs one syncfs, and
// disk space for as long as old and new exist.
const (
	batchSteps = 1024
	batchBytes = 256 << 20 // begun files are finished
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
	for len(steps) > 0 {
		rank := c.rank(&steps[0])
		n := 1
		for n < len(steps) && c.rank(&steps[n]) == rank {
			n++
		}
		group := make([]*Step, 0, n)
		for i := range steps[:n] {
			s := &steps[i]
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
		steps = steps[n:]
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
		for len(group) > 0 {
			rest, err := a.runBatch(ctx, group)
			if err != nil {
				return err
			}
			group = rest
		}
		return nil
	}
	workers := 1
	if rank == clearLeaves || rank == removeLeaves {
		workers = a.workers
	}
	return Each(ctx, len(group), workers, func(i int) error { return a.enter(group[i], a.step(ctx, group[i])) })
}

// runBatch writes files up to the limits of a batch and returns the steps
// that it did not begin.
func (a *applier) runBatch(ctx context.Context, group []*Step) (rest []*Step, err error) {
	n := min(len(group), batchSteps)
	jobs := make([]job, n)
	errs := make([]error, n)
	var bytes atomic.Int64
	err = Each(ctx, n, a.workers, func(i int) error {
		if bytes.Load() >= batchBytes {
			return nil // not begun: jobs[i].step is nil
		}
		jobs[i], errs[i] = a.prepare(ctx, group[i])
		bytes.Add(jobs[i].ours.Size)
		if fatal(errs[i]) {
			return errs[i]
		}
		return nil
	})
	a.root.Forget()
	if err == nil {
		err = a.syncBytes(jobs)
	}
	if err == nil {
		err = Each(ctx, n, a.workers, func(i int) error {
			if jobs[i].step == nil {
				return nil
			}
			if errs[i] == nil {
				errs[i] = a.finish(jobs[i])
				jobs[i].ours = dirfd.Stat{}
			}
			if errors.As(errs[i], new(elsewhereError)) {
				return nil // once more below, when the others have taken their places
			}
			return a.enter(group[i], errs[i])
		})
	}
	for i := 0; i < n && err == nil; i++ {
		if jobs[i].step != nil && errors.As(errs[i], new(elsewhereError)) {
			err = a.enter(group[i], a.alone(ctx, group[i]))
		}
	}
	for i := range jobs {
		if jobs[i].step == nil {
			rest = append(rest, group[i])
		} else if err != nil && !errors.Is(err, errStopped) {
			a.abandon(jobs[i])
		}
	}
	return append(rest, group[n:]...), err
}

// alone carries out a step for which there was no room beside the others of its
// batch.
func (a *applier) alone(ctx context.Context, s *Step) error {
	j, err := a.prepare(ctx, s)
	if err == nil {
		err = a.syncBytes([]job{j})
	}
	if err != nil {
		a.abandon(j)
		return err
	}
	return a.finish(j)
}

// syncBytes makes durable what was prepared.
func (a *applier) syncBytes(jobs []job) error {
	if !dirfd.SyncReachesAll {
		return nil // each file was synced when it was closed
	}
	for i := range jobs {
		if jobs[i].ours.Size > 0 {
			return a.sync()
		}
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

// Each calls do for 0 to n-1 on several goroutines, each taking runs of
// neighbours, until one fails or the context ends. Whoever reads ahead for it reads as
// many as are in a run of a long list.
func Each(ctx context.Context, n, workers int, do func(int) error) error {
	run := 64
	for run > 1 && run*workers*4 > n {
		run /= 2
	}
	var next atomic.Int64
	var first error
	var once sync.Once
	work := func() {
		for {
			from := int(next.Add(int64(run))) - run
			for i := from; i < min(from+run, n); i++ {
				err := ctx.Err()
				if err == nil {
					err = do(i)
				}
				if err != nil {
					once.Do(func() { first = err })
					next.Store(int64(n))
					return
				}
			}
			if from >= n {
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
