package record

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/hook"
	"github.com/seed-82afce7a/rewind/cmd/internal/socket"
	"github.com/seed-82afce7a/rewind/engine"
)

// An offer is the socket by which other processes have their snapshots taken by this
// one, which watches the worktree.
type offer struct {
	app     *app
	kept    *Keeper
	command string // who offers
	root    string
	alike   map[string]string
	asked   atomic.Int64 // when something was last asked for, in nanoseconds since 1970
	served  atomic.Int64 // requests
	lent    atomic.Int64 // turns
	lending atomic.Int64 // since when one is lent, in nanoseconds since 1970; 0: none is
	ended   chan struct{}
	wakes   chan struct{} // is sent to when something was asked for

	listener *socket.Listener
	stop     context.CancelFunc
}

// offerEvery is how often a place is looked for that another process has taken.
const offerEvery = 2 * time.Second

// Offer lets other processes use what is kept of a worktree, unless that is so already or
// was tried a moment ago. It fails if another process does the same.
func (k *Keeper) Offer(ctx context.Context, c *cli.App, root string) (err error) {
	if k.offer == nil && time.Since(k.offered) > offerEvery {
		k.offered = time.Now()
		k.offer, err = newOffer(ctx, c, k, root)
	}
	return err
}

// OfferWatched is [Keeper.Offer] for as long as the worktree is watched.
func (k *Keeper) OfferWatched(c *cli.App, root string) {
	watched, _ := k.Watch.State()
	if k.offer != nil && (!watched || k.offer.root != root || !k.offer.listener.Stands()) {
		go k.offer.close() // it may wait for who waits for this request
		k.offer = nil
	}
	if watched {
		_ = k.Offer(context.Background(), c, root)
	}
}

// newOffer begins to serve a worktree.
func newOffer(ctx context.Context, c *cli.App, k *Keeper, root string) (*offer, error) {
	place, err := socket.Open(os.Getenv, true)
	if err != nil {
		return nil, err
	}
	flags := &app{&cli.App{Stdio: c.Stdio, Force: c.Force, NoGit: c.NoGit}}
	o := &offer{app: flags, kept: k, command: "rewind " + c.Verb, root: root, alike: flags.alike(), ended: make(chan struct{}), wakes: make(chan struct{}, 1)}
	if o.listener, err = socket.Listen(place, o.root, program()); err != nil {
		return nil, err
	}
	o.asked.Store(time.Now().UnixNano())
	ctx, o.stop = context.WithCancel(ctx)
	go func() {
		defer close(o.ended)
		o.listener.Serve(ctx, o.handle)
	}()
	return o, nil
}

// close stops what is under way for others, who then do it themselves.
func (o *offer) close() {
	if o == nil {
		return
	}
	o.stop()
	<-o.ended
	_ = o.listener.Close()
}

// handle carries out one request.
func (o *offer) handle(ctx context.Context, r *socket.Request) {
	var q asked
	if json.Unmarshal(r.Body, &q) != nil {
		return
	}
	say := func(out answered) error {
		p, err := json.Marshal(out)
		if err == nil {
			err = r.Say(p)
		}
		return err
	}
	why := o.refusal(&q)
	if q.What == askState {
		_ = say(answered{Accepted: true})
		_ = say(answered{Done: true, State: o.state(why)})
		return
	}
	if why != "" {
		_ = say(answered{Refused: why})
		return
	}
	defer o.wake()
	if q.What == askTurn {
		o.lend(ctx, r, &q, say)
		return
	}
	if say(answered{Accepted: true}) != nil {
		return
	}
	o.asked.Store(time.Now().UnixNano())
	o.served.Add(1)
	switch q.What {
	case askSnapshot, askPoint:
		ctx, cancel := r.Attended(ctx)
		defer cancel()
		_ = say(o.take(ctx, &q))
	case askHook:
		o.work(ctx, r, &q)
	}
	o.asked.Store(time.Now().UnixNano())
}

// wake tells who keeps the worktree that something was asked for, and done.
func (o *offer) wake() {
	select {
	case o.wakes <- struct{}{}:
	default: // it is told already
	}
}

// refusal says why a request is not for this process; "" if it is.
func (o *offer) refusal(q *asked) string {
	if names := differences(o.alike, q.Alike); len(names) > 0 {
		return strings.Join(names, ", ") + ": not as where it was started"
	}
	if mine := os.Getenv("PATH"); q.Path != mine && programIn(q.Path, "git") != programIn(mine, "git") {
		return "PATH: there it leads to another git"
	}
	if rel, err := filepath.Rel(o.root, q.Dir); err != nil || !filepath.IsLocal(rel) {
		return "another directory"
	}
	return ""
}

func (o *offer) state(unused string) *Watching {
	w := &Watching{PID: os.Getpid(), Command: o.command, Unused: unused, Served: o.served.Load(), Lent: o.lent.Load(), Failing: o.kept.failing.Load()}
	w.Watched, w.Why = o.kept.Watch.State()
	if since := o.lending.Load(); since != 0 && time.Since(time.Unix(0, since)) > turnWait {
		w.Watched, w.Why = false, "another command has its turn and has not ended it"
	}
	return w
}

// turnWait is how long a request waits for another one. Who asks may as well do the
// work.
const turnWait = 250 * time.Millisecond

// options are those with which a client would open the worktree.
func (o *offer) options(q *asked, recovered func(*engine.Restored)) *engine.Options {
	getenv := func(name string) string {
		if name == "PATH" {
			return q.Path
		}
		return os.Getenv(name)
	}
	return &engine.Options{Force: o.app.Force, NoGit: o.app.NoGit, AutoPush: o.app.AutoPush, Recovered: recovered, Getenv: getenv}
}

// open opens the worktree for a request, if it is still the one that is served. The
// caller calls done.
func (o *offer) open(ctx context.Context, dir string, opt *engine.Options) (e *engine.Engine, done func(), err error) {
	if err := o.kept.Begin(ctx, turnWait); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			o.kept.End()
		}
	}()
	if e, err = o.kept.Watch.Open(ctx, dir, opt); err != nil {
		return nil, nil, err
	}
	if e.Root() != o.root {
		return nil, nil, fmt.Errorf("%s belongs to %s", dir, e.Root())
	}
	if watchSetting(e) == "false" {
		return nil, nil, fmt.Errorf("rewind.watch is false")
	}
	return e, o.kept.End, nil
}

// lentMost is how long a turn is lent: a client that was stopped must not keep this
// process from its own.
const lentMost = 10 * time.Second

// lend lends a turn to a client, which does the work itself.
func (o *offer) lend(ctx context.Context, r *socket.Request, q *asked, say func(answered) error) {
	o.asked.Store(time.Now().UnixNano())
	refuse := func(why string) { _ = say(answered{Refused: why}) }
	if q.Dir != o.root {
		refuse("another directory")
		return
	}
	if err := o.kept.Begin(ctx, turnWait); err != nil {
		refuse(err.Error())
		return
	}
	defer o.kept.End()
	ctx, cancel := r.Attended(ctx)
	defer cancel()
	text, back, ok := o.kept.Watch.Lend(ctx, o.root)
	if !ok {
		refuse("everything is to be looked at")
		return
	}
	var said []byte
	defer func() { back(said) }()
	if say(answered{Accepted: true}) == nil && r.Say(text) == nil {
		o.lent.Add(1)
		o.lending.Store(time.Now().UnixNano())
		said = r.Hear(lentMost)
		o.lending.Store(0)
	}
}

// take takes a snapshot for a client. Where it fails the client takes it itself, and
// is told why, in its own words.
func (o *offer) take(ctx context.Context, q *asked) answered {
	if q.Seconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cli.Duration(q.Seconds, time.Second))
		defer cancel()
	}
	var out, errs, recovered bytes.Buffer
	first := &app{&cli.App{Stdio: cli.Stdio{Err: &recovered}}}
	b := &app{&cli.App{Stdio: cli.Stdio{Out: &out, Err: &errs}, JSON: q.JSON}}
	begun := time.Now()
	e, done, err := o.open(ctx, q.Dir, o.options(q, first.PrintRecovered))
	if err == nil {
		defer done()
		if q.What == askPoint {
			err = b.point(ctx, e, &q.Options, q.Warnings)
		} else {
			b.PrintWarnings(e)
			b.PrintBisect(ctx, e)
			err = b.snapshot(ctx, e, &q.Options, begun)
		}
	}
	code := exit.Code(err)
	if err != nil && code != exit.Partial {
		return answered{Err: recovered.String()}
	}
	return answered{Done: true, Out: out.String(), Err: recovered.String() + errs.String(), Exit: code}
}

// work does the work of a hook. It goes on when the hook is gone, and comes to its end
// before this process does.
func (o *offer) work(ctx context.Context, r *socket.Request, q *asked) {
	h := hooking{app: o.app, form: q.Form, open: func(ctx context.Context, dir string, opt *engine.Options) (*engine.Engine, func(), error) {
		opt = o.options(q, opt.Recovered)
		if e, done, err := o.open(ctx, dir, opt); err == nil {
			return e, done, nil
		}
		return openAlone(ctx, dir, opt)
	}}
	getenv := func(name string) string {
		if name == "REWIND_HOOK_TOOLS" {
			return q.Tools
		}
		return os.Getenv(name)
	}
	w := hook.Worker{Getenv: getenv, Output: saying{r}, Take: h.take}
	if w.Work(context.WithoutCancel(ctx), q.Task) == nil {
		_ = r.Say([]byte(hookEnd))
	}
}

// saying writes what a client is told.
type saying struct{ *socket.Request }

// Write says it at once.
func (s saying) Write(p []byte) (int, error) { return len(p), s.Say(p) }
