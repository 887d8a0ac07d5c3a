package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
)

// PrintJSON prints the one object of a --json command.
func (a *App) PrintJSON(v any) {
	a.Told = true
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// A value of our own types always encodes; a closed pipe is the reader's choice.
	_ = enc.Encode(v)
	_, _ = io.WriteString(a.Out, show.PlainJSON(b.String()))
}

// Width is how many columns the terminal has, 0 where the output is none: then
// nothing is cut.
func (a *App) Width() int {
	f, ok := show.Behind(a.Out).(*os.File)
	if !ok || !show.IsTerminal(a.Out) {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil || w <= 0 {
		return 80
	}
	return max(w, show.Narrowest)
}

// Warn says what is wrong beside what a command shows; nil: nothing.
func (a *App) Warn(errs ...error) {
	for _, err := range errs {
		if exit.Full(err) {
			err = errors.New(exit.Sentence(context.Background(), err))
		}
		if err != nil {
			show.Say(a.Err, "rewind: warning: %v\n", err)
		}
	}
}

// Note names paths, each behind a word that says what became of it, and why. A file of a remote that cannot be read has
// no path: its reason names it.
func (a *App) Note(word string, notes []engine.Note) {
	for _, n := range notes {
		about := word
		if n.Path != "" {
			about += ": " + show.Quote(n.Path)
		}
		show.Say(a.Err, "%s: %s\n", about, n.Reason)
	}
}

// firstMost is how many paths are named of those that a snapshot lacks: they may be thousands.
const firstMost = 20

// NoteFirst names what a snapshot lacks, as Note does: of much the first, and who names all.
func (a *App) NoteFirst(word string, s *engine.Snapshot, notes []engine.Note) {
	a.Note(word, notes[:min(len(notes), firstMost)])
	if more := len(notes) - firstMost; more > 0 {
		show.Say(a.Err, "%s: %s (\"rewind show %s\" names all)\n", word, show.Count(more, "more path"), s.ID.Short())
	}
}

// NoteLeft names what stays or stayed as it is, and what has both versions now.
func (a *App) NoteLeft(kept, conflicts, marked []engine.Note) {
	a.Note("kept", kept)
	a.Note("conflict", conflicts)
	a.Note("marked", marked)
}

// PrintTold prints a letter and a path for each change, and both for what was renamed.
func (a *App) PrintTold(d *engine.Diff) { show.PrintTold(a.Out, d) }

// PrintNames prints a letter and a path for each change.
func (a *App) PrintNames(list []engine.Change) { show.PrintNames(a.Out, list) }

// PrintSnapshots prints snapshots that another command speaks of.
func (a *App) PrintSnapshots(list []*engine.Snapshot) {
	p := &show.Printer{W: a.Out, L: &show.Listing{Opt: engine.ListOptions{All: true}}, Width: a.Width(), How: show.Look{Color: show.Colored(a.Out)}}
	_ = p.Print(list) // what could not be written is told at the end
}

// LessCost says how history is made to cost less.
const LessCost = "\"rewind prune --max-store-size SIZE --gc\" drops the oldest snapshots; the setting rewind.maxStoreSize limits every prune"
