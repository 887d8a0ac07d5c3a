package engine

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// walk undoes all that can be undone, redoes all that can be redone, and goes back two steps. It tells what each step
// restored, and what was there then.
func (p *place) walk(e *Engine, dir string) (steps []string) {
	p.t.Helper()
	redone := false
	tell := func(verb string) bool {
		redone = redone || verb == Redo
		r, err := e.Do(context.Background(), Op{Verb: verb})
		if errors.Is(err, ErrNothing) {
			steps = append(steps, verb+": nothing")
			return false
		}
		p.must(err)
		shown := p.shown(dir)
		text := verb + " to"
		if !redone { // else it leads to what this very walk has recorded
			text += " " + r.ID.Short()
		}
		for _, name := range slices.Sorted(maps.Keys(shown)) {
			text += " " + name + "=" + shown[name]
		}
		steps = append(steps, text)
		return true
	}
	for _, verb := range []string{Undo, Redo} {
		for tell(verb) {
		}
	}
	if tell(Undo) {
		tell(Undo)
	}
	return steps
}

// elsewhere resumes the newest snapshot in a new place.
func elsewhere(t testing.TB, url, want string) (*place, *Engine, *away.Resumed) {
	t.Helper()
	there := newPlace(t, false)
	r, err := resumed(there, there.dir, url, want)
	there.must(err)
	if len(r.Fetched.Left)+len(r.Written.Conflicts) > 0 {
		t.Errorf("left: %+v, conflicts: %+v", r.Fetched.Left, r.Written.Conflicts)
	}
	return there, there.openAt(there.dir), r
}

func wantSame(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("step %d is missing: %s", i, want[i])
		case i >= len(want):
			t.Errorf("step %d is too many: %s", i, got[i])
		case got[i] != want[i]:
			t.Errorf("step %d is %s\nwant %s", i, got[i], want[i])
		}
	}
}

func TestUndoAndRedoGoOnElsewhere(t *testing.T) {
	for _, git := range []bool{false, true} {
		p := newPlace(t, git)
		p.write(".gitignore", "*.env\n")
		p.write("a.env", "KEY=1\n")
		e := p.open()
		one := p.snap(e, "1", nil)
		p.write("dir/f", "two")
		two := p.snap(e, "2", nil)
		p.must(os.Remove(filepath.Join(p.dir, "a.env")))
		p.do(e, Op{To: one.ID}) // brings the ignored file, which an undo takes away again
		p.write("g", "three")
		three := p.snap(e, "3", nil)
		p.do(e, Op{To: two.ID, Paths: []string{"dir"}})
		p.do(e, Op{To: one.ID})
		p.undo(e)
		four := p.snap(e, "4", &SnapshotOptions{Label: "four"})
		m := p.newRemote(e)
		p.mustPush(e, m)
		there, n, r := elsewhere(t, m.URL, "")
		if r.Snapshot.ID != four.ID {
			t.Fatalf("resumed %v", r.Snapshot.ID)
		}
		origin, err := n.Remotes().Find("")
		p.must(err)
		there.wantPush(n, origin, 0, len(there.records(n)), 0) // what came is what is there
		if s := there.find(n, "undo:1"); !has(p.records(e), s.ID) {
			t.Errorf("undo:1 is %v", s.ID)
		}
		there.prune(n, &PruneOptions{MaxSnapshots: 1, Grace: -1}) // what undo needs stays
		got := there.walk(n, there.dir)
		wantSame(t, got, p.walk(e, p.dir))
		if text := strings.Join(got, "\n"); strings.Count(text, "undo to") < 4 || !strings.Contains(text, "redo to") {
			t.Errorf("too little was undone:\n%s", text)
		}
		if v, err := n.Verify(context.Background()); err != nil || len(v.Damaged) > 0 {
			t.Errorf("%+v %v", v, err)
		}

		// An older snapshot comes with what could be undone then.
		there, n, _ = elsewhere(t, m.URL, three.ID.String())
		if got := there.walk(n, there.dir); strings.Count(strings.Join(got, "\n"), "undo to") != 2 {
			t.Errorf("%q", got)
		}
		there, n, _ = elsewhere(t, m.URL, two.ID.String())
		if got := there.walk(n, there.dir); len(got) != 3 {
			t.Errorf("what began later is undone: %q", got)
		}
	}
}

func TestUndoElsewhereDoesWhatItWouldDoHere(t *testing.T) {
	from := seed.Of(t)
	for i := range uint64(seed.Times(6)) {
		random := rand.New(rand.NewPCG(from+i, 7))
		p := newPlace(t, random.IntN(2) == 0)
		p.write(".gitignore", "*.env\n")
		e := p.open()
		m := p.newRemote(e)
		for hop := range 3 {
			p.mess(e, random, 14)
			p.write("last", fmt.Sprint(hop))
			p.snap(e, fmt.Sprint("last of ", hop), nil)
			remote, err := e.Remotes().Find("")
			p.must(err)
			p.mustPush(e, remote)
			there, n, _ := elsewhere(t, m.URL, "")
			wantSame(t, there.walk(n, there.dir), p.walk(e, p.dir))
			if t.Failed() {
				t.Fatalf("in world %d, hop %d", from+i, hop)
			}
			p, e = there, n
		}
		p.distant(e, away.Remote{Name: "origin", URL: m.URL})
	}
}

// mess writes, records, restores, undoes and redoes.
func (p *place) mess(e *Engine, random *rand.Rand, steps int) {
	p.t.Helper()
	for range steps {
		name := []string{"a", "b", "d/c", "d/e/f", "x.env", "d/y.env"}[random.IntN(6)]
		ids := p.records(e)
		op := Op{}
		switch random.IntN(8) {
		case 0, 1:
			p.write(name, fmt.Sprint(random.IntN(5)))
			continue
		case 2:
			p.must(os.RemoveAll(filepath.Join(p.dir, name)))
			continue
		case 3, 4:
			p.snap(e, fmt.Sprint(random.IntN(1000)), nil)
			continue
		case 5:
			op.Verb = Undo
		case 6:
			op.Verb = Redo
		case 7:
			if len(ids) == 0 {
				continue
			}
			if op.To = ids[random.IntN(len(ids))]; random.IntN(3) == 0 {
				op.Paths = []string{"file"}
			}
		}
		if _, err := e.Do(context.Background(), op); err != nil && !errors.Is(err, ErrNothing) {
			p.t.Fatal(err)
		}
	}
}

func TestWhoGoesOnElsewhereUndoesWhatWasDoneThere(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	one := p.snap(e, "1", nil)
	p.snap(e, "2", nil)
	m := p.newRemote(e)
	p.mustPush(e, m)
	there, n, _ := elsewhere(t, m.URL, "")

	p.do(e, Op{To: one.ID}) // both go on
	p.write("here", "x")
	p.snap(e, "here", nil)
	p.mustPush(e, m)
	was := there.shown(there.dir)
	there.do(n, Op{To: one.ID})
	there.write("there", "y")
	last := there.snap(n, "there", nil)
	origin, err := n.Remotes().Find("")
	p.must(err)
	there.mustPush(n, origin)
	third, o, r := elsewhere(t, m.URL, "")
	if r.Snapshot.ID != last.ID {
		t.Fatalf("resumed %v", r.Snapshot.ID)
	}
	third.undo(o)
	third.wantShown(third.dir, was)
	if _, err := o.Do(context.Background(), Op{Verb: Undo}); !errors.Is(err, ErrNothing) {
		t.Errorf("what another machine did beside is undone: %v", err)
	}

	// What a fetch brings was not done to these files.
	s, err := e.Remotes().Open(context.Background(), m, remotePassword)
	p.must(err)
	if out, err := e.Remotes().Fetch(context.Background(), s); err != nil || len(out.Snapshots) == 0 {
		t.Fatalf("%+v %v", out, err)
	}
	if got := p.walk(e, p.dir); !strings.HasPrefix(got[0], "undo to") || got[1] != "undo: nothing" {
		t.Errorf("%q", got)
	}

	// A copy with a label, of a machine that has not heard of the operation, hides none.
	p.must(e.Label(context.Background(), there.find(n, "undo:1").ID, "a name", false))
	p.mustPush(e, m)
	fourth, f, _ := elsewhere(t, m.URL, last.ID.String())
	fourth.undo(f)
	fourth.wantShown(fourth.dir, was)
}

func TestAPlanFromElsewhereThatIsNoneEndsTheUndo(t *testing.T) {
	outside := base64.StdEncoding.EncodeToString([]byte("../x"))
	for _, text := range []string{"no plan", `{"version":1,"steps":[{"path":"` + outside + `","want":{"mode":33188}}]}`} {
		p := newPlace(t, false)
		e := p.open()
		p.write("f", text)
		one := p.snap(e, "1", nil)
		p.write("f", "2")
		two := p.snap(e, "2", nil)
		p.must(e.update(context.Background(), func(u *records.Update) error {
			op := &Operation{Kind: records.KindRestore, Where: e.key, From: one.ID, To: two.ID, Plan: e.alg.Sum(oid.Blob, []byte(text)), Key: "KEY", Started: time.Now()}
			return errors.Join(u.Begin(op), u.End(op.Seq, false))
		}))
		p.snap(e, "3", nil)
		p.do(e, Op{To: two.ID})
		p.write("f", "4")
		p.snap(e, "4", nil)
		m := p.newRemote(e)
		p.mustPush(e, m)
		there := newPlace(t, false)
		r, err := resumed(there, there.dir, m.URL, "")
		p.must(err)
		if len(r.Fetched.Left) != 1 || !strings.Contains(r.Fetched.Left[0].Reason, "no plan") || string(r.Fetched.Left[0].Path) != one.ID.String() {
			t.Errorf("%+v", r.Fetched.Left)
		}
		if got := there.walk(there.openAt(there.dir), there.dir); !strings.HasPrefix(got[0], "undo to") || got[1] != "undo: nothing" {
			t.Errorf("%q", got)
		}
	}
}

func TestWhereARecordCannotBeReadItIsNamedThatUndoEndsThere(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	one := p.snap(e, "1", nil)
	two := p.snap(e, "2", nil)
	p.do(e, Op{To: one.ID}) // began with two
	p.snap(e, "3", nil)
	p.do(e, Op{To: two.ID})
	p.snap(e, "4", nil)
	m := p.newRemote(e)
	p.mustPush(e, m)
	for _, file := range p.halve(m, func(s *restic.Snapshot) bool {
		return slices.Contains(s.Tags, "id:"+two.ID.String())
	}) {
		p.must(os.Remove(file))
	}
	there := newPlace(t, false)
	r, err := resumed(there, there.dir, m.URL, "")
	p.must(err)
	named := slices.ContainsFunc(r.Fetched.Left, func(n Note) bool {
		return string(n.Path) == two.ID.String() && strings.Contains(n.Reason, "undo and redo")
	})
	if !named {
		t.Errorf("%+v", r.Fetched.Left)
	}
	if got := there.walk(there.openAt(there.dir), there.dir); !strings.HasPrefix(got[0], "undo to") || got[1] != "undo: nothing" {
		t.Errorf("%q", got)
	}
}

func TestAResumeThatWasInterruptedBringsTheUndoOnce(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	one := p.snap(e, "1", nil)
	p.snap(e, "2", nil)
	p.do(e, Op{To: one.ID})
	p.write("more", "x")
	p.snap(e, "3", nil)
	m := p.newRemote(e)
	p.mustPush(e, m)
	want := p.walk(e, p.dir)
	for at := 1; ; at += everyRequest() {
		there := newPlace(t, false)
		err := there.resume(m.URL, &failing{left: at, kills: true})
		if err != nil {
			if err := there.resume(m.URL, nil); err != nil {
				t.Fatalf("after request %d: %v", at, err)
			}
		}
		n := there.openAt(there.dir)
		if got := there.walk(n, there.dir); !slices.Equal(got, want) {
			t.Fatalf("after request %d: %q, want %q", at, got, want)
		}
		if err == nil {
			break
		}
		if at > 100 {
			t.Fatal("it never ends")
		}
	}
}

func TestOfUndoNothingGoesToAGitRemote(t *testing.T) {
	p := newPlace(t, true)
	p.write(".gitignore", "*.env\n")
	p.write("private.env", "KEY=1\n")
	e := p.open()
	one := p.snap(e, "1", nil)
	p.write("f", "two")
	p.must(os.Remove(filepath.Join(p.dir, "private.env")))
	p.snap(e, "2", nil)
	p.do(e, Op{To: one.ID}) // its plan names the ignored file
	p.snap(e, "3", nil)
	m := p.newGitRemote(e)
	p.mustPush(e, m)
	tip := strings.Fields(p.git("--git-dir="+m.URL, "for-each-ref", "--format=%(objectname)"))[0]
	if text, err := p.tryGit("--git-dir="+m.URL, "grep", "-E", `"operations"|"last"|operations:`, tip); err == nil {
		t.Errorf("it has operations: %s", text)
	}
	p.must(e.Label(context.Background(), one.ID, "more", false))
	if out := p.mustPush(e, m); out.Snapshots != 1 {
		t.Errorf("%+v", out)
	}
	n := p.openAt(t.TempDir())
	_, err := n.Remotes().Resume(context.Background(), away.Remote{Name: "origin", URL: m.URL, Git: true}, "", "")
	p.must(err)
	if _, err := n.Do(context.Background(), Op{Verb: Undo}); !errors.Is(err, ErrNothing) {
		t.Errorf("undo: %v", err)
	}
}
