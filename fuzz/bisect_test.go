//go:build linux && (amd64 || arm64)

package fuzz

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/bisect"
)

// TestAKillDuringABisectLosesNothing kills a bisect while tests dirty the files. Closing
// it, in another process, puts every file back, and undo and redo are what they were.
func TestAKillDuringABisectLosesNothing(t *testing.T) {
	for _, git := range []bool{false, true} {
		killed(t, "bisect", func(int) (*world, []string, func(said)) {
			w := either(t, git)
			w.recordSix()
			w.write("ignored/dep", "dependency")
			w.write(".env", "secret")
			w.write("f", "the present")
			w.write("mine", "untracked")
			before, history := w.picture(w.root), w.history()
			w.must(w.long.Close())
			return w, nil, func(said) { w.closeBisect(before, history) }
		})
	}
}

// recordSix makes six snapshots, and something to redo.
func (w *world) recordSix() {
	w.t.Helper()
	w.write(".gitignore", "ignored/\n.env\n")
	var first *engine.Recorded
	for i := range 6 {
		w.write("f", strings.Repeat("line\n", 1+i*i*300))
		w.write("only"+strconv.Itoa(i), "x")
		w.must(os.RemoveAll(w.path("only" + strconv.Itoa(i-2))))
		r, err := w.long.Snapshot(w.t.Context(), nil)
		w.must(err)
		if first == nil {
			first = r
		}
	}
	for _, op := range []engine.Op{{To: first.ID}, {Verb: engine.Undo}} {
		_, err := w.long.Do(w.t.Context(), op)
		w.must(err)
	}
}

// closeBisect closes a bisect, if there is one, and holds that all is as it was.
func (w *world) closeBisect(before picture, history string) {
	w.t.Helper()
	ctx := w.t.Context()
	open, err := w.long.Bisecting(ctx)
	w.must(err)
	if open != nil {
		b, err := bisect.Open(ctx, w.long)
		w.must(err)
		w.must(closed(ctx, b))
		b.Release()
	}
	if d := before.Differs(w.picture(w.root)); d != "" {
		w.fail("%s", d)
	}
	if now := w.history(); now != history {
		w.fail("undo and redo were %s and are %s", history, now)
	}
	_, err = w.long.Do(ctx, engine.Op{Verb: engine.Redo}) // the snapshots behind it are there
	w.must(err)
}

func closed(ctx context.Context, b *bisect.Bisect) error {
	done, err := b.Close(ctx, false)
	if err == nil && len(done.Conflicts) > 0 {
		err = fmt.Errorf("conflicts %v", done.Conflicts)
	}
	return err
}

// history says what undo and redo would do, and where the files stand.
func (w *world) history() string {
	w.t.Helper()
	st, err := w.long.Status(w.t.Context())
	w.must(err)
	p, err := w.long.Plan(w.t.Context(), engine.Op{Verb: engine.Redo})
	w.must(err)
	return fmt.Sprintf("%d %d redo to %v here %v", st.Undo, st.Redo, p.Target.ID, st.Here)
}

// search bisects with tests that dirty the files.
func search(ctx context.Context, _ []string) {
	e, err := engine.Open(ctx, ".", nil)
	childExit(err)
	list, err := e.List(ctx, &engine.ListOptions{OnPurpose: true})
	childExit(err)
	b, err := bisect.Start(ctx, e, &bisect.Options{Good: list[len(list)-1], Bad: list[0]})
	childExit(err)
	for {
		s, err := b.Next(ctx)
		childExit(err)
		if s == nil {
			break
		}
		verdict := bisect.Good
		if text, err := os.ReadFile("f"); err != nil || len(text) > 10000 {
			verdict = bisect.Bad
		}
		childExit(errors.Join(os.WriteFile("f", []byte("dirt"), 0o644), os.WriteFile("dirt", nil, 0o644), os.WriteFile(".env", nil, 0o644)))
		childExit(b.Mark(ctx, bisect.Tested{ID: s.ID, Verdict: verdict}))
	}
	childExit(closed(ctx, b))
}
