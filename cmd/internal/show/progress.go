package show

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/seed-82afce7a/rewind/engine"
)

// progressDelay is how long a step may take before a person is told about it.
const progressDelay = 400 * time.Millisecond

// Progress draws a bar on the terminal while a step takes long. The zero value
// is ready and draws nothing.
type Progress struct {
	mu    sync.Mutex // guards what follows
	w     io.Writer
	bar   *progressbar.ProgressBar
	step  string
	begun time.Time
	shown bool
	ended bool
}

// Start returns the function to give to the engine, nil where there is no
// terminal to draw on.
func (p *Progress) Start(w io.Writer) func(engine.Progress) {
	if !IsTerminal(w) {
		return nil
	}
	p.w, p.begun = w, time.Now()
	return p.update
}

func (p *Progress) update(now engine.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || time.Since(p.begun) < progressDelay {
		return
	}
	total := int64(-1)
	if now.Total > 0 {
		total = int64(now.Total)
	}
	if p.bar == nil || p.step != now.Step {
		p.erase()
		p.step = now.Step
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(now.Step), progressbar.OptionShowCount(),
			progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(total > 0))
	}
	p.shown = true
	// Drawing is best effort: the step goes on without it.
	_ = p.bar.Set(now.Done)
}

// Of adapts the bar to a step that only counts; nil where there is none.
func (p *Progress) Of(step string) func(done, total int) {
	if p.w == nil {
		return nil
	}
	return func(done, total int) { p.update(engine.Progress{Step: step, Done: done, Total: total}) }
}

// Clear takes the bar off the terminal for good.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.ended = true
}

func (p *Progress) erase() {
	if p.shown {
		_ = p.bar.Clear()
		p.shown = false
	}
}

// IsTerminal reports whether w is a terminal a person looks at.
func IsTerminal(w any) bool {
	f, ok := Behind(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
