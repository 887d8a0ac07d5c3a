//go:build linux

package power

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A session is a user's work on a disk: what was done when, and what was
// promised. A moment is a position in the disk's log.
type session struct {
	*world
	rng    *rand.Rand
	disk   uint64
	m      *machine
	number int
	sys    system
	mount  string // options
	calm   bool   // git throws nothing away

	promises []*promise
	kept     []kept
	marks    []int    // the moments at which something was promised
	done     []step   // newest last
	refused  []string // what rewind could not do before any cut
	end      int      // of the log
	names    int      // of files made so far
	linked   int      // of worktrees made so far
}

// never is a moment that does not come.
const never = math.MaxInt

// A step is one thing that was done, and when it had ended.
type step struct {
	what string
	at   int
}

// A promise is a snapshot that rewind acknowledged.
type promise struct {
	id    string
	now   string // its id since it was purged
	verb  string
	begun int       // when the program was started
	since int       // when it had ended
	until int       // when a prune began that dropped it; 0: never
	wants []version // oldest first
}

// A version is what a snapshot must hold, once a purge that changed it ended.
type version struct {
	begun, since int
	want         picture
}

// may gives what a promised snapshot may hold after a cut: more than one
// picture if the cut fell into a purge, and none if nothing is promised.
func (p *promise) may(at int) []picture {
	if p.since > at || p.until > 0 && p.until <= at {
		return nil
	}
	var out []picture
	for _, v := range p.wants {
		if v.since <= at {
			out = out[:0]
		}
		if v.begun <= at {
			out = append(out, v.want)
		}
	}
	return out
}

// A kept is a commit of the user that git had made durable, with all it reaches.
type kept struct {
	commit       string
	since, until int
}

// record begins a session on a new disk and lets it work for some turns.
func record(t testing.TB, m *machine, kind kind, number int, rng *rand.Rand) *session {
	t.Helper()
	s := &session{world: newWorld(t, m, kind.git), m: m, rng: rng, number: number, sys: kind.sys, mount: kind.mount, calm: kind.calm}
	var err error
	s.disk, err = m.newDisk(s.sys)
	must(t, err)
	must(t, m.mount(s.disk, s.sys, s.mount))
	defer func() { must(t, m.unmount()) }()
	s.build()
	if s.any() == "" {
		t.Fatal("no file is found that a step could edit")
	}
	s.run("", "sync", "-f", s.mnt)
	must(t, m.record(s.disk))
	for range 8 + rng.IntN(8) {
		for range rng.IntN(5) {
			a := s.pick()
			a.do(s)
			s.note("%s", a.name)
		}
		s.turn()
	}
	s.end = s.now()
	return s
}

// now is the moment.
func (s *session) now() int {
	s.Helper()
	at, err := s.m.position(s.disk)
	must(s, err)
	return at
}

// build makes a worktree with some files, in a repository most of them committed.
func (s *session) build() {
	s.Helper()
	for _, dir := range []string{"home", "state", "work"} {
		must(s, os.Mkdir(filepath.Join(s.mnt, dir), 0o755))
	}
	for range 12 {
		s.write(s.freshName(), text(s.rng))
	}
	if !s.git {
		return
	}
	s.mustGit("init", "-q", "-b", "main")
	s.mustGit("config", "gc.auto", "0")
	if s.rng.IntN(4) == 0 {
		s.mustGit("config", "core.fsync", "all")
	}
	s.mustGit("add", "-A")
	s.mustGit("commit", "-q", "-m", "first")
	if s.rng.IntN(2) == 0 {
		s.mustGit("gc", "-q")
	}
	s.write(s.freshName(), text(s.rng))
}

// freshName is a path that was never used.
func (s *session) freshName() string {
	s.names++
	dir := []string{"", "", "src/", "src/deep/er/", "doc/"}[s.rng.IntN(5)]
	return fmt.Sprintf("%sf%d.txt", dir, s.names)
}

// tryGit does what a user does with git; it may fail.
func (s *session) tryGit(args ...string) finished {
	s.Helper()
	return s.run("", "git", args...)
}

func (s *session) mustGit(args ...string) string {
	s.Helper()
	f := s.tryGit(args...)
	if f.code != 0 {
		s.Fatalf("git %q: %s", args, f.said())
	}
	return strings.TrimSpace(f.out)
}

// note remembers what was done.
func (s *session) note(format string, args ...any) {
	s.done = append(s.done, step{fmt.Sprintf(format, args...), s.now()})
}

// turn is what the agent does at the end of its turn: one call of rewind, and
// what that acknowledges is promised from then on.
func (s *session) turn() {
	s.Helper()
	target := s.anyPromise()
	switch n := s.rng.IntN(100); {
	case n < 70 || target == nil:
		s.take("snapshot", "snapshot", "--json")
	case n < 80:
		s.take("restore", "restore", target.id, "--yes", "--json")
	case n < 86:
		s.take("undo", "undo", "--yes", "--json")
	case n < 90:
		s.take("redo", "redo", "--yes", "--json")
	case n < 95:
		s.prune()
	default:
		s.purge()
	}
}

// take runs what records the worktree as it is now.
func (s *session) take(verb string, args ...string) {
	s.Helper()
	now, begun := s.look(), s.now()
	f := s.rewind(args...)
	id := f.ID
	if verb != "snapshot" {
		id = f.Undo
	}
	done := f.code == 0 || verb != "snapshot" && f.code == 5
	s.note("rewind %s: %.12s, exit %d", strings.Join(args, " "), id, f.code)
	switch {
	case done && id != "":
		s.promise(verb, id, begun, now)
	case !done && !strings.Contains(f.errors, "nothing to "):
		s.refused = append(s.refused, verb+": "+f.said())
	}
}

// promise remembers what was just acknowledged.
func (s *session) promise(verb, id string, begun int, now picture) {
	at := s.now()
	s.marks = append(s.marks, at)
	s.promises = append(s.promises, &promise{id: id, now: id, verb: verb, begun: begun, since: at, wants: []version{{want: now}}})
}

// nameOf names a snapshot among those of all sessions.
func (s *session) nameOf(p *promise) string { return fmt.Sprint(s.number, " ", p.id) }

// anyPromise is a snapshot that must still be there, if there is any.
func (s *session) anyPromise() *promise {
	var there []*promise
	for _, p := range s.promises {
		if p.until == 0 {
			there = append(there, p)
		}
	}
	if len(there) == 0 {
		return nil
	}
	return there[s.rng.IntN(len(there))]
}

// prune drops snapshots. From its beginning on they may be gone.
func (s *session) prune() {
	s.Helper()
	begun := s.now()
	f := s.rewind("prune", "--json", "--max-snapshots", fmt.Sprint(2+s.rng.IntN(5)), "--grace", []string{"0s", "24h"}[s.rng.IntN(2)])
	s.note("rewind prune: %d dropped, exit %d", len(f.Dropped), f.code)
	if f.code != 0 {
		s.refused = append(s.refused, "prune: "+f.said())
	}
	for _, p := range s.promises {
		for _, d := range f.Dropped {
			if p.until == 0 && p.now == d.ID {
				p.until = max(begun, 1)
			}
		}
	}
}

// purge takes a file out of every snapshot. While it runs both may be found;
// once it has ended the content must not come back.
func (s *session) purge() {
	s.Helper()
	rel := s.anyFile(func(rel string) bool { return !strings.Contains(rel, "/") })
	if rel == "" {
		return
	}
	begun := s.now()
	f := s.rewind("purge", rel, "--yes", "--json")
	at := s.now()
	s.note("rewind purge %s: exit %d", rel, f.code)
	recorded := false // otherwise exit 3 is right: no snapshot has it
	for _, p := range s.promises {
		last := p.wants[len(p.wants)-1].want
		if _, there := last[rel]; there {
			recorded = true
			since := at
			if f.code != 0 {
				since = never // it may have been done or not
			}
			p.wants = append(p.wants, version{begun, since, last.Without(rel)})
		}
		if f := s.rewind("show", p.id, "--json"); p.until == 0 && f.code == 0 {
			p.now = f.ID
		}
	}
	if f.code != 0 && (recorded || f.code != 3) {
		s.refused = append(s.refused, "purge: "+f.said())
	}
	s.marks = append(s.marks, at)
}

// anyFile gives a regular file of the worktree that a function likes, or "".
func (s *session) anyFile(like func(rel string) bool) string {
	var files []string
	for rel, line := range s.look() {
		if strings.HasPrefix(line, "-") && like(rel) {
			files = append(files, rel)
		}
	}
	if len(files) == 0 {
		return ""
	}
	slices.Sort(files) // the order of a map is random, but not ours
	return files[s.rng.IntN(len(files))]
}
