//go:build linux

package power

import (
	"math/rand/v2"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/seed"
)

// A kind of session: with git or without, and on what.
type kind struct {
	git   bool
	sys   system
	mount string // options
	calm  bool   // git throws nothing away
}

// The power is cut after so many moments of one session, and so often in a usual run.
const (
	cutsOfSession = 10
	usualCuts     = 20
)

// TestAPowerLossUnderGitTakesNothingAcknowledged cuts the power under a user's
// git and rewind in one repository.
func TestAPowerLossUnderGitTakesNothingAcknowledged(t *testing.T) {
	losePower(t, true)
}

// TestAPowerLossWithoutGitTakesNothingAcknowledged is the same where the store
// is alone.
func TestAPowerLossWithoutGitTakesNothingAcknowledged(t *testing.T) {
	losePower(t, false)
}

func losePower(t *testing.T, git bool) {
	m := start(t)
	n := seed.Times(usualCuts)
	r := newReport(t)
	first := seed.Of(t)
	defer r.tell()
	all := systems(t)
	for number := 0; number*cutsOfSession < n; number++ {
		rng := rand.New(rand.NewPCG(first, uint64(number)))
		k := kind{git: git, sys: all[number%len(all)]}
		if k.sys.name == ext4.name { // how often the journal goes to the disk by itself
			k.mount = []string{"data=ordered", "data=ordered,commit=1", "data=ordered,commit=300"}[rng.IntN(3)]
		}
		s := record(t, m, k, number, rng)
		r.sessions++
		r.refused = append(r.refused, s.refused...)
		if len(s.marks) == 0 {
			continue
		}
		for _, c := range s.cuts(min(cutsOfSession, n-number*cutsOfSession), rng) {
			m.check(s, c, rng.Uint64(), r)
		}
		must(t, m.remove(s.disk))
		t.Logf("session %d on %s %q: %d steps, %d acknowledged, %d events; till now %d cuts, %d with faults",
			number, k.sys.name, k.mount, len(s.done), len(s.promises), s.end, r.cuts, r.bad)
	}
}
