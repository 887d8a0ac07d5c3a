package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestAPruneKeepsWhatAnySessionOfTheRepositoryNeeds(t *testing.T) {
	p := newPlace(t, true)
	p.write("file", "zero")
	p.commit("zero")
	linked := filepath.Join(filepath.Dir(p.dir), "linked")
	p.git("worktree", "add", "-q", linked)
	standard := filepath.Join(p.home, ".pi", "agent")
	elsewhere := filepath.Join(p.home, "elsewhere")
	p.must(errors.Join(os.MkdirAll(standard, 0o755), os.MkdirAll(elsewhere, 0o755)))

	// One session in the usual place, one in a linked worktree, in an agent
	// directory that only that agent's environment names.
	e := p.open()
	s := p.session(standard, "s1", p.dir, "")
	p.env["PI_CODING_AGENT_DIR"] = elsewhere
	f := p.openAt(linked)
	s2 := p.session(elsewhere, "s2", linked, "")
	hook := p.hook("by another program")
	s2.turn(hook)
	var ids []oid.ID
	for i := range 8 {
		at, in, name := e, s, "s1"
		if i%2 == 1 {
			at, in, name = f, s2, "s2"
		}
		r := p.snap(at, fmt.Sprint(i), &SnapshotOptions{Session: name})
		ids = append(ids, r.ID)
		in.turn(r.ID)
	}
	delete(p.env, "PI_CODING_AGENT_DIR")
	s.op(ids[0], ids[2])
	s2.pending(ids[1])
	unknown := p.hook("by another program, in a ledger that is not here")
	s.save(p)
	s2.save(p)

	// A session whose ledger is nowhere: its snapshot stays.
	lost := p.snap(e, "lost", &SnapshotOptions{Session: "s9"}).ID
	last := p.snap(e, "last", nil).ID

	e = p.open()
	out := p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
	left, ref := p.records(e), p.inRef(e)
	for name, id := range map[string]oid.ID{"current": ids[0], "undo": ids[2], "fork-pending": ids[1], "newest of the linked worktree": ids[7], "unseen": lost, "newest": last} {
		if !has(left, id) || !has(ref, id) {
			t.Errorf("%s went", name)
		}
	}
	if len(left) != 6 {
		t.Errorf("%d are left: %v", len(left), out.Kept)
	}
	// The hook's own: one is dead by the ledger that names it and limits say
	// so (its group keeps one), the other is in no ledger.
	if !has(ref, unknown) {
		t.Error("a snapshot of another program went that no ledger names")
	}
	if out.Ledgers != 2 || out.Kept["of a session whose ledger is nowhere to be found"] != 1 || out.Kept["of another program, and no ledger says that it may go"] != 1 {
		t.Errorf("%+v", out)
	}
	out = p.prune(e, &PruneOptions{MaxAge: time.Nanosecond, Grace: -1, Unseen: true})
	if has(p.inRef(e), hook) || !has(p.inRef(e), unknown) || !slices.Equal(out.Foreign, []oid.ID{hook}) || has(p.records(e), lost) {
		t.Errorf("%+v", out)
	}
	p.git("gc", "-q", "--prune=now")
	p.wantClean(e)
}

func TestAnUnreadableLedgerKeepsWhatItNamesOrStopsThePrune(t *testing.T) {
	p := newPlace(t, true)
	agent := filepath.Join(p.home, ".pi", "agent")
	e := p.open()
	var ids []oid.ID
	for i := range 5 {
		ids = append(ids, p.snap(e, fmt.Sprint(i), nil).ID)
	}
	dir := filepath.Join(agent, "sessions", "x")
	p.must(os.MkdirAll(dir, 0o755))
	file := filepath.Join(dir, "broken.jsonl")
	p.must(os.WriteFile(file, []byte("\x00\x01{{{"+ids[1].String()+"\n"), 0o600))
	out := p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
	if left := p.records(e); !slices.Equal(left, []oid.ID{ids[4], ids[1]}) || out.Kept["named in a ledger that cannot be read"] != 1 {
		t.Errorf("%v are left, %+v", left, out)
	}
	gittest.Modes(t)
	if os.Getuid() == 0 {
		p.must(errors.Join(os.Remove(file), os.Symlink(filepath.Join(dir, "gone"), file)))
	} else {
		p.must(os.Chmod(file, 0))
	}
	if _, err := e.Prune(context.Background(), &PruneOptions{MaxAge: time.Nanosecond}); !errors.Is(err, retention.ErrUnseen) {
		t.Errorf("%v, want ErrUnseen", err)
	}
	if len(p.records(e)) != 2 {
		t.Error("something went all the same")
	}
}

func TestAncestorOnlyLeavesOtherConversationsAlone(t *testing.T) {
	p := newPlace(t, true)
	agent := filepath.Join(p.home, ".pi", "agent")
	p.git("config", "rewind.scanMode", "ancestor-only")
	e := p.open()
	parent := p.session(agent, "parent", p.dir, "")
	child := p.session(agent, "child", p.dir, parent.path)
	other := p.session(agent, "other", p.dir, "")
	ids := map[string][]oid.ID{}
	for i := range 3 {
		for _, s := range []*session{parent, child, other} {
			r := p.snap(e, fmt.Sprint(s.id, i), &SnapshotOptions{Session: s.id})
			s.turn(r.ID)
			ids[s.id] = append(ids[s.id], r.ID)
		}
	}
	for _, s := range []*session{parent, child, other} {
		s.save(p)
	}
	p.snap(e, "last", nil)
	p.prune(e, &PruneOptions{MaxAge: time.Nanosecond, Session: "child", Grace: -1})
	left := p.records(e)
	for i := range 3 {
		newest := i == 2 // what the session ended with stays
		if has(left, ids["parent"][i]) != newest || has(left, ids["child"][i]) != newest || !has(left, ids["other"][i]) {
			t.Errorf("%d: parent %v, child %v, other %v", i, has(left, ids["parent"][i]), has(left, ids["child"][i]), has(left, ids["other"][i]))
		}
	}
}

func TestLabelledEntriesArePinnedIfTheUserWants(t *testing.T) {
	for _, pin := range []string{"true", "false"} {
		p := newPlace(t, true)
		p.git("config", "rewind.pinLabeledEntries", pin)
		e := p.open()
		s := p.session(filepath.Join(p.home, ".pi", "agent"), "s", p.dir, "")
		marked := p.snap(e, "marked", nil).ID
		s.label(s.turn(marked))
		s.turn(p.snap(e, "next", nil).ID)
		s.save(p)
		p.snap(e, "last", nil)
		p.prune(e, &PruneOptions{MaxAge: time.Nanosecond, Grace: -1})
		if got := has(p.records(e), marked); fmt.Sprint(got) != pin {
			t.Errorf("pinLabeledEntries=%s: kept %v", pin, got)
		}
	}
}

func TestThinningKeepsTodayThenHoursThenDays(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	now := time.Date(2026, 3, 20, 15, 30, 0, 0, time.UTC)
	times := []string{
		"2026-03-10T08:00", "2026-03-10T09:59", "2026-03-12T23:00", // days
		"2026-03-18T10:01", "2026-03-18T10:40", "2026-03-18T11:00", // hours
		"2026-03-20T00:00", "2026-03-20T00:01", "2026-03-20T15:29", // today
	}
	var kept []string
	for i, text := range times {
		at, err := time.Parse("2006-01-02T15:04", text)
		p.must(err)
		e.now = func() time.Time { return at }
		p.snap(e, fmt.Sprint(i), nil)
	}
	e.now = func() time.Time { return now }
	p.prune(e, &PruneOptions{ThinDays: 3})
	all, err := records.Read(context.Background(), e.view, (*records.View).Snapshots)
	p.must(err)
	for _, s := range slices.Backward(all) {
		kept = append(kept, s.Time.UTC().Format("2006-01-02T15:04"))
	}
	want := slices.DeleteFunc(slices.Clone(times), func(s string) bool { return s == times[0] || s == times[3] })
	if !slices.Equal(kept, want) {
		t.Errorf("kept %v\nwant %v", kept, want)
	}
}

func TestTheStoreFitsIntoItsBudget(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	e := p.open()
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 200<<10)
	var ids []oid.ID
	for range 20 {
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		ids = append(ids, p.snap(e, string(noise), nil).ID)
	}
	dry := p.prune(e, &PruneOptions{MaxStoreSize: 2 << 20, Grace: -1, DryRun: true})
	if len(p.records(e)) != 20 || dry.Freed < 1<<20 {
		t.Errorf("a dry run: %d left, %d bytes", len(p.records(e)), dry.Freed)
	}
	out := p.prune(e, &PruneOptions{MaxStoreSize: 2 << 20, Grace: -1})
	info, err := os.Stat(filepath.Join(e.dir, storeFile))
	p.must(err)
	left := p.records(e)
	if info.Size() > 2<<20 || len(left) < 5 || left[0] != ids[19] || left[len(left)-1] != ids[20-len(left)] {
		t.Errorf("%d bytes with %d snapshots, the oldest dropped first; freed %d", info.Size(), len(left), out.Freed)
	}
	if len(out.Dropped) != len(dry.Dropped) {
		t.Errorf("the dry run said %d, it were %d", len(dry.Dropped), len(out.Dropped))
	}
	p.do(e, Op{To: left[len(left)-1]})
}

func TestAClockThatWasWrongDoesNotTurnTheOrderRound(t *testing.T) {
	year := 365 * 24 * time.Hour
	for _, wrong := range []time.Duration{year, -year} {
		p := newPlace(t, false)
		e := p.open()
		var ids []oid.ID
		for i := range 8 {
			e.now = time.Now
			if i >= 2 && i < 5 {
				e.now = func() time.Time { return time.Now().Add(wrong) }
			}
			ids = append(ids, p.snap(e, fmt.Sprint(i), &SnapshotOptions{Entry: fmt.Sprint(i)}).ID)
		}
		e.now = time.Now
		p.prune(e, &PruneOptions{MaxSnapshots: 6, MaxAge: year / 2, Grace: -1})
		if got := p.records(e); len(got) != 6 || !slices.Equal(got, reversed(ids[2:])) {
			t.Errorf("a clock wrong by %v: of %v stay %v", wrong, ids, got)
		}
		p.prune(e, &PruneOptions{MaxSnapshots: 2, Grace: -1})
		if got := p.records(e); !slices.Equal(got, reversed(ids[6:])) {
			t.Errorf("a clock wrong by %v: of %v stay %v", wrong, ids, got)
		}
	}
}

func reversed(ids []oid.ID) []oid.ID {
	out := slices.Clone(ids)
	slices.Reverse(out)
	return out
}

// noisy puts 12 MiB or more into a new stage and returns what ends it.
func (p *place) noisy(e *Engine) (discard func()) {
	r := rand.New(rand.NewPCG(3, 4))
	g := e.atHand().Stage()
	for range 300 {
		noise := make([]byte, 100<<10)
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		_, err := g.Put(context.Background(), oid.Blob, noise, oid.ID{})
		p.must(err)
	}
	return g.Discard
}

// full takes so many snapshots that the store has about 20 MB, and returns a budget into
// which they fit.
func (p *place) full(e *Engine) *PruneOptions {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 800<<10)
	for range 22 {
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		p.snap(e, string(noise), nil)
	}
	opt := &PruneOptions{MaxStoreSize: 24 << 20, DryRun: true}
	if out := p.prune(e, opt); len(out.Dropped) > 0 {
		p.t.Fatalf("%d snapshots are dropped from the beginning", len(out.Dropped))
	}
	return opt
}

// While another worktree records its first snapshot, or after that was killed, the
// budget of the store is not met by dropping snapshots that fit into it. Nor is it after
// a prune without grace has taken away what is left of that, and written the file anew.
func TestALargeStageBesideAPruneDropsNoSnapshotThatFits(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	e := p.open()
	opt := p.full(e)
	discard := p.noisy(e)
	if out := p.prune(e, opt); len(out.Dropped) > 0 {
		t.Errorf("%d snapshots that fit would be dropped", len(out.Dropped))
	}
	discard()
	before := p.storeBytes(e)
	p.prune(e, &PruneOptions{Grace: -1})
	if p.storeBytes(e) >= before {
		t.Fatal("the file was not written anew")
	}
	if out := p.prune(e, opt); len(out.Dropped) > 0 {
		t.Errorf("%d snapshots that fit would be dropped, now that the file was written anew", len(out.Dropped))
	}
}

func (p *place) storeBytes(e *Engine) int64 {
	info, err := os.Stat(filepath.Join(e.dir, storeFile))
	p.must(err)
	return info.Size()
}

// What a snapshot that failed has written, a prune gives back to the disk.
func TestAPruneGivesBackWhatADiscardedStageHasWritten(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.snap(e, "one", nil)
	p.noisy(e)()
	p.prune(e, &PruneOptions{Grace: -1})
	if size := p.storeBytes(e); size > 2<<20 {
		t.Errorf("the store of one small snapshot has %d bytes after a prune without grace", size)
	}
}

// A file that is mostly free pages is written anew by a prune that has nothing else
// to do, and the prune says what that gave back. One at the start of a program leaves
// that to the next.
func TestAPruneGivesBackFreePages(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.snap(e, "one", nil)
	p.noisy(e)()
	all := e.sweeping(context.Background(), cas.SweepOptions{Grace: -1}, nil)
	_, err := e.atHand().Sweep(context.Background(), all) // a purge that dies before it writes the file anew
	p.must(err)
	before := p.storeBytes(e)
	if out := p.prune(e, &PruneOptions{Startup: true}); out.Freed != 0 || p.storeBytes(e) != before {
		t.Errorf("at the start of a program %d of %d bytes went, %d were said to", before-p.storeBytes(e), before, out.Freed)
	}
	out := p.prune(e, &PruneOptions{})
	if gone := before - p.storeBytes(e); gone < 20<<20 || out.Freed != gone {
		t.Errorf("%d of %d bytes went, %d were said to", gone, before, out.Freed)
	}
}
