package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// interrupted is a crowded place where a restore of its first state was cut
// short.
func interrupted(t *testing.T) (*place, oid.ID) {
	t.Helper()
	p, recorded := crowded(t)
	p.cut(doing(Op{To: recorded[0].ID}))
	return p, recorded[0].ID
}

// unfinished is the operation that was cut short, with its steps.
func (p *place) unfinished(e *Engine) ([]apply.Step, *Operation) {
	p.t.Helper()
	h, err := e.history(context.Background())
	p.must(err)
	steps, err := e.steps(context.Background(), h.Open)
	p.must(err)
	return steps, h.Open
}

// edit changes a file that the interrupted restore has not come to yet.
func (p *place) edit() string {
	p.t.Helper()
	for _, name := range []string{"d/059", "d/058", "d/057", "d/000", "d/001"} {
		if strings.HasPrefix(p.read(name), "three") {
			p.write(name, "edited since")
			return name
		}
	}
	p.t.Fatal("the restore has written everything")
	return ""
}

func TestWhoeverFinishesARestoreSaysWhatItDid(t *testing.T) {
	ctx := context.Background()
	ways := map[string]func(e *Engine, other oid.ID) (*Restored, error){
		"snapshot": func(e *Engine, _ oid.ID) (*Restored, error) {
			r, err := e.Snapshot(ctx, nil)
			return r.Recovered, err
		},
		"restore": func(e *Engine, other oid.ID) (*Restored, error) {
			r, err := e.Do(ctx, Op{To: other})
			return r.Recovered, err
		},
		"prune": func(e *Engine, _ oid.ID) (*Restored, error) {
			r, err := e.Prune(ctx, nil)
			return r.Recovered, err
		},
		"purge": func(e *Engine, _ oid.ID) (*Restored, error) {
			r, err := e.Purge(ctx, []string{"nothing"}, false)
			return r.Recovered, err
		},
		"sync": func(e *Engine, _ oid.ID) (*Restored, error) {
			r, err := e.Sync(ctx)
			return r.Recovered, errors.Join(err, r.Unfinished)
		},
	}
	for name, do := range ways {
		t.Run(name, func(t *testing.T) {
			p, id := interrupted(t)
			edited := p.edit()
			got, err := do(p.open(), id)
			p.must(err)
			if got == nil || got.ID != id || got.Written == 0 || len(got.Conflicts) != 1 || string(got.Conflicts[0].Path) != edited {
				t.Fatalf("it says %+v; %s was edited since", got, edited)
			}
			if name != "restore" && p.read(edited) != "edited since" {
				t.Error("the edit is lost")
			}
			if again, err := p.open().recoverNow(ctx); again != nil || err != nil {
				t.Errorf("it is told twice: %+v, %v", again, err)
			}
		})
	}
}

func TestWhatWasFinishedIsToldAlsoWhereTheRestFails(t *testing.T) {
	p, id := interrupted(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var told *Restored
	e, err := Open(ctx, p.dir, &Options{
		Getenv:    func(name string) string { return p.env[name] },
		Recovered: func(r *Restored) { told = r; cancel() },
	})
	p.must(err)
	defer e.Close()
	if _, err := e.Snapshot(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("the snapshot gives %v", err)
	}
	if told == nil || told.ID != id || told.Written == 0 {
		t.Errorf("told is %+v", told)
	}
}

func TestARedoThatFinishesAnUndoSaysSo(t *testing.T) {
	p, recorded := crowded(t)
	e := p.open()
	p.do(e, Op{To: recorded[0].ID})
	p.cut(doing(Op{Verb: Undo}))
	r := p.do(e, Op{Verb: Redo})
	if r.Recovered == nil || r.Recovered.Written == 0 || r.Recovered.ID == r.ID {
		t.Errorf("%+v", r.Recovered)
	}
	p.wantState("redo", "one")
}

// rejournal puts another journal in the place of the unfinished operation's.
func (p *place) rejournal(e *Engine, journal string) {
	p.t.Helper()
	ctx := context.Background()
	h, err := e.history(ctx)
	p.must(err)
	stage := p.storeOf(e).Stage()
	defer stage.Discard()
	if h.Open.Plan = e.alg.Sum(oid.Blob, []byte("not there")); journal != "" {
		h.Open.Plan, err = stage.Put(ctx, oid.Blob, []byte(journal), oid.ID{})
		p.must(err)
	}
	p.must(stage.Commit(ctx, e.changing(func(u *records.Update) error { return putOperation(u, h.Open) })))
}

func TestASnapshotIsTakenWhereARestoreCannotBeFinished(t *testing.T) {
	p, id := interrupted(t)
	e, ctx := p.open(), context.Background()
	p.rejournal(e, `{"version":9}`) // by a later version
	p.edit()
	for range 2 {
		r := p.take(e)
		if !errors.Is(r.Unfinished, ErrUnfinished) || r.Recovered != nil {
			t.Fatalf("the unfinished restore is not named: %v", r.Unfinished)
		}
	}
	if out, err := e.Prune(ctx, nil); err != nil || !errors.Is(out.Unfinished, ErrUnfinished) {
		t.Errorf("a prune: %v", err)
	}
	if _, err := e.Do(ctx, Op{To: id}); !errors.Is(err, ErrUnfinished) {
		t.Errorf("another restore: %v", err)
	}
	p.undo(e)
	p.wantState("undo", "three")
	s, err := e.Status(ctx)
	if p.must(err); s.Unfinished != nil {
		t.Error("it is unfinished still")
	}
}

// The snapshot began when nothing was unfinished, and begins again.
func TestWhatIsLeftUnfinishedDuringAScanIsTold(t *testing.T) {
	t.Parallel()
	p, recorded := crowded(t)
	e, scans := p.open(), 0
	e.seen = func() {
		if scans++; scans == 1 {
			p.cut(doing(Op{To: recorded[0].ID}))
			p.rejournal(p.open(), `{"version":9}`)
		}
	}
	if r := p.take(e); !errors.Is(r.Unfinished, ErrUnfinished) || scans != 2 {
		t.Errorf("after %d scans it tells %v", scans, r.Unfinished)
	}
}

func TestAnOperationWithoutItsJournalEndsHalfWay(t *testing.T) {
	ctx := context.Background()
	for _, kind := range []string{"restore", "undo"} {
		p, recorded := crowded(t)
		restore := doing(Op{To: recorded[0].ID})
		e := p.open()
		want, back := "three", Undo
		if kind == "restore" {
			p.cut(restore)
		} else {
			_, err := restore(e, ctx)
			p.must(err)
			p.cut(doing(Op{Verb: Undo}))
			want, back = "one", Redo
		}
		p.rejournal(e, "")
		r := p.take(e)
		if got := r.Recovered; got == nil || len(got.Conflicts) != 1 || !strings.HasPrefix(got.Conflicts[0].Reason, lostJournal) || r.Unfinished != nil {
			t.Fatalf("%s: %+v, %v", kind, got, r.Unfinished)
		}
		p.do(e, Op{Verb: back})
		p.wantState(kind+" that was taken back", want)
	}
}

func TestAJournalThatHasEndedIsNotReplayedWhereTheStoreForgotItsEnd(t *testing.T) {
	p, recorded := crowded(t)
	e, ctx := p.open(), context.Background()
	p.do(e, Op{To: recorded[0].ID})
	p.must(e.update(ctx, func(u *records.Update) error {
		h, err := u.History()
		if err != nil {
			return err
		}
		op := h.Undo
		op.Ended = time.Time{}
		row := fmt.Appendf(nil, `{"birth":%q,"open":%d,"undo":%d}`, e.birth, op.Seq, op.Seq)
		return errors.Join(putOperation(u, op), u.Table("histories").Put([]byte(e.key), row))
	}))
	p.write("d/007", "three7") // as it was before the restore: a replay would take it for undone
	r := p.take(e)
	if p.read("d/007") != "three7" || r.Recovered == nil || r.Recovered.Written != 0 || len(r.Recovered.Kept) != 1 {
		t.Errorf("%q, %+v", p.read("d/007"), r.Recovered)
	}
	p.do(e, Op{Verb: Undo})
}

func TestAnOlderCopyOfTheStoreIsNamedAndReplaysNothing(t *testing.T) {
	p, recorded := crowded(t)
	e, ctx := p.open(), context.Background()
	store := filepath.Join(e.dir, storeFile)
	var older []byte
	e.opt.Progress = func(now Progress) {
		if now.Step == "restore" && older == nil {
			older, _ = os.ReadFile(store)
		}
	}
	p.do(e, Op{To: recorded[0].ID})
	p.must(os.WriteFile(store, older, 0o600))
	p.must(os.Remove(filepath.Join(e.ownDir, lockFile))) // nor does it say that the restore has ended
	p.write("d/007", "three7")
	e = p.open()
	if _, err := e.Snapshot(ctx, nil); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "rewind sync") {
		t.Fatalf("a snapshot gives %v", err)
	}
	if _, err := e.List(ctx, nil); !errors.Is(err, ErrDamaged) {
		t.Fatalf("a list gives %v", err)
	}
	done, err := e.Sync(ctx)
	p.must(err)
	p.take(e)
	if done.Recovered != nil || p.read("d/007") != "three7" {
		t.Errorf("%+v, %q", done, p.read("d/007"))
	}
}

// TestASnapshotReadsNoOperationThatHasEnded damages their records, which whoever
// reads them would report.
func TestASnapshotReadsNoOperationThatHasEnded(t *testing.T) {
	p, recorded := crowded(t)
	e, ctx := p.open(), context.Background()
	for i := range 5 {
		p.do(e, Op{To: recorded[i%2].ID})
	}
	p.must(e.update(ctx, func(u *records.Update) error {
		for seq := range uint64(4) {
			if err := u.Table("operations").Put(seqKey(seq+1), []byte("no record")); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, text := range []string{"four", "five"} {
		p.write("d/000", text)
		p.take(e)
	}
	if st, err := e.Status(ctx); err != nil || st.Undo != 5 {
		t.Errorf("%+v, %v", st, err)
	}
	p.undo(e)
}

func TestATargetThatIsPrunedBeforeTheRestoreBeginsChangesNothing(t *testing.T) {
	for look := range 4 {
		git := look%2 == 0
		p := newPlace(t, git)
		e, other := p.open(), p.open()
		p.write("only/there", "one")
		one := p.snap(e, "one", nil)
		p.remove("only")
		p.write("since", "two")
		p.snap(e, "two", nil)
		pruned := false
		atClock(e, 1+look/2, func() { // it was looked up, or planned with too
			pruned = true
			p.prune(other, &PruneOptions{MaxSnapshots: 1, Grace: -1})
		})
		_, err := e.Do(context.Background(), Op{To: one.ID})
		if !pruned || !errors.Is(err, ErrNoSnapshot) || errors.Is(err, ErrDamaged) || !p.exists("since") || p.read("file") != "two" {
			t.Errorf("git %v: %v, %v, %q", git, err, p.exists("since"), p.read("file"))
		}
		if st := p.status(e); st.Unfinished != nil || st.Undo != 0 {
			t.Errorf("git %v: %+v", git, st)
		}
	}
}

func TestWhatIsShownBesideAnUnfinishedRestoreSaysSoAndHasNoneOfItsFiles(t *testing.T) {
	p, id := interrupted(t)
	e, ctx := p.open(), context.Background()
	steps, op := p.unfinished(e)
	const own = "d/.rewind-tmp-0000000000000000w"
	p.write(own, "a user's own")
	for name := range apply.Leftovers(steps, op.Key) {
		if strings.HasPrefix(name, "d/") {
			p.write(name, "half of a file")
		}
	}
	r, err := e.Snapshot(ctx, &SnapshotOptions{DryRun: true})
	p.must(err)
	if len(r.Skipped) > 0 {
		t.Errorf("a dry run names what the snapshot will not meet: %v", r.Skipped)
	}
	plan := p.plan(e, Op{To: id})
	d := p.diff(e, plan.Target, nil)
	var shown []string
	for _, c := range d.Changes {
		if strings.Contains(string(c.Path), ".rewind-tmp-") {
			shown = append(shown, string(c.Path))
		}
	}
	if !slices.Equal(shown, []string{own}) {
		t.Errorf("the diff shows %q, want the user's own alone", shown)
	}
	for what, got := range map[string]error{"dry run": r.Unfinished, "plan": plan.Unfinished, "diff": d.Unfinished} {
		if !errors.Is(got, ErrUnfinished) {
			t.Errorf("the %s says of the unfinished restore: %v", what, got)
		}
	}
	p.take(e)
	if r, err = e.Snapshot(ctx, &SnapshotOptions{DryRun: true}); err != nil || r.Unfinished != nil {
		t.Errorf("it is finished, and still said: %v, %v", err, r.Unfinished)
	}
}
