package apply

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Files are written in batches. The bytes of a batch are made durable before
// the first of its files takes its place, so that even after a loss of power a
// path holds the old content or the new, whole. A batch costs one syncfs, and
// disk space for as long as old and new exist.
const (
	batchSteps = 1024
	batchBytes = 256 << 20 // begun files are finished
)

// writeAll writes files and links, in about the order of the steps: of each run of them,
// those of one directory come together, so that it is opened once.
func (a *applier) writeAll(ctx context.Context, group []*Step) error {
	for run := range slices.Chunk(group, runSteps) {
		slices.SortStableFunc(run, func(a, b *Step) int { return strings.Compare(tree.Parent(a.Path), tree.Parent(b.Path)) })
	}
	for len(group) > 0 {
		rest, err := a.runBatch(ctx, group)
		if err != nil {
			return err
		}
		group = rest
	}
	return nil
}

// runBatch writes files up to the limits of a batch and returns the steps
// that it did not begin.
func (a *applier) runBatch(ctx context.Context, group []*Step) (rest []*Step, err error) {
	n := min(len(group), batchSteps)
	jobs := make([]job, n)
	errs := make([]error, n)
	var bytes atomic.Int64
	err = eachRun(ctx, n, a.workers, func(from, to int) error {
		return a.prepareRun(ctx, group[from:to], jobs[from:to], errs[from:to], &bytes)
	})
	a.root.Forget()
	if err == nil {
		err = a.syncBytes(jobs)
	}
	for i := range jobs {
		if err != nil && jobs[i].step != nil && jobs[i].ours.Mode == 0 && !fatal(errs[i]) && !errors.As(errs[i], new(elsewhereError)) {
			_ = a.enter(group[i], errs[i]) // it needed no more
		}
	}
	if err == nil {
		err = eachRun(ctx, n, a.workers, func(from, to int) error {
			return a.finishRun(ctx, jobs[from:to], errs[from:to])
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

// prepareRun prepares neighbours, unless the batch is full.
func (a *applier) prepareRun(ctx context.Context, steps []*Step, jobs []job, errs []error, bytes *atomic.Int64) error {
	var at *place
	first := 0 // of those in the directory that is open
	leave := func(next int) {
		at.stays(jobs[first:next], errs[first:next])
		at.close()
		at, first = nil, next
	}
	begun := 0
	defer func() { leave(begun) }()
	for i, s := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if bytes.Load() >= batchBytes {
			return nil // not begun: jobs[i].step is nil
		}
		if !at.covers(s.Path) {
			leave(i)
			at, errs[i] = a.open(s.Path)
		}
		begun = i + 1
		jobs[i] = job{step: s}
		if errs[i] == nil {
			jobs[i], errs[i] = at.beside(s.Path).prepare(ctx, s)
		}
		bytes.Add(jobs[i].ours.Size)
		if fatal(errs[i]) {
			return errs[i]
		}
	}
	return nil
}

// stays makes sure that the path still leads to the directory in which something was done
// already: permissions were changed, or what is wanted was found.
func (p *place) stays(jobs []job, errs []error) {
	var done []int
	for i, j := range jobs {
		if j.step != nil && j.ours.Mode == 0 && (errs[i] == nil || errors.Is(errs[i], errThere)) {
			done = append(done, i)
		}
	}
	if len(done) > 0 {
		p.lead(done, errs)
	}
}

// lead makes conflicts of what was done in a directory, if the path leads there no more.
func (p *place) lead(done []int, errs []error) {
	if err := p.leads(); err != nil {
		for _, i := range done {
			errs[i] = err
		}
	}
}

// finishRun finishes neighbours.
func (a *applier) finishRun(ctx context.Context, jobs []job, errs []error) error {
	for from, to := 0, 0; from < len(jobs); from = to {
		if err := ctx.Err(); err != nil {
			return err
		}
		for to = from + 1; to < len(jobs) && jobs[to].dir() == jobs[from].dir(); to++ {
		}
		a.finishIn(jobs[from:to], errs[from:to])
		var failed error
		for i, j := range jobs[from:to] {
			err := errs[from+i]
			if j.step == nil || j.unfinished(err) || errors.As(err, new(elsewhereError)) {
				continue // not begun, or once more when the others have taken their places
			}
			failed = cmp.Or(failed, a.enter(j.step, err))
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}

// unfinished reports whether a job waits for its last act.
func (j job) unfinished(err error) bool { return err == nil && j.ours.Mode != 0 }

// finishIn finishes what was prepared in one directory, and last makes sure that the path
// still leads there: what went with a directory that somebody moved is not at its path.
func (a *applier) finishIn(jobs []job, errs []error) {
	var at *place
	defer func() { at.close() }()
	var done []int
	for i, j := range jobs {
		if j.step == nil || !j.unfinished(errs[i]) {
			continue
		}
		jobs[i].ours = dirfd.Stat{}
		if at == nil {
			at, errs[i] = a.open(j.step.Path)
		}
		if at == nil {
			a.putOff(j)
		} else if errs[i] = at.beside(j.step.Path).finish(j); errs[i] == nil || errors.Is(errs[i], errThere) {
			done = append(done, i)
		}
		if fatal(errs[i]) {
			break // what is left is abandoned
		}
	}
	if len(done) > 0 {
		at.lead(done, errs)
	}
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
