package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// bothKinds runs a test in a repository and without git.
func bothKinds(t *testing.T, test func(t *testing.T, p *place)) {
	for _, git := range []bool{true, false} {
		t.Run(map[bool]string{true: "git", false: "no git"}[git], func(t *testing.T) { test(t, newPlace(t, git)) })
	}
}

func (p *place) remove(name string) {
	p.t.Helper()
	p.must(os.RemoveAll(filepath.Join(p.dir, name)))
}

// putBack restores, and wants no conflict.
func (p *place) putBack(e *Engine, s *Recorded, op Op) *Restored {
	p.t.Helper()
	op.To = s.ID
	r := p.do(e, op)
	if len(r.Conflicts) > 0 {
		p.t.Fatalf("conflicts %v", r.Conflicts)
	}
	return r
}

// wantThereAndBack takes a restore back, and does it again.
func (p *place) wantThereAndBack(e *Engine, before map[string]string) {
	p.t.Helper()
	after := p.picture()
	for _, turn := range []struct {
		what string
		verb string
		want map[string]string
	}{{"undo", Undo, before}, {"redo", Redo, after}, {"undo of the redo", Undo, before}} {
		r, err := e.Do(context.Background(), Op{Verb: turn.verb})
		if err != nil || len(r.Conflicts) > 0 {
			p.t.Fatalf("%s: %v %+v", turn.what, err, r)
		}
		p.wantPicture(turn.what, turn.want)
	}
}

func keptPaths(r *Restored) (paths []string) {
	for _, k := range r.Kept {
		paths = append(paths, string(k.Path))
	}
	slices.Sort(paths)
	return paths
}

// An ignored file that was made since is nobody's to delete, whatever the rules
// of the snapshot said.
func TestNoRestoreDeletesAnIgnoredFile(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.write("d/f", "1")
		e := p.open()
		s := p.snap(e, "one", nil)
		p.write(".gitignore", "*.log\n")
		p.write("a.log", "1")
		p.write("d/b.log", "1")
		p.write("new/c.log", "1")
		p.snap(e, "two", nil)
		before := p.picture()
		for _, ignored := range []bool{false, true} {
			r := p.putBack(e, s, Op{Ignored: ignored})
			for _, name := range []string{"a.log", "d/b.log", "new/c.log"} {
				if !p.exists(name) {
					t.Errorf("%s was deleted", name)
				}
			}
			if p.exists(".gitignore") || slices.ContainsFunc(r.Kept, func(n Note) bool { return strings.HasSuffix(string(n.Path), ".log") }) {
				t.Errorf("kept %v", r.Kept)
			}
			p.undo(e)
			p.wantPicture("undo", before)
		}
	})
}

func TestUndoLeavesAnIgnoredFileThatWasEditedSince(t *testing.T) {
	p := newPlace(t, true)
	p.write(".gitignore", ".env\n")
	p.write(".env", "then")
	e := p.open()
	s := p.snap(e, "one", nil)
	p.remove(".env")
	p.putBack(e, s, Op{})
	p.write(".env", "edited since")
	r := p.do(e, Op{Verb: Undo})
	if p.read(".env") != "edited since" || !slices.Equal(keptPaths(r), []string{".env"}) {
		t.Errorf("%q, kept %v", p.read(".env"), r.Kept)
	}
}

func TestTheSettingSaysWhichIgnoredFilesAreRecorded(t *testing.T) {
	for _, c := range []struct {
		value    string
		recorded []string
	}{{"none", nil}, {"small", []string{"a.x"}}, {"all", []string{"a.x", "large.x", "out/deep/b"}}} {
		bothKinds(t, func(t *testing.T, p *place) {
			p.env["REWIND_IGNORED"] = c.value
			p.write(".gitignore", "*.x\nout/\n")
			all := []string{"a.x", "large.x", "out/deep/b"}
			p.write("a.x", "1")
			p.write("large.x", strings.Repeat("1", 1<<20+1))
			p.write("out/deep/b", "1")
			e := p.open()
			s := p.snap(e, "one", nil)
			for _, name := range []string{"a.x", "large.x", "out"} {
				p.remove(name)
			}
			p.putBack(e, s, Op{})
			for _, name := range all {
				if p.exists(name) != slices.Contains(c.recorded, name) {
					t.Errorf("%s: %s is back: %v", c.value, name, p.exists(name))
				}
			}
			if st, err := e.Status(context.Background()); err != nil || st.Ignored != c.value {
				t.Errorf("%v, status says %q", err, st.Ignored)
			}
		})
	}
}

func TestWhatIsMissingAndWasNotRecordedIsNamedAsIgnored(t *testing.T) {
	p := newPlace(t, false)
	p.write(".gitignore", "out/\n")
	p.write("out/x", "1")
	e := p.open()
	s := p.snap(e, "one", nil)
	p.remove("out")
	_, err := e.Do(context.Background(), Op{To: s.ID, Paths: []string{"out/x"}})
	if !errors.Is(err, ErrNoSnapshot) || !strings.Contains(err.Error(), `"out/x" (ignored by the rules of the snapshot, and not recorded)`) {
		t.Errorf("%v", err)
	}
}
