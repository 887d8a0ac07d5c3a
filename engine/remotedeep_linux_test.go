package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Nobody records a pipe, or names it. So it decides nothing about the file of that name at home.
func TestAPipeElsewhereDeletesNothingThatStayedAtHome(t *testing.T) {
	p, e, remote, there, n := homeAndThere(t, "a.pem", "file")
	there.must(unix.Mkfifo(filepath.Join(there.dir, "a.pem"), 0o600))
	if s := there.snap(n, "2", nil); len(s.Skipped) != 1 || s.Skipped[0].Path != "a.pem" {
		t.Errorf("of the file that stays at home it says %v", s.Skipped)
	}
	origin, err := n.Remotes().Find("")
	there.must(err)
	there.mustPush(n, origin)
	p.fetchedAndRestored(e, remote)
	if !p.exists("a.pem") {
		t.Error("it was deleted at home")
	}
}

// Each level is a tree that says where the next one is: who reads one at a time asks as often as there are levels.
func TestATreeOfManyLevelsGoesToARemoteAndBack(t *testing.T) {
	const levels = 1500
	p := newPlace(t, false)
	deepest := filepath.Join(p.dir, strings.Repeat("d/", levels))
	p.must(os.MkdirAll(deepest, 0o755))
	for at := deepest; len(at) > len(p.dir); at = filepath.Dir(at[:max(len(p.dir), len(at)-2*300)]) {
		p.must(errors.Join(os.WriteFile(filepath.Join(at, "f"), []byte(at[len(p.dir):]), 0o644), os.Mkdir(filepath.Join(at, "empty"), 0o700)))
	}
	e := p.open()
	_, err := e.Snapshot(t.Context(), nil)
	p.must(err)
	m := p.newRemote(e)
	pushing, resuming := &failing{left: -1}, &failing{left: -1}
	_, err = p.push(e, m, pushing)
	p.must(err)
	p.distant(e, m)
	other := newPlace(t, false)
	p.must(other.resume(m.URL, resuming))
	want := p.shown(p.dir)
	p.wantShown(other.dir, want)
	if len(want) < levels || pushing.calls > levels/20 || resuming.calls > levels/20 {
		t.Errorf("%d paths took %d requests to push and %d to resume", len(want), pushing.calls, resuming.calls)
	}
	if s, err := other.open().Snapshot(t.Context(), nil); err != nil || !s.Reused {
		t.Errorf("what came is another state: %+v %v", s, err)
	}
}
