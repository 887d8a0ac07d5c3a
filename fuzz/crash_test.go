//go:build linux && (amd64 || arm64)

package fuzz

import (
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// TestAKillAtAnyDurableStepLosesNothing kills a process before every n-th
// system call that changes a disk, while it records, bridges, restores and
// undoes. What it had acknowledged must be there to the byte, what it had not
// must be absent or whole; the worktree is finished by the next command, or
// brought back by undo; git finds every object, and a lock that was left on our
// ref keeps nobody waiting. REWIND_FUZZ_EVERY=1 tries every
// call; the usual run tries some, as [someOf] chooses them, for about four seconds.
func TestAKillAtAnyDurableStepLosesNothing(t *testing.T) { newSweep(t, 6, false).sweep() }

// TestAKillDuringALargeSnapshotLosesNothing is the same where the snapshot is so large
// that its contents are written before their rows.
func TestAKillDuringALargeSnapshotLosesNothing(t *testing.T) {
	prepareSweep(t, &sweep{files: 6, noise: 220}).sweep()
}

// TestAKillDuringALargeRestoreLosesNothing is the same for a restore of so many
// files, none of them recorded, that its undo is on the way into git before it
// is recorded itself.
func TestAKillDuringALargeRestoreLosesNothing(t *testing.T) { newSweep(t, 80, true).sweep() }

// TestAKillDuringAMergeLosesNothing is the same for a merge, of texts and of paths that
// come and go: what no snapshot has must be held until it is on the disk.
func TestAKillDuringAMergeLosesNothing(t *testing.T) { sweepMerge(t, false) }

// TestAKillDuringARestoreThatKeepsMineLosesNothing is the same for a restore that keeps
// what changed since the last snapshot of a turn.
func TestAKillDuringARestoreThatKeepsMineLosesNothing(t *testing.T) { sweepMerge(t, true) }

func sweepMerge(t *testing.T, keepMine bool) {
	s := newSweep(t, 12, true)
	s.keepMine = keepMine
	s.must(os.Rename(filepath.Join(s.dir, "template"), s.root))
	s.reopen()
	r, err := s.long.Snapshot(t.Context(), &engine.SnapshotOptions{Trigger: "turn"})
	s.must(err)
	for i := range s.files {
		name := "d/f" + strconv.Itoa(i)
		text, err := os.ReadFile(s.path(name))
		s.must(err)
		s.write(name, string(text)+"mine\n")
	}
	s.write("mine", "alone")
	s.base, s.before = r.ID, s.picture(s.root)
	s.must(os.Rename(s.root, filepath.Join(s.dir, "template")))
	s.begin()
	s.reopen()
	var m *engine.Restored
	if keepMine {
		m, err = s.long.Do(t.Context(), engine.Op{To: s.a, KeepMine: true})
	} else {
		m, err = s.long.Do(t.Context(), engine.Op{Verb: "revert", Spans: []engine.Span{{From: s.base, To: s.a}}})
	}
	s.must(err)
	if s.back = s.picture(s.root); m.Written < s.files || len(m.Conflicts) == 0 || s.back["mine"] == "" {
		t.Fatalf("the merge is none: %+v", m)
	}
	s.sweep()
}

func (s *sweep) sweep() {
	t := s.t
	last := s.run(0)
	total, err := strconv.Atoi(strings.Join(last["calls"], ""))
	if err != nil {
		t.Fatalf("the child did not come to its end: %v", last)
	}
	if every := number("REWIND_FUZZ_EVERY", 0); every > 0 {
		for n := 1; n <= total; n += every {
			s.check(n, s.run(n))
		}
		return
	}
	seed := seed.Of(t)
	t.Logf("%d durable calls, killed before some of them; seed %d", total, seed)
	for n := range someOf(total, rand.New(rand.NewPCG(seed, 2)), 4*time.Second) {
		s.check(n+1, s.run(n+1))
	}
}

// someOf chooses among the calls before which a process is killed, until a time is over,
// but at least five. They are spread: after each, the gaps between those that were
// chosen differ little, so that few of them reach every part of the work. Each is
// chosen once. REWIND_FUZZ_EVERY=1 chooses all.
func someOf(total int, random *rand.Rand, lasting time.Duration) iter.Seq[int] {
	deadline := time.Now().Add(bounded(lasting))
	every := number("REWIND_FUZZ_EVERY", 0) > 0
	return func(yield func(int) bool) {
		step := total * 618 / 1000 // the golden section spreads best
		for step = max(step, 1); gcd(step, total) > 1; step++ {
		}
		n := random.IntN(max(total, 1))
		for i := range total {
			if !every && i >= 5 && time.Now().After(deadline) || !yield(n) {
				return
			}
			n = (n + step) % total
		}
	}
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

func TestFewOfTheCallsReachEveryPart(t *testing.T) {
	for _, total := range []int{1, 2, 4, 8, 33, 135, 261, 1345} {
		chosen := make([]bool, total)
		i, parts := 0, map[int]bool{}
		for n := range someOf(total, rand.New(rand.NewPCG(uint64(total), 2)), time.Hour) {
			if chosen[n] {
				t.Fatalf("call %d of %d is chosen twice", n, total)
			}
			chosen[n] = true
			if i++; i <= 5 {
				parts[n*4/total] = true
			}
		}
		if i != total || len(parts) < min(4, total) {
			t.Errorf("of %d calls %d are chosen, and the first five lie in the quarters %v", total, i, parts)
		}
	}
}

// A sweep has the state that every killed process begins with.
type sweep struct {
	*world
	a            oid.ID  // recorded before
	base         oid.ID  // of what changed from there to a, a merge; zero: it is a restore of a
	before, back picture // what is on disk when the child begins, and what it makes of it
	first        picture // what a holds
	user         map[string]string
	files        int
	noise        int  // files of 100 KB that come after the first snapshot
	sudden       bool // the child restores at once
	keepMine     bool // and keeps what changed since the base
}

func newSweep(t *testing.T, files int, sudden bool) *sweep {
	return prepareSweep(t, &sweep{files: files, sudden: sudden})
}

func prepareSweep(t *testing.T, s *sweep) *sweep {
	w := plain(t, kind{})
	s.world = w
	s.fill("first")
	w.git("add", "-A")
	w.git("commit", "-qm", "one")
	w.write("run.sh", "untracked")
	w.must(os.Chmod(w.path("run.sh"), 0o755))
	r, err := w.long.Snapshot(t.Context(), nil)
	w.must(err)
	s.a, s.back = r.ID, w.picture(w.root)
	s.first = s.back
	s.fill("second")
	for i := range s.noise {
		random := rand.NewChaCha8([32]byte{byte(i)})
		noise := make([]byte, 100<<10)
		random.Read(noise)
		s.write("noise/f"+strconv.Itoa(i), string(noise))
	}
	w.must(os.Remove(w.path("run.sh")))
	w.write("run.sh/now/a/directory", "x")
	w.must(os.RemoveAll(w.path("gone")))
	w.must(os.MkdirAll(w.path("empty"), 0o700))
	w.must(os.Symlink("f1", w.path("link")))
	s.before, s.user = w.picture(w.root), w.mine()
	w.must(os.Rename(filepath.Join(w.dir, "tree"), filepath.Join(w.dir, "template")))
	return s
}

// fill writes files that differ by the word.
func (s *sweep) fill(word string) {
	for i := range s.files {
		s.write("d/f"+strconv.Itoa(i), word+strings.Repeat(" line\n", i%6*40))
	}
	s.write("same", "always")
	s.write("gone/"+word, word)
}

// begin makes the state that every process begins with.
func (s *sweep) begin() {
	s.t.Helper()
	s.must(os.RemoveAll(s.root))
	if out, err := exec.Command("cp", "-a", filepath.Join(s.dir, "template"), s.root).CombinedOutput(); err != nil {
		s.t.Fatalf("cp: %v %s", err, out)
	}
}

// keptMine says to the child that it is to restore, and to keep what changed since.
const keptMine = "keep mine"

// merged is the base of a merge for the child, "" for none.
func (s *sweep) merged() string {
	switch {
	case s.base.IsZero():
		return ""
	case s.keepMine:
		return keptMine
	}
	return s.base.String()
}

// run begins from the same state again and kills the child before its n-th
// durable call; it comes to its end if there are not so many.
func (s *sweep) run(n int) said {
	s.t.Helper()
	s.begin()
	heard := s.child("travel", s.root, "REWIND_FUZZ_DIE="+strconv.Itoa(n), "REWIND_FUZZ_TARGET="+s.a.String(), "REWIND_FUZZ_SUDDEN="+strconv.FormatBool(s.sudden), "REWIND_FUZZ_MERGE="+s.merged())
	if why := heard["unsupported"]; why != nil {
		s.t.Skipf("NOT TESTED: the system does not report system calls: %v", why)
	}
	if why := heard["error"]; why != nil {
		s.t.Fatalf("killed before call %d: %v", n, why)
	}
	return heard
}

// check holds what a killed process has left.
func (s *sweep) check(n int, heard said) {
	s.t.Helper()
	s.reopen()
	ctx := s.t.Context()
	st, err := s.long.Status(ctx)
	s.must(err)
	want := []picture{s.before}
	switch {
	case st.Unfinished != nil && n%2 == 0: // undo takes back what is half done
		kind := st.Unfinished.Kind
		_, err := s.long.Do(ctx, engine.Op{Verb: engine.Undo})
		s.must(err)
		if kind == "undo" {
			want = []picture{s.before, s.back}
		}
	case st.Unfinished != nil: // the next command finishes it
		if st.Unfinished.To == s.a {
			want = []picture{s.back}
		}
	case heard["restored"] != nil && heard["undone"] == nil:
		want = []picture{s.back, s.before}
	default:
		want = []picture{s.before, s.back}
	}
	s.write("new", strconv.Itoa(n)) // so that the ref has to move
	r, err := s.long.Snapshot(ctx, nil)
	s.must(err)
	s.must(os.Remove(s.path("new")))
	now := s.picture(s.root)
	var found bool
	for _, p := range want {
		found = found || p.differs(now) == ""
	}
	if !found {
		s.t.Fatalf("killed before call %d (%v, unfinished %+v): %s", n, heard, st.Unfinished, want[0].differs(now))
	}
	if r.Bridge != nil {
		s.t.Errorf("killed before call %d: %v", n, r.Bridge)
	}
	s.whole(n, heard)
}

// whole holds every snapshot that there is.
func (s *sweep) whole(n int, heard said) {
	s.t.Helper()
	ctx := s.t.Context()
	ids := map[string]picture{s.a.String(): s.first}
	for _, id := range heard["recorded"] {
		ids[id] = s.before
	}
	for id, want := range ids {
		snap, err := s.long.Resolve(ctx, id)
		s.must(err)
		if d := want.differs(s.export(s.long, snap)); d != "" {
			s.t.Errorf("killed before call %d: snapshot %s: %s", n, id, d)
		}
	}
	if v, err := s.long.Verify(ctx); err != nil || len(v.Damaged) > 0 {
		s.t.Errorf("killed before call %d: verify: %v %+v", n, err, v)
	}
	if out, err := s.tryGit("", "fsck", "--connectivity-only"); err != nil {
		s.t.Errorf("killed before call %d: fsck: %v %s", n, err, out)
	}
	for id := range ids {
		s.git("cat-file", "-e", id+"^{tree}")
	}
	if now := s.mine(); !maps.Equal(now, s.user) {
		s.t.Errorf("killed before call %d: the user's git is %q, was %q", n, now, s.user)
	}
}
