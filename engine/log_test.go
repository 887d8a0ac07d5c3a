package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/changes"
	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// TestALogFollowsAFileThroughRestores tells of every snapshot that changed a file,
// also of those that a restore left behind.
func TestALogFollowsAFileThroughRestores(t *testing.T) {
	for _, git := range []bool{true, false} {
		p := newPlace(t, git)
		e := p.open()
		ctx := context.Background()
		labelled := func(label string) string {
			r, err := e.Snapshot(ctx, &SnapshotOptions{Label: label})
			p.must(err)
			return r.ID.String()
		}
		move := func(from, to string) { p.must(os.Rename(filepath.Join(p.dir, from), filepath.Join(p.dir, to))) }
		p.write("a", "1\n")
		one := labelled("one")
		p.write("a", "2\n")
		two := labelled("two")
		move("a", "b")
		labelled("left behind")
		p.restored(e, two)
		p.write("beside", "x\n")
		labelled("beside")
		move("a", "c")
		p.write("twin", "2\n") // the same content came twice
		labelled("renamed")
		p.write("c", "3\n")
		labelled("edited")
		check := func(when string) {
			t.Helper()
			for path, want := range map[string]string{
				"c":      "M c edited, R c<a renamed, D a left behind, M a two, A a one",
				"a":      "D a renamed, D a left behind, M a two, A a one",
				"b":      "R b<a left behind, M a two, A a one",
				"beside": "A beside beside",
			} {
				log, err := e.Log(ctx, path, 0)
				p.must(err)
				var got []string
				for _, l := range log {
					name := l.Path
					if l.From != "" {
						name += "<" + l.From
					}
					got = append(got, fmt.Sprintf("%c %s %s", l.Status, name, l.Snapshot.Label()))
				}
				if strings.Join(got, ", ") != want {
					t.Errorf("%s, %s: %s, want %s", when, path, strings.Join(got, ", "), want)
				}
			}
		}
		check("as recorded")
		p.forgetChanges(e)
		check("by a version that recorded nothing")
		if log, err := e.Log(ctx, "c", 2); err != nil || len(log) != 2 {
			t.Errorf("%v, %v", log, err)
		}
		if _, err := e.Log(ctx, "none", 0); !errors.Is(err, ErrNoSnapshot) {
			t.Error(err)
		}
		if s, err := e.Find(ctx, "label:one"); err != nil || s.ID.String() != one {
			t.Error(err)
		}
	}
}

// TestAQuestionForOneFileReadsFewTrees counts what a log of one file among many
// snapshots loads: nothing for those whose rows say no.
func TestAQuestionForOneFileReadsFewTrees(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	ctx := context.Background()
	p.write("quiet", "q\n")
	for i := range 60 {
		p.write("loud", fmt.Sprint(i))
		p.take(e)
	}
	p.list(e, &ListOptions{Changes: true})
	seen := &counted{e.lookup.Differ, 0, 0}
	e.lookup.Differ = seen
	log, err := e.Log(ctx, "quiet", 0)
	p.must(err)
	list := p.list(e, &ListOptions{Paths: []string{"quiet"}})
	if len(log) != 1 || len(list) != 1 || seen.compared+seen.touched > 0 {
		t.Errorf("%d and %d found; %d compared, %d asked", len(log), len(list), seen.compared, seen.touched)
	}
}

// counted counts how often snapshots are compared.
type counted struct {
	lookup.Differ
	compared, touched int
}

func (c *counted) Compare(base, s *Snapshot, trees tree.Loader) ([]changes.Change, error) {
	c.compared++
	return c.Differ.Compare(base, s, trees)
}

func (c *counted) Touches(base, s *Snapshot, paths lookup.Selection, trees tree.Loader) (bool, error) {
	c.touched++
	return c.Differ.Touches(base, s, paths, trees)
}

// blamed tells of each line of a file the label of the snapshot that brought it, "-"
// for what is not recorded, with "^" before one that may be older.
func (p *place) blamed(e *Engine, s *Snapshot, path string) string {
	p.t.Helper()
	r, err := e.Blame(context.Background(), s, path, 1, math.MaxInt)
	p.must(err)
	var out []string
	for _, l := range r {
		text := "-"
		if l.From != nil {
			text = l.From.Label()
		}
		if l.Older {
			text = "^" + text
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func (p *place) record(e *Engine, label string) *Snapshot {
	p.t.Helper()
	r, err := e.Snapshot(context.Background(), &SnapshotOptions{Label: label})
	p.must(err)
	return r.Snapshot
}

func TestBlameOfALineThatARestoreBroughtBackNamesWhereItCameFrom(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.write("f", "1\n")
	p.record(e, "a")
	p.write("f", "1\n2\n")
	b := p.record(e, "b")
	p.write("f", "x\n")
	p.record(e, "c")
	p.do(e, Op{To: b.ID})
	if got := p.blamed(e, nil, "f"); got != "^a b" {
		t.Errorf("after the restore: %q", got)
	}
}

func TestASnapshotThatLeftAFileOutBringsNoLines(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.write("f", "1\n")
	p.write("g", "1\n")
	p.record(e, "a")
	p.env["REWIND_EXCLUDE"] = "f"
	p.write("g", "2\n")
	p.record(p.open(), "b")
	delete(p.env, "REWIND_EXCLUDE")
	p.write("f", "1\n2\n")
	p.record(p.open(), "c")
	if got := p.blamed(p.open(), nil, "f"); got != "^a c" {
		t.Errorf("%q", got)
	}
}

func TestBlameFollowsAFileThatWasMoved(t *testing.T) {
	for _, git := range []bool{false, true} {
		p := newPlace(t, git)
		e := p.open()
		p.write("d/old", "1\n2\n3\n")
		p.write("d/unlike", "x\ny\nz\n")
		p.write("copied", "1\n2\n")
		p.record(e, "a")
		p.must(os.Rename(filepath.Join(p.dir, "d/old"), filepath.Join(p.dir, "moved")))
		p.must(os.Rename(filepath.Join(p.dir, "d/unlike"), filepath.Join(p.dir, "d/changed")))
		p.write("d/changed", "1\n2\nz\n")
		p.write("copy", "1\n2\n")
		p.record(e, "b")
		p.write("again", "1\n2\n3\n4\n")
		p.must(os.Remove(filepath.Join(p.dir, "moved")))
		p.record(e, "c")
		for path, want := range map[string]string{"again": "^a ^a ^a c", "d/changed": "b b b", "copy": "b b"} {
			if got := p.blamed(e, nil, path); got != want {
				t.Errorf("git %v: %s: %q, want %q", git, path, got, want)
			}
		}
		r, err := e.Blame(context.Background(), nil, "again", 1, 9)
		if p.must(err); r[0].Path != "d/old" || r[3].Path != "again" {
			t.Errorf("it was called %q", r[0].Path)
		}
	}
}

func TestBlameWorksWhereNothingIsRecordedYet(t *testing.T) {
	p := newPlace(t, false)
	p.write("f", "1\n2\n")
	if got := p.blamed(p.open(), nil, "f"); got != "- -" {
		t.Errorf("%q", got)
	}
}
