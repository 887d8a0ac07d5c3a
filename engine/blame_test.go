package engine

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
