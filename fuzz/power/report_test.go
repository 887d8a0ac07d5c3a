//go:build linux

package power

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A report counts what the cuts of a run did, and keeps some examples.
type report struct {
	testing.TB
	asFound             bool // do not mend: no further snapshot is taken
	sessions, cuts, bad int
	promised, damaged   int             // each snapshot is counted after each cut behind it
	distinct            map[string]bool // snapshots that were looked for; true: damaged by some cut
	refused             []string        // what rewind could not do before any cut
	times               map[fault]int   // how often each fault was found
	last                map[fault]int   // the cut in which it was found last
	in                  map[fault]int   // the cuts in which it was found
	examples            map[fault][]string
	saved               bool
}

func newReport(t testing.TB) *report {
	return &report{TB: t, distinct: map[string]bool{}, times: map[fault]int{}, last: map[fault]int{}, in: map[fault]int{}, examples: map[fault][]string{}}
}

// examplesMax is how many breaches of one kind are told in full.
const examplesMax = 3

func (r *report) add(f fault, s *session, c cut, text string) {
	r.times[f]++
	if r.last[f] != r.cuts {
		r.last[f] = r.cuts
		r.in[f]++
	}
	if len(r.examples[f]) < examplesMax {
		r.examples[f] = append(r.examples[f], fmt.Sprintf("%s\n    session %d on %s %q, %v\n    %s", text, s.number, s.sys.name, s.mount, c, s.before(c.at)))
	}
}

// before tells what was done last before a moment, and what was under way.
func (s *session) before(at int) string {
	n := 0
	for n < len(s.done) && s.done[n].at <= at {
		n++
	}
	var out []string
	for _, d := range s.done[max(0, n-8):min(n+1, len(s.done))] {
		out = append(out, fmt.Sprintf("%s (till %d)", d.what, d.at))
	}
	return strings.Join(out, "; ")
}

// keep saves the disk of the first bad cut as the cut left it, if
// REWIND_FUZZ_KEEP names a directory.
func (r *report) keep(s *session, c cut, seed uint64) {
	dir := os.Getenv("REWIND_FUZZ_KEEP")
	if dir == "" || r.saved {
		return
	}
	r.saved = true
	file := filepath.Join(dir, fmt.Sprintf("session%d-cut%d.%s", s.number, c.at, s.sys.name))
	after, err := s.m.cut(s.disk, c, seed) // the same once more: the one that was looked at has changed
	must(r, err)
	must(r, s.m.save(after, file))
	must(r, s.m.remove(after))
	r.Logf("the disk of the first bad cut can be mounted from %s, with -o loop", file)
}

// tell prints the figures, and fails for each kind of fault that was found.
func (r *report) tell() {
	r.Helper()
	hurt := 0
	for _, damaged := range r.distinct {
		if damaged {
			hurt++
		}
	}
	r.Logf("%d sessions, %d cuts, %d of them with faults; %d of %d acknowledged snapshots were damaged by a cut (%d of %d, counted after each cut)",
		r.sessions, r.cuts, r.bad, hurt, len(r.distinct), r.damaged, r.promised)
	for _, f := range slices.Sorted(maps.Keys(r.times)) {
		text := fmt.Sprintf("%s: %d times, in %d of %d cuts, such as\n  %s", f, r.times[f], r.in[f], r.cuts, strings.Join(r.examples[f], "\n  "))
		if f.tolerated() {
			r.Log(text)
		} else {
			r.Error(text)
		}
	}
	if len(r.refused) > 0 {
		slices.Sort(r.refused)
		r.Errorf("before any cut rewind refused %d times, such as\n  %s", len(r.refused), strings.Join(slices.Compact(r.refused)[:min(8, len(slices.Compact(r.refused)))], "\n  "))
	}
}
