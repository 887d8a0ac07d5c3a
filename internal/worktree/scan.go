package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

const (
	workersMin   = 2
	workersMax   = 16
	progressStep = 100 * time.Millisecond
	waitingMin   = 2 // directories that wait, for another worker to be started
)

// Scan looks at a worktree. What is wrong with a single path is in the result.
// Scan itself fails if the root or an index cannot be read, if the Saver fails,
// or if the context ends.
func Scan(ctx context.Context, cfg *Config) (*Result, error) {
	root, err := dirfd.OpenRoot(cfg.Root)
	if err != nil {
		return nil, fmt.Errorf("scan: %w", err)
	}
	defer root.Close()
	again := *cfg
	if again.Repo.Index != nil {
		again.Repo.Index = sync.OnceValues(cfg.Repo.Index)
	}
	s := newScan(&again, root)
	s.levels = s.beginLevels()
	for try := 1; ; try++ {
		err := s.run(ctx)
		if err != nil && !errors.Is(err, errLevels) {
			return nil, fmt.Errorf("scan: %w", err)
		}
		now, settled := s.settled()
		switch {
		case err == nil && s.more():
			now = s.levels
		case err == nil && (settled || try >= scansMax):
			return s.finished(), nil
		default:
			if again.Only = nil; try >= scansMax {
				now = levels{} // the root alone is within the limits
			}
		}
		s = newScan(&again, root)
		s.levels = now
	}
}

// A scan is the state that the workers share.
type scan struct {
	cfg       *Config
	root      *dirfd.Root
	now       func() int64
	cutoff    int64                // what was touched at this time or later is young
	doubtful  int64                // what was touched at this time or later is not as the table says
	slack     time.Duration        // how far the clock that stamps files may be from ours
	writeback func() time.Duration // see [writebackTime]
	tells     bool                 // the root's file system may say that nobody can write to a file
	quick     uint64               // the device of the root, if it is this machine's own
	force     Changes              // [Config.Force]: all below those paths
	seen      []bool               // by row number; each is written by the one worker that has the row
	way       Changes              // what a scan that is told what changed enters all the same

	hire func() // starts another worker

	mu      sync.Mutex
	idle    int // workers that were not started yet
	wake    *sync.Cond
	stack   []*node // directories to visit
	open    int     // directories not yet finished
	err     error   // the first fatal one
	result  *Result // rows and lists are added under mu
	count   Counters
	told    time.Time // when Progress was called last
	small   *Small    // limits of ignored files; nil: none is recorded without being named
	levels  levels
	tally   tally
	grown   growth
	last    *node           // the root
	linked  map[uint64]bool // inodes of files that have more names than their rows know; of changes alone
	emptyID oid.ID
}

func newScan(cfg *Config, root *dirfd.Root) *scan {
	s := &scan{cfg: cfg, root: root, slack: slackUnknown, told: time.Now()}
	s.wake = sync.NewCond(&s.mu)
	s.writeback = sync.OnceValue(func() time.Duration { return writebackTime(vmDir) })
	if cfg.Policy != nil {
		s.small = cfg.Policy.Small()
	}
	s.tells = root.Tells()
	local := root.Local()
	if local {
		s.slack = slackLocal
	}
	if st, err := root.Stat(); err == nil && local {
		s.quick = st.Dev
	}
	if s.now = cfg.Now; s.now == nil {
		s.now = coarseNow
	}
	s.cutoff = s.now() - int64(s.slack)
	s.doubtful = doubtful(s.cfg.StatTable)
	if cfg.Only == nil {
		s.seen = make([]bool, cfg.StatTable.Len())
	} else { // nothing may grow with the tree
		for dir := range cfg.StatTable.Restless() {
			s.way.reach(dir)
		}
	}
	for _, path := range cfg.Force {
		s.force.AddBelow(path)
	}
	s.result = &Result{statTable: cfg.StatTable, rows: map[string]stattable.Row{}, unsaved: map[string]bool{}, closed: map[string]bool{}, found: map[string][]stattable.Entry{}, seen: s.seen, partial: cfg.Only != nil, only: cfg.Only}
	return s
}

func (s *scan) run(ctx context.Context) error {
	n := &node{inherited: inherited{side: inTree, reach: taken}, levels: s.levels}
	n.private = s.cfg.Private
	s.last = n
	if err := s.enterRealm(n, &s.cfg.Repo); err != nil {
		return err
	}
	n.pending.Store(1)
	s.push([]*node{n})
	stop := context.AfterFunc(ctx, func() { s.fail(ctx.Err()) })
	var all sync.WaitGroup
	s.start(ctx, &all)
	all.Wait()
	if !stop() { // also where nobody has met it, for the end came so late
		s.fail(ctx.Err())
	}
	return s.err
}

// start starts the workers. A scan of changes most often enters one directory after
// another: it begins with one worker, which would otherwise wake a second one at each,
// and [scan.push] starts the others where directories wait.
func (s *scan) start(ctx context.Context, all *sync.WaitGroup) {
	workers := min(max(runtime.GOMAXPROCS(0), workersMin), workersMax)
	s.hire = func() { all.Go(func() { s.work(ctx) }) }
	if s.cfg.Only != nil {
		s.idle, workers = workers-1, 1
	}
	s.count.workers = int64(workers)
	for range workers {
		s.hire()
	}
}

// work takes directories from the stack until all are finished.
func (s *scan) work(ctx context.Context) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer s.faulted()
	w := &worker{scan: s, ctx: ctx}
	for n := s.take(w); n != nil; n = s.take(w) {
		if err := w.visit(n); err != nil {
			s.fail(err)
			return
		}
		if err := w.release(n); err != nil {
			s.fail(err)
			return
		}
	}
}

// faulted ends the scan where a row lay on a page that the table's mapped file
// does not have any more: somebody shortened it, or the disk cannot read it.
func (s *scan) faulted() {
	p := recover()
	if _, fault := p.(interface{ Addr() uintptr }); fault {
		s.fail(errTable)
	} else if p != nil {
		panic(p)
	}
}

var errTable = errors.New("the stat table changed during the scan; try again")

// take returns the next directory, nil when there is nothing more to do. It
// also collects what the worker counted, and tells of it now and then.
func (s *scan) take(w *worker) *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count.add(&w.count)
	w.count = Counters{}
	if s.cfg.Progress != nil && time.Since(s.told) >= progressStep {
		s.told = time.Now()
		s.cfg.Progress(s.count)
	}
	for len(s.stack) == 0 && s.open > 0 && s.err == nil {
		s.wake.Wait()
	}
	if len(s.stack) == 0 || s.err != nil {
		return nil
	}
	n := s.stack[len(s.stack)-1]
	s.stack = s.stack[:len(s.stack)-1]
	return n
}

func (s *scan) push(nodes []*node) {
	if len(nodes) == 0 {
		return
	}
	s.mu.Lock()
	s.stack = append(s.stack, nodes...)
	s.open += len(nodes)
	more := s.idle > 0 && len(s.stack) > waitingMin
	if more {
		s.idle--
		s.count.workers++
	}
	s.mu.Unlock()
	if more {
		s.hire()
	}
	if len(nodes) == 1 {
		s.wake.Signal()
	} else {
		s.wake.Broadcast()
	}
}

// done counts a directory as finished.
func (s *scan) done() {
	s.mu.Lock()
	s.open--
	idle := s.open == 0
	s.mu.Unlock()
	if idle {
		s.wake.Broadcast()
	}
}

func (s *scan) fail(err error) {
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	s.mu.Unlock()
	s.wake.Broadcast()
}

// tell adds to the result.
func (s *scan) tell(add func(r *Result)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(s.result)
}

// finished returns the result after the last worker has stopped.
func (s *scan) finished() *Result {
	r := s.result
	r.State = tree.State{Tree: s.last.tree, Overlay: s.last.overlay, Umask: s.cfg.Umask}
	r.Counters = s.count
	slices.SortFunc(r.Skipped, func(a, b Skip) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Reason, b.Reason))
	})
	slices.Sort(r.Unstable)
	slices.Sort(r.Nested)
	return r
}

func (c *Counters) add(o *Counters) {
	c.Dirs += o.Dirs
	c.Listed += o.Listed
	c.Stats += o.Stats
	c.Opened += o.Opened
	c.ReadBytes += o.ReadBytes
	c.Trees += o.Trees
	c.recorded += o.recorded
	c.kept += o.kept
}
