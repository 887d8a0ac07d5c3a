package ui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/hunk"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

// noon is when all of this happens.
var noon = time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)

// idOf is an id that is made of a number.
func idOf(n int) oid.ID {
	id, err := oid.FromBytes(append(make([]byte, 0, 20), fmt.Appendf(nil, "%020d", n)...))
	if err != nil {
		panic(err)
	}
	return id
}

// still is a model without an engine: it shows what messages tell it.
func still(t *testing.T, w, h int) *model {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	m := newModel(&backstage{ctx: ctx, progress: func() *engine.Progress { return nil }})
	m.now = func() time.Time { return noon }
	m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	return m
}

// momentAt makes a moment, some minutes before noon.
func momentAt(n, minutes int, points ...engine.Point) *moment {
	s := &engine.Snapshot{ID: idOf(n), Tree: idOf(n), Time: noon.Add(-time.Duration(minutes) * time.Minute), Where: ".", Branch: "main", Points: points}
	m := &moment{snapshot: s}
	m.describe()
	return m
}

// story is a past with everything that a timeline can show.
func story() past {
	prompt := func(session, text, trigger string) engine.Point {
		return engine.Point{Session: session, Agent: "claude", Prompt: text, Trigger: trigger}
	}
	list := []*moment{
		momentAt(1, 1, engine.Point{Label: "search works"}),
		momentAt(2, 2, engine.Point{Trigger: "undo"}),
		momentAt(3, 5, prompt("aaaa-1", "Add a search box to the page", "turn")),
		momentAt(4, 9, prompt("aaaa-1", "Add a search box to the page", "prompt")),
		momentAt(5, 60*20, prompt("bbbb-2", "検索ボックスを追加してください、お願いします", "turn")),
		momentAt(6, 60*21, prompt("bbbb-2", "turn \x1b[31mred\x07 and \u202earound", "prompt")),
		momentAt(7, 60*24*400, engine.Point{Label: "before the agent"}),
	}
	list[0].here = true
	list[1].undo = 1
	list[1].replaced = "what the restore of 3f2a1b9c0d1e replaced"
	list[1].describe()
	list[3].pins = []string{"before-search"}
	list[6].snapshot.Lost = "its contents are gone"
	list[6].describe()
	return past{moments: list, branch: "main"}
}

// changed are changes of every kind, with names that nobody should obey.
func changed() []engine.Change {
	file := func(n int) engine.Side { return engine.Side{Mode: 0o100644, ID: idOf(n)} }
	return []engine.Change{
		{Path: "README.md", From: file(1), To: file(2)},
		{Path: "docs/a/b/long name with blanks.md", To: file(3)},
		{Path: "src/app\x1b[2J.py", From: file(4), To: file(5)},
		{Path: "src/run.sh", From: file(6), To: engine.Side{Mode: 0o100755, ID: idOf(6)}},
		{Path: "src/古い名前.txt", From: file(7)},
	}
}

// tellAll lets the model know of a past, the changes of its first row, and some lines.
func tellAll(m *model) {
	m.Update(listed{past: story()})
	m.Update(edited{3})
	list := changed()
	m.Update(compared{difference: &engine.Diff{Changes: list}, root: grow(list)})
	var p patch
	p.head(list[0])
	p.addHunks(list[0], hunk.Of([]byte("# App\n\nReads the store.\n"), []byte("# App\n\nReads the store, and searches 世界.\n\tindented\x1b[31m\n")))
	p.lines[0].right = []span{{" +2", good}, {" −1 ", bad}}
	p.added, p.removed, p.digits = 2, 1, 1
	m.Update(patched{patch: p})
}

// keys presses keys, by their names.
func keys(m *model, names ...string) (last tea.Cmd) {
	for _, k := range names {
		text := ""
		if len([]rune(k)) == 1 {
			text = k
		}
		last = m.press(k, text)
	}
	return last
}

// picture is the screen without colours.
func picture(m *model) string {
	var b strings.Builder
	for _, text := range m.screen() {
		b.WriteString(strings.TrimRight(ansi.Strip(text), " ") + "\n")
	}
	return b.String()
}

// wantPicture compares the screen with the one in testdata. REWIND_WRITE_SCREENS=1
// writes them anew.
func wantPicture(t *testing.T, m *model, name string) {
	t.Helper()
	file, got := filepath.Join("testdata", name+".txt"), picture(m)
	if os.Getenv("REWIND_WRITE_SCREENS") == "1" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: the screen is\n%s\nwant\n%s", name, got, want)
	}
}

// wantWhole checks that every row is as wide as the terminal, and that nothing in it
// would be obeyed but colours.
func wantWhole(t *testing.T, m *model) {
	t.Helper()
	rows := m.screen()
	if len(rows) != m.h {
		t.Fatalf("%dx%d: %d rows", m.w, m.h, len(rows))
	}
	for i, text := range rows {
		if n := ansi.StringWidth(text); n != m.w {
			t.Fatalf("%dx%d: row %d is %d cells wide: %q", m.w, m.h, i, n, text)
		}
		for _, part := range strings.Split(text, "\x1b")[1:] {
			codes, _, ok := strings.Cut(part, "m")
			if !ok || strings.Trim(codes, "[0123456789;") != "" {
				t.Fatalf("%dx%d: row %d has an escape that is no colour: %q", m.w, m.h, i, text)
			}
		}
		if strings.ContainsAny(ansi.Strip(text), "\x07\t\r\u202e") {
			t.Fatalf("%dx%d: row %d has what a terminal obeys: %q", m.w, m.h, i, text)
		}
	}
}

// A desk is a worktree on disk with the model that shows it. What the model starts
// in the background is run at once.
type desk struct {
	t   *testing.T
	dir string
	e   *engine.Engine
	m   *model

	ran  []string // the last command
	says string   // what commands print
	code int      // and how they exit
}

// command stands for the commands of rewind.
func (d *desk) command(_ context.Context, args ...string) (string, int) {
	d.ran = args
	return d.says, d.code
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir()}
	home := t.TempDir()
	env := func(name string) string {
		return map[string]string{"HOME": home, "XDG_STATE_HOME": home + "/state", "XDG_CONFIG_HOME": home + "/config"}[name]
	}
	e, err := engine.Open(context.Background(), d.dir, &engine.Options{Getenv: env})
	d.must(err)
	t.Cleanup(func() { e.Close() })
	d.e = e
	d.m = newModel(&backstage{engine: e, run: d.command, ctx: context.Background(), progress: func() *engine.Progress { return nil }})
	d.m.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	return d
}

func (d *desk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) write(name, text string) {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	d.must(os.MkdirAll(filepath.Dir(path), 0o777))
	d.must(os.WriteFile(path, []byte(text), 0o666))
}

// has checks files, given as names and texts; "-" is one that is not there.
func (d *desk) has(files ...string) {
	d.t.Helper()
	for i := 0; i < len(files); i += 2 {
		text, err := os.ReadFile(filepath.Join(d.dir, files[i]))
		if got := string(text); err != nil && files[i+1] != "-" || err == nil && got != files[i+1] {
			d.t.Errorf("%s is %q, %v; want %q", files[i], got, err, files[i+1])
		}
	}
}

func (d *desk) snapshot(label string) *engine.Snapshot {
	d.t.Helper()
	r, err := d.e.Snapshot(context.Background(), &engine.SnapshotOptions{Label: label})
	d.must(err)
	return r.Snapshot
}

// run runs what the model has started, and what that starts, but for what only waits.
func (d *desk) run(cmd tea.Cmd) {
	d.t.Helper()
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil, polled, beat, tea.QuitMsg:
	case tea.BatchMsg:
		for _, c := range msg {
			if !isTick(c) {
				d.run(c)
			}
		}
	default:
		_, next := d.m.Update(msg)
		d.run(next)
	}
}

// isTick reports whether a command only tells that time has passed.
func isTick(c tea.Cmd) bool {
	return c != nil && reflect.ValueOf(c).Pointer() == reflect.ValueOf(tick()).Pointer()
}

// open reads the timeline.
func (d *desk) open() { d.t.Helper(); d.run(d.m.list(0)) }

// press presses keys, and runs what each of them starts.
func (d *desk) press(names ...string) {
	d.t.Helper()
	for _, k := range names {
		d.run(keys(d.m, k))
	}
}

// choose goes to a path in the list of files.
func (d *desk) choose(path string) {
	d.t.Helper()
	d.press("2", "home")
	for range d.m.files.rows {
		if d.m.files.chosen().path == path {
			return
		}
		d.press("down")
	}
	d.t.Fatalf("%s is not among the files:\n%s", path, picture(d.m))
}

// shows checks that the screen says something.
func (d *desk) shows(texts ...string) {
	d.t.Helper()
	for _, text := range texts {
		if !strings.Contains(picture(d.m), text) {
			d.t.Errorf("the screen does not say %q:\n%s", text, picture(d.m))
		}
	}
}

// lacks checks that the screen does not say something.
func (d *desk) lacks(text string) {
	d.t.Helper()
	if strings.Contains(picture(d.m), text) {
		d.t.Errorf("the screen says %q:\n%s", text, picture(d.m))
	}
}
