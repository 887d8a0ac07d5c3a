package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// Whatever is changed where a history was resumed: its restore at home leaves alone what never was there.
func TestRandomRoundTripsDeleteNothingThatStayedAtHome(t *testing.T) {
	first := seed.Of(t)
	for n := range uint64(seed.Times(4)) {
		t.Run(fmt.Sprint(first+n), func(t *testing.T) { randomTrip(t, first+n) })
	}
	t.Run("9", func(t *testing.T) { randomTrip(t, 9) }) // a file was in the place of the directory for one snapshot
}

func randomTrip(t *testing.T, s uint64) {
	rnd := rand.New(rand.NewPCG(s, 11))
	p := newPlace(t, true)
	p.env["REWIND_REMOTE_SECRETS"], p.env["REWIND_SECRETS"] = "false", "*.pem"
	m, e := &mess{p, rnd, true}, p.open()
	isGit, added := rnd.IntN(2) == 0, p.newRemote
	if isGit {
		added = p.newGitRemote
	}
	remote := added(e)
	for i := range 1 + rnd.IntN(3) {
		m.turn(e, remote, i)
	}
	for range 3 { // what nobody's rules ignore
		p.must(os.WriteFile(filepath.Join(m.somewhere(), fmt.Sprintf("%d.pem", rnd.IntN(9))), []byte(m.text()), 0o644))
	}
	for range 2 { // all of a directory
		dir := filepath.Join(m.somewhere(), m.name(), m.name())
		if os.MkdirAll(dir, 0o755) == nil {
			_ = os.WriteFile(filepath.Join(dir, "all.pem"), []byte(m.text()), 0o644)
		}
	}
	p.snap(e, "before it goes", nil)
	m.pushed(e, remote)
	home := p.shown(p.dir)

	there := newPlace(t, false)
	there.env["REWIND_SECRETS"] = "*.pem"
	there.resumedFrom(remote)
	begun := there.shown(there.dir)
	o, n := &mess{there, rnd, false}, there.openAt(there.dir)
	var log []string
	states := []map[string]string{begun}
	for i := range 1 + rnd.IntN(3) {
		for range rnd.IntN(6) {
			log = append(log, o.change())
		}
		there.snap(n, fmt.Sprint("there ", i), nil)
		states = append(states, there.shown(there.dir))
	}
	origin, err := n.Remotes().Find("")
	p.must(err)
	there.mustPush(n, origin)

	p.fetchedAndRestored(e, remote)
	after := p.shown(p.dir)
	for name, was := range home {
		// Where something was in its place, or in that of a directory above, who deletes that has decided about the path.
		decided := slices.ContainsFunc(states, func(shown map[string]string) bool {
			_, made := shown[name]
			return made || replaced(shown, name)
		})
		if decided || !strings.HasPrefix(was, "-") {
			continue
		}
		if after[name] != was {
			t.Errorf("git %v: %q was %.60s, and is %.60s\n%q", isGit, name, was, after[name], log)
		}
	}
}

// resumedFrom makes the place what the newest snapshot of a remote of either kind is.
func (p *place) resumedFrom(m away.Remote) {
	p.t.Helper()
	if m.Git {
		p.resumedGit(p.dir, m.URL, "")
		return
	}
	_, err := resumed(p, p.dir, m.URL, "")
	p.must(err)
}

// replaced reports whether something that is no directory is in the place of one above a path.
func replaced(shown map[string]string, name string) bool {
	for i := range name {
		if above, ok := shown[name[:i]]; name[i] == '/' && ok && !strings.HasPrefix(above, "d") {
			return true
		}
	}
	return false
}

// fetchedAndRestored restores the newest of the snapshots that are fetched: it has another id, if files stayed there.
func (p *place) fetchedAndRestored(e *Engine, m away.Remote) {
	p.t.Helper()
	f, err := p.fetched(e, m)
	p.must(err)
	if len(f.Left) > 0 || len(f.Snapshots) == 0 {
		p.t.Fatalf("%+v", f)
	}
	newest := slices.MaxFunc(f.Snapshots, func(a, b *Snapshot) int { return a.Time.Compare(b.Time) })
	p.do(e, Op{To: newest.ID})
}

// A directory of which all stays at home is not in the snapshot that goes. Who makes one of that name elsewhere does not
// know what is in it at home.
func TestADirectoryMadeElsewhereDeletesNothingThatStayedAtHome(t *testing.T) {
	for _, git := range []bool{false, true} {
		p := newPlace(t, true)
		p.env["REWIND_REMOTE_SECRETS"], p.env["REWIND_SECRETS"] = "false", "*.pem"
		for _, name := range []string{"keys/a.pem", "keys/deep/b.pem", "more/c.pem", "pipe/d.pem", "nested/src/deep/1"} {
			p.write(name, "stays\n")
		}
		p.git("init", "-q", "nested")
		e, added := p.open(), p.newRemote
		if git {
			added = p.newGitRemote
		}
		p.snap(e, "1", nil)
		remote := added(e)
		p.mustPush(e, remote)
		there := newPlace(t, false)
		there.env["REWIND_SECRETS"] = "*.pem"
		there.resumedFrom(remote)
		n := there.openAt(there.dir)
		there.write("keys/deep/new", "made there\n")
		there.write("nested/src/new", "made there\n")
		there.must(errors.Join(os.Mkdir(filepath.Join(there.dir, "more"), 0o755), os.MkdirAll(filepath.Join(there.dir, "pipe"), 0o755)))
		last := there.snap(n, "2", nil)
		origin, err := n.Remotes().Find("")
		there.must(err)
		there.mustPush(n, origin)

		_, err = p.fetched(e, remote)
		p.must(err)
		want := p.shown(p.dir)
		for _, name := range []string{"file", "keys/deep/new", "nested/src/new"} {
			want[name] = there.shown(there.dir)[name]
		}
		p.do(e, Op{To: last.ID})
		p.wantShown(p.dir, want)

		// There it goes, if somebody goes back to the state that was resumed: that could have had it.
		begun := there.list(n, nil)
		there.do(n, Op{To: begun[len(begun)-1].ID})
		for _, name := range []string{"keys", "nested", "more", "pipe"} {
			if there.exists(name) {
				t.Errorf("git %v: %s was made since, and is there", git, name)
			}
		}
	}
}

// homeAndThere makes a worktree of which secrets stay at home, and one that goes on with it elsewhere.
func homeAndThere(t *testing.T, names ...string) (p *place, e *Engine, remote away.Remote, there *place, n *Engine) {
	t.Helper()
	p = newPlace(t, true)
	p.env["REWIND_REMOTE_SECRETS"], p.env["REWIND_SECRETS"] = "false", "*.pem"
	for _, name := range names {
		p.write(name, "of home\n")
	}
	e = p.open()
	p.snap(e, "1", nil)
	remote = p.newRemote(e)
	p.mustPush(e, remote)
	there = newPlace(t, false)
	there.resumedFrom(remote)
	return p, e, remote, there, there.openAt(there.dir)
}

// A snapshot from elsewhere names what it lacks. What is deleted at home after its restore was here, and is gone.
func TestADeletionAtHomeAfterARestoreFromElsewhereIsRecorded(t *testing.T) {
	p, e, remote, there, n := homeAndThere(t, "dir/a.pem", "dir/b.pem", "mixed/a.pem", "mixed/goes")
	there.snap(n, "2", nil)
	origin, err := n.Remotes().Find("")
	there.must(err)
	there.mustPush(n, origin)
	p.fetchedAndRestored(e, remote)
	p.must(errors.Join(os.Remove(filepath.Join(p.dir, "dir/a.pem")), os.Remove(filepath.Join(p.dir, "mixed/a.pem"))))
	gone := p.snap(e, "3", nil)
	for _, note := range gone.Skipped {
		t.Errorf("at home it says of %s: %s", note.Path, note.Reason)
	}
	p.undo(e)
	p.do(e, Op{To: gone.ID})
	if p.exists("dir/a.pem") || p.exists("mixed/a.pem") || p.read("dir/b.pem") != "of home\n" {
		t.Error("a restore of what was recorded at home is another state")
	}
}

// Once the contents have come, and were restored, no snapshot says any more that they stay elsewhere.
func TestWhatHasComeAfterAllIsNotCalledElsewhere(t *testing.T) {
	p, _, remote, there, n := homeAndThere(t, "all/a.pem", "mixed/a.pem", "mixed/goes")
	if r := there.snap(n, "2", nil); len(r.Skipped) == 0 {
		t.Fatal("nothing stays at home: nothing is proved")
	}
	p.env["REWIND_REMOTE_SECRETS"] = "true"
	e := p.open()
	whole := p.snap(e, "3", nil)
	p.mustPush(e, remote)
	origin, err := n.Remotes().Find("")
	there.must(err)
	_, err = there.fetched(n, origin)
	there.must(err)
	there.do(n, Op{To: whole.ID})
	for _, change := range []string{"4", "5"} {
		for _, note := range there.snap(n, change, nil).Skipped {
			t.Errorf("%s: %s", note.Path, note.Reason)
		}
	}
	there.must(os.RemoveAll(filepath.Join(there.dir, "all")))
	if r := there.snap(n, "6", nil); len(r.Skipped) > 0 {
		t.Errorf("what was deleted on purpose: %v", r.Skipped)
	}
}
