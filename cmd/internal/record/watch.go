package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/socket"
	"github.com/seed-82afce7a/rewind/engine"
)

// A watch is a process that keeps a worktree in sight: it takes a point whenever
// nothing has changed for a while, and snapshots for other commands.
type watch struct {
	*Keeper
	app      *app
	quiet    time.Duration
	idle     time.Duration // how long it waits for something to do; 0: for ever
	noPoints bool

	root string
	key  string // of the worktree as it was found

	mu   sync.Mutex // guards what follows
	said map[string]bool

	looked time.Time     // when the files were looked at last
	took   time.Duration // and how long that took
	seen   time.Time     // what was done before that is in a point

	again time.Time     // after a point that failed: when the next one is tried
	wait  time.Duration // and how long it has waited for that

	thinned bool // since something was to be done
}

func watchCommand(a *app) *cobra.Command {
	w := watch{app: a, Keeper: NewKeeper(), said: map[string]bool{}}
	c := cli.Command("watch", "Watch the files: a snapshot whenever nothing has changed for a while, and fast ones for other commands", cli.Nothing, func(c *cobra.Command, _ []string) error {
		if w.quiet < quietLeast {
			return exit.Usagef("--quiet %v is less than %v", w.quiet, quietLeast)
		}
		ctx, err := a.Begin(c)
		if err != nil {
			return err
		}
		return w.run(ctx)
	})
	f := c.Flags()
	f.DurationVar(&w.quiet, "quiet", 2*time.Second, "how long nothing has to change before a snapshot is taken")
	f.BoolVar(&w.noPoints, "no-points", false, "take no snapshots but those that other commands ask for")
	f.DurationVar(&w.idle, "idle", 0, "end after this `duration` in which nothing was to be done (default: never)")
	return c
}

const (
	quietLeast = 100 * time.Millisecond

	// Where something changes all the time a point is taken after so many times what
	// would have to be quiet.
	restless = 30

	// Where nothing can be watched, looking at everything is one part in so many of the
	// time.
	unwatchedShare = 50

	// A point that failed is tried again after the first, and then after twice as long each
	// time, up to the second.
	againFirst, againMost = time.Second, time.Minute

	// Where nothing was to be done for so long, nothing is soon.
	calmAfter = time.Minute

	// A directory that is gone may be back within that.
	backSoon = time.Second
)

// run watches until it is told to end, or the directory is gone.
func (w *watch) run(ctx context.Context) error {
	defer w.Keeper.Close(ctx)
	w.app.LivesOn()
	w.Watch.Any = true
	e, err := w.Watch.Open(ctx, w.app.Dir, &engine.Options{Force: w.app.Force, NoGit: w.app.NoGit, Recovered: w.app.PrintRecovered})
	if err != nil {
		return err
	}
	if watchSetting(e) == "false" {
		return errors.New("rewind.watch is false: nothing is watched")
	}
	w.app.PrintWarnings(e)
	w.root = e.Root()
	if w.key, err = socket.Key(w.root); err != nil {
		return err
	}
	release, err := claim(w.root)
	if err != nil {
		return err
	}
	defer release()
	w.Watch.Missed = func(what string) { w.missed(ctx, what) }
	w.serve(ctx)
	what := "a snapshot whenever nothing has changed for " + w.quiet.String()
	if w.noPoints {
		what = "snapshots only when a command asks for one"
	}
	show.Say(w.app.Err, "rewind: watching %s: %s\n", w.root, what)
	w.loop(ctx)
	return nil
}

// claim makes this the only process of its command that watches a worktree.
func claim(root string) (release func(), err error) {
	place, err := socket.Open(os.Getenv, true)
	if err != nil {
		return nil, err
	}
	defer place.Close()
	release, err = place.Claim(root, "watch")
	if errors.Is(err, socket.ErrTaken) {
		return nil, fmt.Errorf("%s is watched already by another process", root)
	}
	return release, err
}

// serve offers the socket, where no other process does.
func (w *watch) serve(ctx context.Context) {
	if err := w.Offer(ctx, w.app.App, w.root); err != nil && !errors.Is(err, socket.ErrTaken) {
		w.once("commands cannot ask for snapshots here: " + err.Error())
	}
}

// loop does what is to be done until nothing is any more.
func (w *watch) loop(ctx context.Context) {
	begun := time.Now()
	var stirs <-chan struct{} // nil: it looks again soon
	for tick := time.NewTimer(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-stirs:
		case <-w.gone():
		case <-w.requests():
		}
		if !w.stands(ctx) {
			w.once("its directory is gone, or another one, and so it ends")
			return
		}
		if w.offer != nil && !w.offer.listener.Stands() { // as after a logout
			w.once("its socket is gone, and so it ends")
			return
		}
		last := w.turn(ctx)
		idle := min(time.Since(last), time.Since(begun))
		if w.offer != nil {
			idle = min(idle, time.Since(time.Unix(0, w.offer.asked.Load())))
		}
		changed := last.After(w.seen)
		if w.idle > 0 && idle > w.idle && w.again.IsZero() && (w.noPoints || !changed) {
			return
		}
		w.thin(idle)
		pace, rests := w.pace(idle, changed)
		if stirs = nil; rests && !w.noPoints {
			stirs = w.Watch.Stirs()
		}
		tick.Reset(pace)
	}
}

// pace is how long until there may be something to do. Where all that has changed is in a
// point, or nothing has happened for a minute, it rests until the kernel tells of something:
// the time is only for what nobody tells, as that a link above the worktree leads elsewhere, or that it has waited long
// enough.
// Where a point has failed nobody tells when it would not any more.
func (w *watch) pace(idle time.Duration, changed bool) (pace time.Duration, rests bool) {
	usual := min(w.quiet, time.Second) / 4
	if !w.again.IsZero() {
		return max(time.Until(w.again), usual), false
	}
	if watched, _ := w.Watch.State(); !watched || idle < calmAfter && (changed || w.noPoints) {
		return usual, false
	}
	pace = time.Minute
	if w.gone() != nil {
		pace = time.Hour
	}
	if idle < calmAfter {
		pace = min(pace, calmAfter-idle) // to be thinned
	}
	if w.idle > 0 {
		pace = min(pace, max(w.idle-idle, usual))
	}
	return pace, true
}

// thin gives the memory that turns needed back to the system, when nothing was to be done for a while. Then there is no
// more of it until something was.
func (w *watch) thin(idle time.Duration) {
	rests := idle >= calmAfter
	if rests && !w.thinned {
		debug.FreeOSMemory()
	}
	w.thinned = rests
}

// gone is sent to when the worktree or the socket may be gone; nil where there is no socket, or nobody tells.
func (w *watch) gone() <-chan struct{} {
	if w.offer == nil {
		return nil
	}
	return w.offer.listener.Stirs()
}

// requests is sent to when another process has asked for something; nil where there is no socket.
func (w *watch) requests() <-chan struct{} {
	if w.offer == nil {
		return nil
	}
	return w.offer.wakes
}

// stands reports whether the worktree is where it was. A directory that was moved away may be back in a moment.
func (w *watch) stands(ctx context.Context) bool {
	for range 10 {
		if key, err := socket.Key(w.root); err == nil && key == w.key || ctx.Err() != nil {
			return true
		}
		time.Sleep(backSoon / 10)
	}
	return false
}

// turn does what has to be done now. It returns when something last changed.
func (w *watch) turn(ctx context.Context) (last time.Time) {
	w.serve(ctx)
	watched, _ := w.Watch.State()
	last = w.Watch.Stirred()
	switch rest := time.Since(last); {
	case time.Now().Before(w.again):
		return last
	case !watched && w.Watch.Hopeless() && time.Since(w.looked) < unwatchedShare*w.took, !watched && time.Since(w.looked) < w.quiet:
		return last
	case !watched:
	case w.noPoints, !last.After(w.seen), rest < w.quiet && time.Since(w.seen) < restless*w.quiet:
		return last
	}
	if err := w.Begin(ctx, 0); err != nil {
		return last
	}
	defer w.End()
	begun := time.Now()
	err := w.look(ctx)
	w.looked, w.took = time.Now(), time.Since(begun)
	switch {
	case ctx.Err() != nil:
	case err == nil:
		w.seen = begun
		w.succeeded()
	case w.noPoints: // nothing is lost by that
		w.once(exit.Sentence(ctx, err))
	default:
		w.failed(begun, exit.Sentence(ctx, err))
	}
	return last
}

// failed notes that a point failed, and says why, if that is new. What changed is in no
// snapshot, so it is tried again though nothing changes any more.
func (w *watch) failed(begun time.Time, why string) {
	now := Failing{Since: begun, Why: why}
	if before := w.failing.Load(); before != nil {
		now.Since = before.Since
	}
	if before := w.failing.Swap(&now); before == nil || before.Why != why {
		show.Say(w.app.Err, "rewind: nothing is recorded, and it tries again: %s\n", why)
	}
	w.wait = min(max(2*w.wait, againFirst), againMost)
	w.again = time.Now().Add(w.wait)
}

// succeeded notes that what changed is in a snapshot.
func (w *watch) succeeded() {
	if w.failing.Swap(nil) != nil {
		show.Say(w.app.Err, "rewind: it records again\n")
	}
	w.again, w.wait = time.Time{}, 0
}

func (w *watch) options() *engine.Options {
	return &engine.Options{Force: w.app.Force, NoGit: w.app.NoGit, AutoPush: w.app.AutoPush, Recovered: w.app.PrintRecovered}
}

// look takes a point, or only learns what there is, for whoever asks next.
func (w *watch) look(ctx context.Context) error {
	e, err := w.Watch.Open(ctx, w.root, w.options())
	if err != nil {
		return err
	}
	if w.noPoints {
		return e.Warm(ctx)
	}
	begun := time.Now()
	r, err := e.Snapshot(ctx, &engine.SnapshotOptions{Trigger: "watch"})
	if err != nil {
		return err
	}
	for _, line := range worthSaying(r) {
		w.once(line)
	}
	if !r.Reused {
		r.Unexpected, r.Unfinished, r.Bridge = nil, nil, nil // said once
		w.app.printSnapshot(r, false, time.Since(begun))
	}
	return nil
}

// missed takes a snapshot of all that is there, after the watcher has missed
// something.
func (w *watch) missed(ctx context.Context, what string) {
	if err := w.Begin(ctx, 0); err != nil {
		return
	}
	defer w.End()
	e, err := w.Watch.Open(ctx, w.root, w.options())
	if err == nil {
		_, err = e.Snapshot(ctx, &engine.SnapshotOptions{Trigger: "audit"})
	}
	if err != nil {
		what += "; a snapshot of all that is there failed: " + err.Error()
	}
	w.once(what + ": from now on everything is looked at each time")
}

// once says a line that was not said before.
func (w *watch) once(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.said[line] {
		w.said[line] = true
		show.Say(w.app.Err, "rewind: %s\n", line)
	}
}

// watchSetting is what rewind.watch says: "true", "false", "auto": where that is worth it, or
// "large": and a snapshot of many files begins it.
func watchSetting(e *engine.Engine) string {
	for _, t := range e.Settings() {
		if t.Name == "rewind.watch" && len(t.Values) > 0 {
			return t.Values[0].Text
		}
	}
	return "auto"
}
