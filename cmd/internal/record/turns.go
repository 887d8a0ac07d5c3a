package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/process"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// An agent that calls no hook has ended its turn, as far as anybody outside can see, when
// it rests: it and what it has started take no processor time for a while.

const (
	restLooks = 4  // times that a rest is looked at before it counts
	restShare = 20 // of a processor, one part in so many is none: a prompt blinks

	// Whoever has taken so much since the last point may have changed something little by
	// little, and its rest is one more.
	restSum = 100 * time.Millisecond
)

// A rest knows whether a command works or rests.
type rest struct {
	need  time.Duration // how long it has to rest
	seen  process.Work
	at    time.Time     // when that was
	since time.Time     // when it was last seen working
	done  bool          // what this rest asked for was done
	paid  time.Duration // what had been taken then
}

// looked takes what was seen, and reports whether the command has come to rest.
func (r *rest) looked(now time.Time, w process.Work) bool {
	works := r.at.IsZero() || w.Who != r.seen.Who || (w.Took-r.seen.Took).Abs() > now.Sub(r.at)/restShare
	r.seen, r.at = w, now
	if works {
		r.since, r.done = now, false
		return false
	}
	if r.done && (w.Took-r.paid).Abs() < restSum || now.Sub(r.since) < r.need {
		return false
	}
	r.done, r.paid = true, w.Took
	return true
}

// watchTurns makes a point each time the command comes to rest, until the context ends.
func (r *around) watchTurns(ctx context.Context, pid int) {
	begun, now := time.Now(), rest{need: r.turns}
	said := ""
	for n := 1; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.turns / restLooks):
		}
		work, err := process.WorkOf(pid)
		if err != nil { // it has ended
			return
		}
		if !now.looked(time.Now(), work) {
			continue
		}
		made, err := r.turn(ctx, n, begun)
		if made {
			n++
		}
		if err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			r.tellLater("a turn could not be recorded: " + exit.Sentence(ctx, err))
		}
	}
}

// turn makes a point if the files are not as the last snapshot has them.
func (r *around) turn(ctx context.Context, n int, begun time.Time) (made bool, err error) {
	e, err := engine.Open(ctx, r.app.Dir, &engine.Options{Force: r.app.Force, NoGit: r.app.NoGit, Recovered: func(done *engine.Restored) {
		r.tellLater(show.RecoveredText(done))
		for _, n := range done.Conflicts {
			r.tellLater(fmt.Sprintf("conflict: %s: %s", show.Quote(n.Path), n.Reason))
		}
	}})
	if err != nil {
		return false, err
	}
	defer e.Close()
	if now, err := e.Snapshot(ctx, &engine.SnapshotOptions{DryRun: true}); err != nil || now.Reused {
		return false, err
	}
	opt := r.point
	opt.Entry += "-" + strconv.Itoa(n)
	opt.Trigger = "turn"
	if words := typed(e.Root(), begun); words != "" {
		opt.Prompt = words
	}
	done, err := e.Snapshot(ctx, &opt)
	if err != nil {
		return false, err
	}
	r.tellLater(worthSaying(done)...)
	return true, nil
}

// tellLater keeps what is to be said, once: the screen is the agent's.
func (r *around) tellLater(lines ...string) {
	for _, line := range lines {
		if !slices.Contains(r.later, line) {
			r.later = append(r.later, line)
		}
	}
}

// typedFile is where Aider keeps what was typed to it.
const typedFile = ".aider.input.history"

// typed returns what was typed last to an agent that writes that into the project: the
// lines that begin with + behind the last one that does not.
func typed(root string, since time.Time) string {
	f, err := regular.Open(filepath.Join(root, typedFile))
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.ModTime().Before(since) {
		return ""
	}
	const tail = 64 << 10
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-tail), tail))
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	var words []string
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("+")); ok {
			words = append(words, string(rest))
		} else {
			words = nil
		}
	}
	return show.Shorten(strings.ToValidUTF8(strings.Join(strings.Fields(strings.Join(words, " ")), " "), ""), promptWords)
}
