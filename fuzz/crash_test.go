//go:build linux && (amd64 || arm64)

package fuzz

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// TestAKillAtAnyDurableStepLosesNothing kills a process before every n-th
// system call that changes a disk, while it records, bridges, restores and
// undoes. What it had acknowledged must be there to the byte, what it had not
// must be absent or whole; the worktree is finished by the next command, or
// brought back by undo; git finds every object, and a lock that was left on our
// ref keeps nobody waiting.
func TestAKillAtAnyDurableStepLosesNothing(t *testing.T) { newSweep(t, 6, 0, record).run() }

// TestAKillDuringALargeSnapshotLosesNothing is the same where the snapshot is so large
// that its contents are written before their rows.
func TestAKillDuringALargeSnapshotLosesNothing(t *testing.T) {
	newSweep(t, 6, 220, record).run()
}

// TestAKillDuringALargeRestoreLosesNothing is the same for a restore of so many
// files, none of them recorded, that its undo is on the way into git before it
// is recorded itself.
func TestAKillDuringALargeRestoreLosesNothing(t *testing.T) { newSweep(t, 80, 0).run() }

// TestAKillDuringAMergeLosesNothing is the same for a merge, of texts and of paths that
// come and go: what no snapshot has must be held until it is on the disk.
func TestAKillDuringAMergeLosesNothing(t *testing.T) { sweepMerge(t, false) }

// TestAKillDuringARestoreThatKeepsMineLosesNothing is the same for a restore that keeps
// what changed since the last snapshot of a turn.
func TestAKillDuringARestoreThatKeepsMineLosesNothing(t *testing.T) { sweepMerge(t, true) }

func sweepMerge(t *testing.T, keepMine bool) {
	s := newSweep(t, 12, 0)
	s.must(os.Rename(s.template(), s.root))
	s.long = s.open()
	r, err := s.long.Snapshot(t.Context(), &engine.SnapshotOptions{Trigger: "turn"})
	s.must(err)
	for i := range s.files {
		name := "d/f" + strconv.Itoa(i)
		text, err := os.ReadFile(s.path(name))
		s.must(err)
		s.write(name, string(text)+"mine\n")
	}
	s.write("mine", "alone")
	if s.args[1] = keptMine; !keepMine {
		s.args[1] = r.ID.String()
	}
	s.before = s.picture(s.root)
	s.must(os.Rename(s.root, s.template()))
	s.begin()
	s.reopen()
	m, err := s.long.Do(t.Context(), journey(s.args))
	s.must(err)
	if s.back = s.picture(s.root); m.Written < s.files || len(m.Conflicts) == 0 || s.back["mine"] == "" {
		t.Fatalf("the merge is none: %+v", m)
	}
	s.must(s.long.Close())
	s.run()
}

// A sweep has the state that every killed process begins with.
type sweep struct {
	*world
	args         []string // of the process: see [travel]
	a            oid.ID   // recorded before
	before, back picture  // what is on disk when the process begins, and what it makes of it
	first        picture  // what a holds
	user         map[string]string
	files        int
}

// newSweep makes a sweep over so many files; noise is how many of 100 KB come after the
// first snapshot.
func newSweep(t *testing.T, files, noise int, first ...string) *sweep {
	w := plain(t, kind{})
	s := &sweep{world: w, files: files}
	s.fill("first")
	w.git("add", "-A")
	w.git("commit", "-qm", "one")
	w.write("run.sh", "untracked")
	w.must(os.Chmod(w.path("run.sh"), 0o755))
	r, err := w.long.Snapshot(t.Context(), nil)
	w.must(err)
	s.a, s.back = r.ID, w.picture(w.root)
	s.args = append([]string{s.a.String(), ""}, first...)
	s.first = s.back
	s.fill("second")
	for i := range noise {
		noise := make([]byte, 100<<10)
		rand.NewChaCha8([32]byte{byte(i)}).Read(noise)
		s.write("noise/f"+strconv.Itoa(i), string(noise))
	}
	w.must(os.Remove(w.path("run.sh")))
	w.write("run.sh/now/a/directory", "x")
	w.must(os.RemoveAll(w.path("gone")))
	w.must(os.MkdirAll(w.path("empty"), 0o700))
	w.must(os.Symlink("f1", w.path("link")))
	s.before, s.user = w.picture(w.root), w.mine()
	w.must(errors.Join(w.long.Close(), os.Rename(w.root, s.template())))
	return s
}

func (s *sweep) template() string { return filepath.Join(s.dir, "template") }

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
	if out, err := exec.Command("cp", "-a", s.template(), s.root).CombinedOutput(); err != nil {
		s.t.Fatalf("cp: %v %s", err, out)
	}
}

// The words of [travel]: keptMine is in the place of the base of a merge.
const (
	record   = "record"
	keptMine = "keep mine"
)

func (s *sweep) run() {
	killed(s.t.(*testing.T), "travel", func(n int) (*world, []string, func(said)) {
		s.begin()
		return s.world, s.args, func(heard said) { s.check(n, heard) }
	})
}

// travel goes to a snapshot and takes that back: the first argument, by a merge of what
// changed since the second, if there is one. With a third it records first.
func travel(ctx context.Context, args []string) {
	e, err := engine.Open(ctx, ".", nil)
	childExit(err)
	if len(args) > 2 {
		r, err := e.Snapshot(ctx, &engine.SnapshotOptions{Label: "B"})
		childExit(err)
		fmt.Println("recorded", r.ID)
	}
	_, err = e.Do(ctx, journey(args))
	childExit(err)
	fmt.Println("restored")
	_, err = e.Do(ctx, engine.Op{Verb: engine.Undo})
	childExit(err)
	fmt.Println("undone")
	childExit(e.Close())
}

func journey(args []string) engine.Op {
	to, err := oid.Parse(args[0])
	childExit(err)
	if args[1] == "" || args[1] == keptMine {
		return engine.Op{To: to, KeepMine: args[1] != ""}
	}
	from, err := oid.Parse(args[1])
	childExit(err)
	return engine.Op{Verb: "revert", Ranges: []engine.Range{{From: from, To: to}}}
}

// check holds what a killed process has left.
func (s *sweep) check(n int, heard said) {
	s.t.Helper()
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
		found = found || p.Differs(now) == ""
	}
	if !found {
		s.fail("unfinished %+v: %s", st.Unfinished, want[0].Differs(now))
	}
	if r.Bridge != nil {
		s.fail("%v", r.Bridge)
	}
	s.whole(heard)
}

// whole holds every snapshot that there is.
func (s *sweep) whole(heard said) {
	s.t.Helper()
	ctx := s.t.Context()
	ids := map[string]picture{s.a.String(): s.first}
	for _, id := range heard["recorded"] {
		ids[id] = s.before
	}
	for id, want := range ids {
		snap, err := s.long.Find(ctx, id)
		s.must(err)
		if d := want.Differs(s.export(s.long, snap)); d != "" {
			s.fail("snapshot %s: %s", id, d)
		}
	}
	if v, err := s.long.Verify(ctx); err != nil || len(v.Damaged) > 0 {
		s.fail("verify: %v %+v", err, v)
	}
	if out, err := s.tryGit("", "fsck", "--connectivity-only"); err != nil {
		s.fail("fsck: %v %s", err, out)
	}
	for id := range ids {
		s.git("cat-file", "-e", id+"^{tree}")
	}
	if now := s.mine(); !maps.Equal(now, s.user) {
		s.fail("the user's git is %q, was %q", now, s.user)
	}
}
