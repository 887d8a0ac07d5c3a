package show

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

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
	step  string
	begun time.Time
	drawn time.Time
	shown bool
	ended bool
}

// Start returns the function to give to the engine, nil where there is no
// terminal to draw on.
func (p *Progress) Start(w io.Writer) func(engine.Progress) {
	if !IsTerminal(w) || os.Getenv("TERM") == "dumb" {
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
	if p.shown && p.step == now.Step && time.Since(p.drawn) < progressEvery {
		return
	}
	p.step, p.drawn, p.shown = now.Step, time.Now(), true
	fmt.Fprintf(p.w, "\r\x1b[K%s %s", now.Step, bar(now.Done, now.Total))
}

// progressEvery is how often what is shown changes.
const progressEvery = 100 * time.Millisecond

// bar draws how far a step is, of which the whole may not be known.
func bar(done, total int) string {
	if total <= 0 {
		return fmt.Sprint(done)
	}
	const width = 30
	full := width * min(done, total) / total
	return fmt.Sprintf("[%s%s] %d of %d", strings.Repeat("=", full), strings.Repeat(" ", width-full), done, total)
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
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

// IsTerminal reports whether w is a terminal a person looks at.
func IsTerminal(w any) bool {
	f, ok := Behind(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
