package worktree

import (
	"math"
	"time"

	"github.com/seed-82afce7a/rewind/internal/alive"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// boot names this run of the system. The stat table is not synced: after a power loss its
// rows may be of different ages.
var boot = alive.Boot

// When stat data can be believed. Two things make them lie: a second write in
// the same grain of the file system's times, and a write that goes on long
// after it has set the times, which it does at its beginning.

const (
	slackLocal   = 20 * time.Millisecond
	slackUnknown = 2 * time.Second

	// A write in place may still be going on this long after it set the times:
	// so long, and a second for each 10 MB of the file.
	writeTime    = 10 * time.Second
	writePerByte = 100 * time.Nanosecond
	hugeBytes    = 1 << 40 // more do not make it longer

	// Two reads so far apart see a different content of a file that is being
	// written.
	readsApart = 2 * time.Second
)

// young reports whether something may change again without a trace in its
// stat data.
func (s *scan) young(st *dirfd.Stat) bool { return touched(st)+int64(grain(st)) > s.cutoff }

// passed reports whether the clock had passed the times of a file at a moment: a change
// from then on leaves later ones.
func passed(st *dirfd.Stat, at int64) bool { return touched(st)+int64(grain(st)) <= at }

// unsynced is for how long before a loss of power a file may have been touched
// and show so, though its bytes never reached the disk: a file that is written in
// place gets its times from the journal, and its bytes when the kernel comes to
// it, which it begins to do after 30 s (vm.dirty_expire_centisecs).
const unsynced = 2 * time.Minute

// doubtful returns from when on what a table says of files is not believed: it
// was saved before the system was started, which may have lost power.
func doubtful(t *stattable.Table) int64 {
	if at := t.Bound().Boot; t.Saved() != 0 && at != "" && at != boot() {
		return t.Saved() - int64(unsynced)
	}
	return math.MaxInt64
}

// touched is when a file was last changed, by what it shows.
func touched(st *dirfd.Stat) int64 { return max(st.Mtime, st.Ctime) }

// grain is how coarse the times are that a file shows: a file system that has
// whole seconds, or two, shows no fraction. The time of change tells, which
// nobody can set; the other one does where the system has none. Each file
// speaks for itself: file systems differ within a worktree, and on one that
// was converted from an older format files differ.
func grain(st *dirfd.Stat) time.Duration {
	shown := st.Ctime
	if shown == 0 {
		shown = st.Mtime
	}
	for _, g := range []time.Duration{2 * time.Second, time.Second, 10 * time.Millisecond} {
		if shown%int64(g) == 0 {
			return g
		}
	}
	return 1
}

// settle decides whether the bytes that were read are believed as long as the
// stat data stay. They are if they were read long after the file was last
// touched, or if an earlier scan read the same, long enough before; unless
// somebody can store to its pages. Began is when this read began.
func (a *attempt) settle(began int64) {
	if a.st.Mode.Type() != tree.File {
		return // a link is made at once
	}
	o, since := a.old, a.now()
	known := o != nil && !o.Raw.IsZero() && sameStat(o, &a.st)
	switch {
	case known && o.Raw == a.it.Raw && o.Flags&stattable.Fresh == 0, a.quiet && !known:
		return
	case known && o.Raw == a.it.Raw && o.ReadAt <= began:
		if a.quiet || began-o.ReadAt >= int64(readsApart) && !a.stored {
			return
		}
		since = o.ReadAt
	case known: // it changed, and its stat data did not tell
	case began-touched(&a.st) >= writing(a.st.Size) && !a.stored:
		return
	}
	a.doubt(since)
}

// doubt has the next scan read the file again.
func (a *attempt) doubt(readAt int64) {
	a.it.Flags |= stattable.Fresh
	a.it.ReadAt = readAt
}
