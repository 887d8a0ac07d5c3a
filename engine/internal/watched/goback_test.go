//go:build linux

package watched_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/engine"
)

// goBack asks what changed and what an operation would do, of somebody who looks where
// something changed and of somebody who looks at everything; then it is carried out, and
// most often taken back, after which all is as before.
func (w *world) goBack() {
	w.t.Helper()
	if w.scans != nil || len(w.taken) == 0 {
		return
	}
	before := w.all()
	w.sameDiff()
	op := w.someOp()
	w.done = append(w.done, fmt.Sprintf("%q %+v", op.Verb, op))
	w.samePlan(op)
	r, err := w.do(op, w.r.IntN(4) == 0)
	if err != nil || r.Undo.IsZero() {
		return
	}
	w.back++
	if w.r.IntN(3) > 0 {
		w.compare()
	}
	if w.r.IntN(3) == 0 || w.written || len(r.Conflicts)+len(r.Kept) > 0 {
		return
	}
	verb := engine.Undo
	if op.Verb == engine.Undo {
		verb = engine.Redo
	}
	w.samePlan(engine.Op{Verb: verb})
	w.done = append(w.done, verb)
	if r, err = w.do(engine.Op{Verb: verb}, false); err != nil || len(r.Conflicts)+len(r.Kept) > 0 {
		return
	}
	if now := w.all(); now.Tree != before.Tree || now.Overlay != before.Overlay {
		w.t.Fatalf("taken back, it is %v %v, not %v %v\nafter %q", now.Tree, now.Overlay, before.Tree, before.Overlay, w.done)
	}
}

// all looks at everything.
func (w *world) all() *engine.Recorded {
	w.t.Helper()
	e := w.engine(nil)
	defer e.Close()
	r, err := e.Snapshot(w.ctx, &engine.SnapshotOptions{DryRun: true})
	w.must(err)
	return r
}

// someOp is an operation that may have something to do.
func (w *world) someOp() (op engine.Op) {
	some := func() engine.ID { return w.taken[w.r.IntN(len(w.taken))] }
	switch w.r.IntN(8) {
	case 0:
		return engine.Op{Verb: engine.Undo}
	case 1:
		return engine.Op{Verb: engine.Redo}
	case 2:
		return engine.Op{Verb: "revert", Ranges: []engine.Range{{From: some(), To: some()}}}
	case 3:
		op.Ignored = true
	case 4:
		op.Paths = []string{":(literal)" + w.name()}
	}
	op.To = some()
	return op
}

// do carries an operation out, perhaps while others write.
func (w *world) do(op engine.Op, meanwhile bool) (*engine.Restored, error) {
	e := w.either()
	defer e.Close()
	stop, ended := make(chan struct{}), make(chan struct{})
	if w.written = meanwhile; meanwhile {
		path := filepath.Join(w.dir, w.name())
		go func() {
			defer close(ended)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					_ = os.WriteFile(path, []byte(fmt.Sprint("meanwhile", i%3)), 0o644)
				}
			}
		}()
	} else {
		close(ended)
	}
	r, err := e.Do(w.ctx, op)
	close(stop)
	<-ended
	return r, err
}

// asked is what two of them have to agree on.
func (w *world) asked(e *engine.Engine, ask func(*engine.Engine) (*engine.Diff, error)) string {
	w.t.Helper()
	defer e.Close()
	d, err := ask(e)
	if err != nil {
		return err.Error()
	}
	text, err := json.MarshalIndent([]any{d.Changes, d.Kept, d.Conflicts, d.Marked}, "", " ")
	w.must(err)
	return string(text)
}

func (w *world) same(what string, ask func(*engine.Engine) (*engine.Diff, error)) {
	w.t.Helper()
	only, _ := w.tree.State()
	got, want := w.asked(w.either(), ask), w.asked(w.engine(nil), ask)
	if got != want {
		w.t.Fatalf("%s, watched %v: %s\nall: %s\nafter %q", what, only, got, want, w.done)
	}
	w.count(only)
}

// samePlan compares what an operation would do.
func (w *world) samePlan(op engine.Op) {
	w.t.Helper()
	w.same("plan", func(e *engine.Engine) (*engine.Diff, error) { return e.Plan(w.ctx, op) })
}

// sameDiff compares what changed since some snapshot.
func (w *world) sameDiff() {
	w.t.Helper()
	id := w.taken[w.r.IntN(len(w.taken))].String()
	w.same("diff", func(e *engine.Engine) (*engine.Diff, error) {
		s, err := e.Find(w.ctx, id)
		if err != nil {
			return nil, err
		}
		return e.Diff(w.ctx, s, nil, nil)
	})
}

// remember keeps the snapshots to which a world may go back.
func (w *world) remember(id engine.ID) {
	if w.taken = append(w.taken, id); len(w.taken) > 6 {
		w.taken = w.taken[1:]
	}
}
