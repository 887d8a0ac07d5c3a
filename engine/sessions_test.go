//go:build unix

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/engine/internal/settings"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestAPipeThatIsCalledASessionDoesNotStopAPrune(t *testing.T) {
	p := newPlace(t, true)
	e := p.open()
	p.snap(e, "one", nil)
	s := p.session(filepath.Join(p.home, ".pi", "agent"), "s", p.dir, "")
	s.save(p)
	p.must(syscall.Mkfifo(filepath.Join(filepath.Dir(s.path), "x.jsonl"), 0o600))
	p.must(os.Symlink("/dev/zero", filepath.Join(filepath.Dir(s.path), "y.jsonl")))
	p.snap(e, "two", nil)
	out := p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
	if len(out.Dropped) != 1 || out.Ledgers != 1 {
		t.Errorf("%+v", out)
	}
	if _, _, err := e.Points(context.Background(), filepath.Join(filepath.Dir(s.path), "x.jsonl"), "", nil); err == nil {
		t.Error("a pipe has points")
	}
}

func TestAMissingDirectoryOfSessionsStopsThePrune(t *testing.T) {
	for _, how := range []string{"remembered", "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "REWIND_AGENT_DIR", "usual"} {
		p := newPlace(t, false)
		agent := filepath.Join(p.home, "agent")
		switch how {
		case "remembered":
			p.env["PI_CODING_AGENT_DIR"] = agent
		case "usual":
			agent = filepath.Join(p.home, ".pi", "agent")
		}
		if how == "remembered" || how == "usual" {
			p.must(os.MkdirAll(agent, 0o755))
		}
		e := p.open()
		for i := range 3 {
			p.snap(e, fmt.Sprint(i), &SnapshotOptions{Session: "s"})
		}
		delete(p.env, "PI_CODING_AGENT_DIR")
		if how == "remembered" || how == "usual" {
			p.must(os.Remove(agent))
		} else {
			p.env[how] = agent
		}
		e = p.open()
		_, err := e.Prune(context.Background(), &PruneOptions{MaxSnapshots: 1, Grace: -1})
		if !errors.Is(err, retention.ErrUnseen) || !strings.Contains(err.Error(), agent) || len(p.records(e)) != 3 {
			t.Errorf("%s: %v, %d left", how, err, len(p.records(e)))
		}
		// Who knows that it is gone for good says so, once.
		if out := p.prune(e, &PruneOptions{MaxSnapshots: 2, Grace: -1, Unseen: true}); len(out.Dropped) != 1 {
			t.Errorf("%s: %+v", how, out)
		}
		delete(p.env, how)
		e = p.open()
		if out := p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1}); len(out.Dropped) != 1 {
			t.Errorf("%s: %+v", how, out)
		}
	}
}

func TestADirectoryThatNobodyNamedMayBeMissing(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.snap(e, "one", nil)
	p.snap(e, "two", nil)
	if out := p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1}); len(out.Dropped) != 1 {
		t.Errorf("%+v", out)
	}
}

// forked makes a parent with a bound entry, and a fork that labels it.
func (p *place) forked(e *Engine) (marked oid.ID, parent, child *session) {
	agent := filepath.Join(p.home, ".pi", "agent")
	parent = p.session(agent, "0197-parent", p.dir, "")
	parent.path = filepath.Join(filepath.Dir(parent.path), "2026-01-02T03-04-05_0197-parent.jsonl")
	marked = p.snap(e, "marked", &SnapshotOptions{Session: parent.id}).ID
	entry := parent.turn(marked)
	parent.turn(p.snap(e, "parent's last", nil).ID)
	child = p.session(agent, "0197-child", p.dir, parent.path)
	child.n = 100
	child.label(entry)
	child.turn(p.snap(e, "child's last", nil).ID)
	parent.save(p)
	child.save(p)
	return marked, parent, child
}

func TestALabelledPointStaysWhenItsSessionMovedOrVanished(t *testing.T) {
	for _, how := range []string{"there", "moved", "renamed by its id", "vanished"} {
		p := newPlace(t, true)
		p.env["REWIND_PIN_LABELED_ENTRIES"] = "true"
		e := p.open()
		marked, parent, child := p.forked(e)
		sibling := filepath.Join(filepath.Dir(filepath.Dir(parent.path)), "--moved--")
		p.must(os.Mkdir(sibling, 0o755))
		to := map[string]string{"moved": filepath.Base(parent.path), "renamed by its id": "other-name.jsonl"}[how]
		switch {
		case to != "":
			p.must(os.Rename(parent.path, filepath.Join(sibling, to)))
		case how == "vanished":
			p.must(os.Remove(parent.path))
		}
		p.snap(e, "last", nil)
		e = p.open()
		out := p.prune(e, &PruneOptions{MaxAge: time.Nanosecond, Grace: -1})
		if !has(p.records(e), marked) || how != "vanished" && out.Kept["of a labelled entry"] != 1 || how == "vanished" && out.Kept["of a session whose ledger is nowhere to be found"] != 1 {
			t.Errorf("%s: %v is kept: %v, %+v", how, marked, has(p.records(e), marked), out)
		}
		if how == "vanished" {
			continue
		}
		at, _, err := e.Points(context.Background(), child.path, "", []string{"00000001"})
		if err != nil || len(at.Bindings) != 1 || at.Bindings[0].Snapshot != marked {
			t.Errorf("%s: the points of the fork are %+v, %v", how, at, err)
		}
	}
}

func TestAncestorsAreThoseOfTheSessionThatMoved(t *testing.T) {
	p := newPlace(t, true)
	p.env["REWIND_SCAN_MODE"] = settings.ScanAncestors
	e := p.open()
	marked, parent, child := p.forked(e)
	moved := filepath.Join(filepath.Dir(filepath.Dir(parent.path)), "--moved--", filepath.Base(parent.path))
	p.must(errors.Join(os.Mkdir(filepath.Dir(moved), 0o755), os.Rename(parent.path, moved)))
	p.snap(e, "last", nil)
	p.prune(e, &PruneOptions{MaxAge: time.Nanosecond, Grace: -1, Session: child.id})
	if has(p.records(e), marked) {
		t.Error("what the ancestor refers to is spared as another conversation's")
	}
}
