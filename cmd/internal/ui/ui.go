// Package ui is the terminal interface over the history of a worktree: its timeline
// beside what each snapshot changed, with the verbs that put states back. It calls
// the engine's public verbs in the background, one that changes files after a
// person has seen what it will do and said yes. What only records, names or forks is
// done by rewind's own commands, on the same engine, and what they print is shown.
// Between two calls it holds no lock.
//
// What others have written (names, labels, prompts, lines of files, errors) is shown
// through internal/visible.
//
// # How, and why
//
// Nothing waits. The model only takes messages; each call of the engine has a context
// that ends when its answer is of no use any more, and an answer that comes too late
// is dropped by its number. A row is compared when it has been chosen for 25 ms. The
// first 256 snapshots are read before all others. What the first screen does not need
// begins when its lines are there, or after 0.2 s: with 10,000 snapshots of the kernel
// tree it can be drawn with the first frame, 50 ms after the library has started.
//
// What changes files is planned, shown, asked, planned again, and carried out only if
// that plan is the one that was shown. Once a second the size and time of the store's
// file are looked at; the worktree is not watched: what is chosen is compared anew
// when the terminal gets the focus, and R does it.
//
// The one library is bubbletea. Whoever links lipgloss, or bubbles, which needs it,
// reads terminfo at each start on a terminal (1 ms of the 4 that a start may take) and
// runs "tmux info" in tmux, whatever the program is for; tables of the newest bubbles
// take 16 ms of every start. The looks are the terminal's sixteen colours, so a
// person's own choice counts. Linking bubbletea costs 0.5 ms of each start and 1.8 MB;
// a program of its own would be one more to install. It looks for something to draw
// twenty times a second, not sixty: of a core that is 0.4 % in place of 1.5 %. At a
// width of one cell nothing is drawn, as its renderer then loses the last row for good.
//
// Tests hold that no file changes before its path was shown and y was pressed
// (act_test.go), that every row is as wide as the terminal, and nothing in it is
// obeyed by one (view_test.go), and that the terminal is as it was after q, Ctrl-C and
// SIGTERM (../command/ui_linux_test.go).
package ui

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/seed-82afce7a/rewind/engine"
)

// A Screen shows one worktree on a terminal. Make one with [New], give its methods
// to the engine that it is to show, then let it run.
type Screen struct {
	Command Runner // set before it runs

	in, out  *os.File
	getenv   func(string) string
	progress atomic.Pointer[engine.Progress]

	mu      sync.Mutex // guards program
	program *tea.Program
}

// New makes a screen on a terminal. Colours follow NO_COLOR of the environment.
func New(in, out *os.File, getenv func(string) string) *Screen {
	return &Screen{in: in, out: out, getenv: getenv}
}

// Progress is for the engine's options: it says how far a long step is.
func (s *Screen) Progress(p engine.Progress) { s.progress.Store(&p) }

// Recovered is for the engine's options: it tells of an operation that was
// interrupted and has been finished on the way.
func (s *Screen) Recovered(r *engine.Restored) {
	s.mu.Lock()
	p := s.program
	s.mu.Unlock()
	if p != nil {
		go p.Send(recovered{r})
	}
}

// quitGrace is how long a call of the engine that only reads may take to notice that
// nobody waits for it any more.
const quitGrace = 500 * time.Millisecond

// framesPerSecond is how often a second the library looks whether there is anything
// new to draw, also while nobody does anything. Its own 60 take more than a hundredth
// of a core; what a key does is seen soon enough with fewer.
const framesPerSecond = 20

// Run shows the engine's worktree until a person leaves, or the context ends, which
// is the error then. The terminal is as it was before in both cases.
func (s *Screen) Run(ctx context.Context, e *engine.Engine) error {
	calls, stop := context.WithCancel(ctx)
	defer stop()
	b := &backstage{engine: e, run: s.Command, ctx: calls, progress: s.progress.Load}
	m := newModel(b)
	profile := colorprofile.ANSI
	if s.getenv("NO_COLOR") != "" {
		profile, m.selected = colorprofile.ASCII, chosen0
	}
	p := s.draws(ctx, m, profile)
	s.mu.Lock()
	s.program = p
	s.mu.Unlock()
	_, err := p.Run()
	stop()
	b.wait(quitGrace)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, tea.ErrProgramKilled) && errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	return err
}

// draws makes the program that draws a model.
func (s *Screen) draws(ctx context.Context, m tea.Model, profile colorprofile.Profile) *tea.Program {
	return tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(s.in), tea.WithOutput(s.out),
		tea.WithoutSignalHandler(), tea.WithColorProfile(profile), tea.WithFPS(framesPerSecond))
}

// A backstage calls the engine in the background.
type backstage struct {
	engine   *engine.Engine
	run      Runner
	ctx      context.Context
	progress func() *engine.Progress
	running  sync.RWMutex // held for reading while a call runs
	scan     sync.Mutex   // one look at the worktree at a time
}

// call makes a command of a call of the engine. Its context ends with the screen too.
func (b *backstage) call(ctx context.Context, f func(context.Context) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		b.running.RLock()
		defer b.running.RUnlock()
		if b.ctx.Err() != nil {
			return nil
		}
		return f(ctx)
	}
}

// wait lets calls come to their end, for so long at most.
func (b *backstage) wait(most time.Duration) {
	idle := make(chan struct{})
	go func() {
		b.running.Lock()
		defer b.running.Unlock()
		close(idle)
	}()
	select {
	case <-idle:
	case <-time.After(most):
	}
}

// A job is something that is done in the background. The answer to what was begun
// before comes too late.
type job struct {
	turn   int
	cancel context.CancelFunc // nil: nothing was begun
}

// An answer is what became of a job.
type answer struct {
	of   *job
	turn int
	msg  tea.Msg
}

// begin makes a command of a job. What was begun of it before goes on, unless it was
// stopped.
func (b *backstage) begin(j *job, f func(context.Context) tea.Msg) tea.Cmd {
	ctx, cancel := context.WithCancel(b.ctx)
	j.turn++
	j.cancel = cancel
	turn := j.turn
	return b.call(ctx, func(ctx context.Context) tea.Msg {
		defer cancel()
		msg := f(ctx)
		if _, told := msg.(outcome); told {
			return msg // of what was done a person is told in any case
		}
		return answer{j, turn, msg}
	})
}

// stop lets a job end of which no answer is wanted any more.
func (j *job) stop() {
	j.turn++
	if j.cancel != nil {
		j.cancel()
	}
}

// rest waits, unless the context ends before: who moves on quickly asks for nothing.
func rest(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
