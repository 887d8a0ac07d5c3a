package engine

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// private says that what git does not keep stays at home.
func (p *place) private(e *Engine, is bool) { e.conf.RemoteSecrets = !is }

// wantNowhere looks with restic for texts in everything that the newest snapshot of a remote has.
func (p *place) wantNowhere(m away.Remote, texts ...string) {
	p.t.Helper()
	all := p.restic(m, "dump", "latest", "/")
	if !strings.Contains(all, "one\n") {
		p.t.Errorf("restic dumps nothing: %.200q", all)
	}
	for _, text := range texts {
		if at := strings.Index(all, text); at >= 0 {
			p.t.Errorf("%q went there: %.200q", text, all[max(0, at-100):])
		}
	}
}

func TestWhatGitDoesNotKeepStaysAtHomeIfAsked(t *testing.T) {
	if _, err := exec.LookPath("restic"); err != nil {
		t.Skip("SKIPPED: restic is not installed, and nothing else can say what it reads")
	}
	for _, git := range []bool{false, true} {
		p := newPlace(t, git)
		p.eachKind(git)
		p.write("dir/secret.pem", "PRIVATE KEY\n")
		p.env["REWIND_SECRETS"], p.env["REWIND_REMOTE_SECRETS"] = "*.pem", "false"
		e := p.open()
		first := p.snap(e, "1", &SnapshotOptions{Label: "first"})
		m := p.newRemote(e)
		if out := p.mustPush(e, m); out.Snapshots != 1 || len(out.Left) > 0 {
			t.Fatalf("%+v", out)
		}
		p.wantPush(e, m, 0, 1, 0)
		p.wantNowhere(m, "SECRET=1", "PRIVATE KEY", "in a repository below")
		p.restic(m, "check", "--read-data")
		if b, err := e.Remotes().Behind(context.Background(), m); err != nil || b.Waiting != 0 || b.There != 1 {
			t.Errorf("%+v %v", b, err)
		}

		// Elsewhere it is told what is missing.
		want := p.shown(p.dir)
		maps.DeleteFunc(want, func(name, _ string) bool {
			return name == ".env" || name == "dir/secret.pem" || name == "nested" || strings.HasPrefix(name, "nested/")
		})
		there := newPlace(t, false)
		r, err := resumed(there, there.dir, m.URL, "")
		p.must(err)
		there.wantShown(there.dir, want)
		told := map[string]bool{}
		for _, n := range r.AtHome {
			told[string(n.Path)] = true
		}
		if !told[".env"] || !told["dir/secret.pem"] || git != told["nested/f"] || told["nested"] || r.Fetched.AtHome != 1 {
			t.Errorf("told: %v, %+v", r.AtHome, r.Fetched)
		}
		n := there.openAt(there.dir)
		there.wantClean(n)
		mine := r.Snapshot.ID
		if mine == first.ID {
			t.Error("two states have one id")
		}
		there.write(".env", "MINE=1\n")
		there.do(n, Op{To: mine}) // leaves it alone
		if got := there.shown(there.dir)[".env"]; !strings.Contains(got, "MINE=1") {
			t.Errorf("a file that the snapshot says nothing of is gone: %q", got)
		}

		// Who has the whole one fetches no part of it.
		if f, err := p.fetched(e, m); err != nil || len(f.Snapshots) != 0 || f.There == 0 {
			t.Errorf("%+v %v", f, err)
		}

		p.wantWholeOnes(e, m, first.ID, mine)
	}
}

// wantWholeOnes sets back what stays at home: the whole snapshot goes, and counts before the part that is there.
func (p *place) wantWholeOnes(e *Engine, m away.Remote, first, mine oid.ID) {
	p.t.Helper()
	p.private(e, false)
	if b, err := e.Remotes().Behind(context.Background(), m); err != nil || b.Waiting != 1 {
		p.t.Errorf("%+v %v", b, err)
	}
	p.mustPush(e, m)
	p.wantPush(e, m, 0, 1, 0)
	p.restic(m, "check", "--read-data")
	whole, o, again := elsewhere(p.t, m.URL, "")
	if again.Snapshot.ID != first || len(again.AtHome) != 0 {
		p.t.Errorf("resumed %v, %v", again.Snapshot.ID, again.AtHome)
	}
	whole.wantShown(whole.dir, p.shown(p.dir))
	if list := whole.records(o); len(list) != 1 {
		p.t.Errorf("a part came beside the whole one: %v", list)
	}
	p.private(e, true) // what is there stays, and is there
	p.wantPush(e, m, 0, 1, 0)
	if got := p.distant(e, m); !got[first.String()] || !got[mine.String()] {
		p.t.Errorf("there: %v", got)
	}
	s, err := e.Remotes().Open(context.Background(), m, remotePassword)
	p.must(err)
	out, err := e.Remotes().Prune(context.Background(), s, &away.Limits{Options: &PruneOptions{MaxSnapshots: 1}})
	p.must(err)
	if len(out.Dropped) != 0 {
		p.t.Errorf("a prune drops what is recorded here: %+v", out.Dropped)
	}
}

// What stays at home is not deleted there by the restore of what was recorded elsewhere, where it never was.
func TestARoundTripDeletesNothingThatStayedAtHome(t *testing.T) {
	for _, git := range []bool{false, true} {
		p := newPlace(t, true)
		p.eachKind(true)
		p.write("dir/secret.pem", "PRIVATE KEY\n")
		p.write("dir/gone.pem", "PRIVATE KEY\n")
		p.env["REWIND_SECRETS"], p.env["REWIND_REMOTE_SECRETS"] = "*.pem", "false"
		e := p.open()
		p.snap(e, "1", nil)
		there := newPlace(t, false)
		there.env["REWIND_SECRETS"] = "*.pem"
		m := p.newRemote
		if git {
			m = p.newGitRemote
		}
		remote := m(e)
		p.mustPush(e, remote)
		there.resumedFrom(remote)

		n := there.openAt(there.dir)
		there.snap(n, "2", nil)
		there.write("dir/gone.pem", "made there\n")
		there.snap(n, "3", nil)
		there.must(os.Remove(filepath.Join(there.dir, "dir/gone.pem"))) // on purpose
		last := there.snap(n, "4", nil)
		if again := there.snap(n, "4", nil); !again.Reused {
			t.Error("a state without a change was recorded twice")
		}
		for _, note := range last.Skipped {
			if string(note.Path) == "dir/gone.pem" {
				t.Errorf("what was made and deleted there counts as what stays at home: %v", note)
			}
		}
		origin, err := n.Remotes().Find("")
		there.must(err)
		there.mustPush(n, origin)

		_, err = p.fetched(e, remote)
		p.must(err)
		want := p.shown(p.dir)
		want["file"] = there.shown(there.dir)["file"]
		delete(want, "dir/gone.pem")
		p.do(e, Op{To: last.ID})
		p.wantShown(p.dir, want)
	}
}

func TestAFetchCountsEachSnapshotThatNamesWhatStaysWhoeverPushedIt(t *testing.T) {
	for _, names := range [][]string{{"key.pem"}, manyKeys()} { // of many a record has the names elsewhere
		p, e, remote, there, n := homeAndThere(t, names...)
		origin, err := n.Remotes().Find("")
		p.must(err)
		there.snap(n, "2", nil)
		there.snap(n, "3", nil)
		there.mustPush(n, origin)
		if f, err := p.fetched(e, remote); err != nil || len(f.Snapshots) != 2 || f.AtHome != 2 {
			t.Errorf("%d of those that lack something: %v, %v", f.AtHome, f.Snapshots, err)
		}
		if f, err := p.fetched(e, remote); err != nil || len(f.Snapshots) != 0 || f.AtHome != 0 {
			t.Errorf("of none that came: %+v, %v", f, err)
		}
	}
}
