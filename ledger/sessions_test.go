package ledger

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

func all(oid.ID) bool { return true }

func TestALineageThatRunsInACircleEnds(t *testing.T) {
	dir := t.TempDir()
	a, b, c := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl"), filepath.Join(dir, "c.jsonl")
	for path, parent := range map[string]string{a: b, b: c, c: filepath.Join(dir, ".", "x", "..", "a.jsonl")} {
		s := newScript(parent)
		s.record(Record{Kind: Turn, Bindings: []Binding{{"e-" + filepath.Base(path), id(1)}}})
		write(t, path, s.text())
	}
	own := filepath.Join(dir, "own.jsonl")
	write(t, own, newScript(own).text())
	beside := write(t, filepath.Join(dir, "beside.jsonl"), newScript(a).text())
	var sessions Sessions
	for path, want := range map[string]int{a: 3, b: 3, c: 3, own: 1, beside: 4} {
		s, err := sessions.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for range sessions.Lineage(s) {
			if n++; n > want {
				t.Fatalf("%s: the lineage goes on", path)
			}
		}
		if _, ok := sessions.Point(s, "nothing", all); n != want || ok {
			t.Errorf("%s: %d sessions, %v", path, n, ok)
		}
		sessions.Live(s)
	}
	s, _ := sessions.Open(a)
	if _, ok := sessions.Point(s, "e-c.jsonl", all); !ok {
		t.Error("a point of the grandparent is lost")
	}
}

func TestALineageEndsWithAParentThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	bad := write(t, filepath.Join(dir, "bad.jsonl"), "{}")
	for _, parent := range []string{filepath.Join(dir, "gone.jsonl"), bad, dir, "relative.jsonl", "C:\\s.jsonl"} {
		s := newScript(parent)
		u := s.user("x")
		s.record(Record{Kind: Turn, Bindings: []Binding{{u, id(1)}}})
		var sessions Sessions
		session, err := sessions.Open(write(t, filepath.Join(dir, "s.jsonl"), s.text()))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := sessions.Point(session, u, all); !ok || got != id(1) {
			t.Errorf("%s: %v %v", parent, got, ok)
		}
		if _, ok := sessions.Point(session, "other", all); ok {
			t.Errorf("%s: a point from nowhere", parent)
		}
	}
}

// forked is a parent and the file of its child, whose entries have the ids of
// the parent's, as Pi copies them.
func forked(t *testing.T) (sessions *Sessions, parent, child *Session) {
	t.Helper()
	dir := t.TempDir()
	p := newScript("")
	u := p.user("one")
	a := p.assistant()
	p.record(Record{Kind: Turn, Bindings: []Binding{{u, id(1)}, {a, id(2)}}})
	p.user("two")
	p.record(Record{Kind: ForkPending, Current: id(3), Undo: id(4)})
	path := write(t, filepath.Join(dir, "p.jsonl"), p.text())
	c := newScript(path)
	c.lines[0] = strings.Replace(c.lines[0], "12:00:01", "12:00:30", 1)
	c.lines = append(c.lines, p.lines[1:3]...) // the path up to the answer, without the record
	c.clock, c.n, c.leaf = p.clock, 100, a
	c.label(u, "keep")
	p.clock = p.clock.Add(time.Hour)
	p.record(Record{Kind: ForkPending, Current: id(5)}) // of a later child
	write(t, path, p.text())
	sessions = new(Sessions)
	var err error
	if parent, err = sessions.Open(path); err != nil {
		t.Fatal(err)
	}
	if child, err = sessions.Open(write(t, filepath.Join(dir, "c.jsonl"), c.text())); err != nil {
		t.Fatal(err)
	}
	return sessions, parent, child
}

func TestAForkOfWhichNothingIsKnownBeginsWithNothingOfAnEarlierOne(t *testing.T) {
	p := newScript("")
	p.user("one")
	p.record(Record{Kind: ForkPending, Current: id(3), Undo: id(4)})
	if r, ok := open(t, p.text()).Left(); !ok || r.Current != id(3) || r.Undo != id(4) {
		t.Errorf("%v, %v", r, ok)
	}
	p.entry("custom", object{"customType": string(ForkPending), "data": object{"v": 2}})
	s := open(t, p.text())
	if r, ok := s.Left(); ok || !r.Current.IsZero() || !r.Undo.IsZero() {
		t.Errorf("left by another fork: %v, %v", r, ok)
	}
	if r, ok := s.lastPending(); !ok || r.Current != id(3) {
		t.Errorf("what pi-rewind-hook would find is not kept: %v, %v", r, ok)
	}
}

func TestLiveSetsSayWhy(t *testing.T) {
	sessions, parent, child := forked(t)
	live := sessions.Live(parent)
	want := map[oid.ID]Reason{id(1): Bound | Mention, id(2): Bound | Mention | Current, id(3): Mention, id(4): Mention, id(5): Mention | Pending}
	for v, why := range want {
		if live[v].Reasons != why || live[v].Time.IsZero() {
			t.Errorf("parent: %s: %08b at %v, want %08b", v, live[v].Reasons, live[v].Time, why)
		}
	}
	if len(live) != len(want) {
		t.Errorf("%v", live)
	}
	if live := sessions.Live(child); len(live) != 1 || live[id(1)].Reasons != Labelled {
		t.Errorf("the label of a child pins %v", live)
	}
}

func TestNewestIsTheLaterOfOpAndPoint(t *testing.T) {
	s := newScript("")
	u := s.user("one")
	s.record(Record{Kind: Turn, Bindings: []Binding{{u, id(1)}}})
	op := s.record(Record{Kind: Op, Current: id(2)})
	v := s.user("two")
	turn := s.record(Record{Kind: Turn, Bindings: []Binding{{v, id(3)}}})
	session := open(t, s.text())
	for leaf, want := range map[string]State{
		u: {Current: id(1), Newest: id(1)}, op: {Current: id(2), Newest: id(2)}, turn: {Current: id(2), Newest: id(3)}, "": {}, "gone": {},
	} {
		if got := session.State(leaf); got != want {
			t.Errorf("at %q: %v, want %v", leaf, got, want)
		}
	}
}

func TestBranchesEndWhereEntriesAreLostOrRunInACircle(t *testing.T) {
	s := newScript("")
	for _, e := range [][2]any{{"a", nil}, {"b", "a"}, {"c", "gone"}, {"d", "c"}, {"x", "y"}, {"y", "x"}, {"z", "z"}} {
		s.line(object{"type": "message", "id": e[0], "parentId": e[1]})
	}
	session := open(t, s.text())
	for leaf, want := range map[string]string{"b": "ab", "d": "cd", "y": "xy", "z": "z", "": "", "none": ""} {
		got := ""
		for _, e := range session.branch(leaf) {
			got += e.ID
		}
		if got != want {
			t.Errorf("%q: %s, want %s", leaf, got, want)
		}
	}
}

func TestDiscoverFindsEverySessionOnceAndNamesTheRest(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("makes symbolic links, which Windows allows to few")
	}
	agent, flat, away := t.TempDir(), t.TempDir(), t.TempDir()
	proj := filepath.Join(agent, "sessions", "--home-u-repo--")
	if err := os.MkdirAll(filepath.Join(proj, "deeper"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := newScript("").text()
	want := map[string]bool{}
	for _, path := range []string{filepath.Join(proj, "a.jsonl"), filepath.Join(proj, "deeper", "b.jsonl"), filepath.Join(flat, "c.jsonl")} {
		write(t, path, text)
		want[path] = true
	}
	write(t, filepath.Join(away, "d.jsonl"), text)
	write(t, filepath.Join(proj, "notes.txt"), "no session")
	write(t, filepath.Join(proj, "torn.jsonl"), `{"type":"sess "`+id(1).String()+`"`)
	for link, target := range map[string]string{"linked": away, "loop": agent, "none.jsonl": filepath.Join(away, "gone"), "again.jsonl": filepath.Join(flat, "c.jsonl")} {
		if err := os.Symlink(target, filepath.Join(agent, "sessions", link)); err != nil {
			t.Fatal(err)
		}
	}
	want[filepath.Join(agent, "sessions", "linked", "d.jsonl")] = true
	got, failed := 0, map[string]bool{}
	for f := range Discover(context.Background(), Places{AgentDirs: []string{agent, agent, filepath.Join(agent, "nowhere")}, SessionDirs: []string{flat, filepath.Join(flat, "no")}}) {
		switch {
		case f.Err != nil:
			failed[filepath.Base(f.Path)] = true
		case !want[f.Path] || f.Header.Cwd != "/home/u/repo":
			t.Errorf("found %v", f)
		default:
			got++
		}
	}
	if got != len(want) || len(failed) != 2 || !failed["torn.jsonl"] || !failed["none.jsonl"] {
		t.Errorf("found %d of %d sessions; could not read %v", got, len(want), failed)
	}
	if ids, err := Mentioned(context.Background(), filepath.Join(proj, "torn.jsonl")); err != nil || len(ids) != 1 || ids[0] != id(1) {
		t.Errorf("a torn header hides %v, %v", ids, err)
	}
	for range Discover(context.Background(), Places{AgentDirs: []string{agent}}) {
		break // may be stopped
	}
}

func TestMentionedTakesWholeWordsOnly(t *testing.T) {
	a, b := strings.Repeat("a1", 20), strings.Repeat("B2", 32)
	path := write(t, "x", a+" x"+a+" "+a+"0 \""+b+"\" "+a+"g"+strings.Repeat("0", 40)+" "+strings.Repeat("0", 40)+" "+b[:63])
	ids, err := Mentioned(context.Background(), path)
	if err != nil || len(ids) != 2 || ids[0].String() != a || ids[1].String() != strings.ToLower(b) {
		t.Errorf("%v %v", ids, err)
	}
}
