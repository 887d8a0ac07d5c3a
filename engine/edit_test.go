package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// edited plans a restore of one path and gives its file a content of its own.
func (p *place) edited(e *Engine, s *Snapshot, path, text string) Op {
	p.t.Helper()
	op := Op{To: s.ID, Paths: []string{":(literal)" + path}}
	plan := p.plan(e, op)
	for _, c := range plan.Changes {
		if string(c.Path) == path {
			op.Edits = map[Change][]byte{c: []byte(text)}
			return op
		}
	}
	p.t.Fatalf("%s does not change", path)
	return op
}

// want compares files, given as names and texts; "-" means no file.
func (p *place) want(files ...string) {
	p.t.Helper()
	for i := 0; i < len(files); i += 2 {
		if files[i+1] == "-" {
			if p.exists(files[i]) {
				p.t.Errorf("%s is there", files[i])
			}
		} else if got := p.read(files[i]); got != files[i+1] {
			p.t.Errorf("%s is %q, want %q", files[i], got, files[i+1])
		}
	}
}

func TestAnEditOfAFileThatChangedMeanwhileIsAConflict(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.write("a", "1")
	p.write("b", "1")
	first := p.take(e)
	p.write("a", "22")
	p.write("b", "22")
	a, b := p.edited(e, first.Snapshot, "a", "x"), p.edited(e, first.Snapshot, "b", "x")
	p.write("a", "333") // something else
	p.write("b", "1")   // what the snapshot has
	for path, op := range map[string]Op{"a": a, "b": b} {
		r := p.do(e, op)
		if r.Written != 0 || len(r.Conflicts) != 1 || string(r.Conflicts[0].Path) != path {
			t.Errorf("%s: written %d, conflicts %v", path, r.Written, r.Conflicts)
		}
	}
	p.want("a", "333", "b", "1")
}

func TestAnEditThatChangesNothingWritesNothing(t *testing.T) {
	p := newPlace(t, false)
	e, ctx := p.open(), context.Background()
	p.write("a", "1")
	first := p.take(e)
	p.write("a", "22")
	r, err := e.Do(ctx, p.edited(e, first.Snapshot, "a", "22"))
	if p.must(err); r.Written != 0 || !r.Undo.IsZero() || len(r.Conflicts) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestAnEditThatCannotBePartOfARestoreIsRefused(t *testing.T) {
	p := newPlace(t, false)
	e, ctx := p.open(), context.Background()
	p.write("kept", "1")
	first := p.take(e)
	p.write("kept", "2")
	p.write("gone", "1")
	whole := p.edited(e, first.Snapshot, "kept", "3")
	whole.Paths = nil
	for what, op := range map[string]Op{
		"without paths": whole, "of what is to be deleted": p.edited(e, first.Snapshot, "gone", "2"),
	} {
		if _, err := e.Do(ctx, op); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	p.want("kept", "2", "gone", "1")
}

func TestASweepKeepsTheEditsOfARestoreThatIsUnfinished(t *testing.T) {
	p, recorded := crowded(t)
	e, ctx := p.open(), context.Background()
	op := Op{To: recorded[0].ID, Paths: []string{"d"}, Edits: map[Change][]byte{}}
	plan := p.plan(e, op)
	for _, c := range plan.Changes {
		op.Edits[c] = []byte("edit" + strings.TrimLeft(filepath.Base(string(c.Path)), "0"))
	}
	p.cut(doing(op))
	sweep := func() int {
		report, err := p.storeOf(e).Sweep(ctx, e.sweeping(ctx, cas.SweepOptions{Grace: -1}, nil))
		p.must(err)
		return report.Objects
	}
	if n := sweep(); n != 0 {
		t.Errorf("a sweep beside the unfinished restore took %d objects", n)
	}
	r, err := e.recoverNow(ctx)
	if p.must(err); len(r.Conflicts) != 0 {
		t.Errorf("conflicts: %v", r.Conflicts)
	}
	for n := range 60 {
		p.want(fmt.Sprintf("d/%03d", n), "edit"+strings.TrimLeft(fmt.Sprintf("%03d", n), "0"))
	}
	if n := sweep(); n == 0 {
		t.Error("the edits of a restore that has ended stay in the store, and no snapshot has them")
	}
	p.undo(e)
	p.wantState("undo", "three")
	p.do(e, Op{Verb: Redo})
	p.want("d/007", "edit7")
}

func TestAnEditBringsAFileThatIsGoneInAnotherForm(t *testing.T) {
	gittest.Modes(t)
	p := newPlace(t, true)
	e, ctx := p.open(), context.Background()
	p.write("d/new", "1\n2\n")
	p.must(os.Chmod(filepath.Join(p.dir, "d/new"), 0o755))
	first := p.take(e)
	p.remove("d")
	p.do(e, p.edited(e, first.Snapshot, "d/new", "2\n"))
	p.want("d/new", "2\n")
	if info, err := os.Stat(filepath.Join(p.dir, "d/new")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	_, err := e.Do(ctx, Op{Verb: Undo})
	if p.must(err); p.exists("d") {
		t.Error("undo left what the restore had brought")
	}
}

func TestADifferenceReadsNoMoreOfAFileThanIsWanted(t *testing.T) {
	p := newPlace(t, false)
	e, ctx := p.open(), context.Background()
	p.write("f", "0123456789")
	s := p.take(e)
	p.write("f", "abcdefghij")
	d := p.diff(e, s.Snapshot, nil)
	for most, want := range map[int][2]string{0: {"0123456789", "abcdefghij"}, 4: {"0123", "abcd"}, 10: {"0123456789", "abcdefghij"}} {
		d.Most = most
		for i, new := range []bool{false, true} {
			text, whole, err := d.Read(ctx, d.Changes[0], new)
			if p.must(err); string(text) != want[i] || whole != (most != 4) {
				t.Errorf("at most %d: %q, whole %v", most, text, whole)
			}
		}
	}
}
