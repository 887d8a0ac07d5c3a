package worktree

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Ignored files that no pattern names are recorded as long as they are small and
// few ([Small]). How many there are in all is known when the scan ends, so it
// begins with what the last one found, and is begun anew where that was wrong.
// What is recorded depends on the files alone, not on what was there before.

// levelsMax is the last level of directories that is told apart: deeper ones
// count as of this level. The root is level 0.
const levelsMax = 15

// A reach says of a directory what is done about its small ignored files.
type reach uint8

const (
	counted  reach = iota // too deep: they are counted by their names
	measured              // and by their sizes
	taken                 // and recorded
)

// levels are the last ones whose small ignored files are measured, and recorded.
type levels struct{ measured, taken int }

// levelsOf reads what [levels.code] makes. Zero stands for all levels.
func levelsOf(code uint8) levels {
	return levels{taken: levelsMax - int(code&levelsMax), measured: levelsMax - int(code>>4)}
}

func (b levels) code() uint8 { return uint8(levelsMax-b.taken) | uint8(levelsMax-b.measured)<<4 }

func levelOf(depth int) int { return min(depth, levelsMax) }

// of returns the reach of a directory.
func (b levels) of(depth int) reach {
	switch level := levelOf(depth); {
	case level <= b.taken:
		return taken
	case level <= b.measured:
		return measured
	}
	return counted
}

// A tally counts the small ignored files of a worktree by level.
type tally struct {
	files, bytes [levelsMax + 1]atomic.Int64
}

// levels returns down to which level the files fit into the limits.
func (t *tally) levels(limits *Small) levels {
	return levels{
		measured: fitting(&t.files, int64(limits.Files)),
		taken:    min(fitting(&t.bytes, limits.Bytes), fitting(&t.files, int64(limits.Files))),
	}
}

// fitting returns the last level down to which a sum is within a limit.
func fitting(count *[levelsMax + 1]atomic.Int64, limit int64) int {
	sum := int64(0)
	for level := range count {
		if sum += count[level].Load(); sum > limit {
			return max(level-1, 0)
		}
	}
	return levelsMax
}

// scansMax is how often a scan is begun anew, because there are more or fewer
// small ignored files than it took for granted, before it is content.
const scansMax = 2 * (levelsMax + 1)

// errLevels ends a scan that has met more small ignored files than it took for
// granted.
var errLevels = errors.New("more small ignored files than the last time")

// tallied counts what a directory has of them, and ends the scan if that is more
// than it was begun for. A scan of changes counts how that differs from what
// its row had.
func (s *scan) tallied(n *node, now stattable.Small) {
	if s.small == nil {
		return
	}
	if s.cfg.Only != nil {
		now.Sub(n.row.Small())
		s.grown.files.Add(now.Files)
		s.grown.bytes.Add(now.Bytes)
		if now != (stattable.Small{}) || n.reach == measured && now.Files > 0 {
			s.grown.other.Store(true)
		}
		return
	}
	if now.Files == 0 {
		return
	}
	level := levelOf(n.depth)
	s.tally.files[level].Add(now.Files)
	if n.reach != counted {
		s.tally.bytes[level].Add(now.Bytes)
	}
	if now := s.tally.levels(s.small); now.measured < s.levels.measured || now.taken < s.levels.taken {
		s.fail(errLevels)
	}
}

// A growth is how a scan of changes differs from the rows that it is based on.
type growth struct {
	files, bytes atomic.Int64
	other        atomic.Bool // in some directory
}

// settled returns the levels that follow from what a scan has counted, and whether
// they are those that it went by. A scan of changes has not counted all: it
// tells only whether all is as it was, or fits into the limits for certain.
func (s *scan) settled() (now levels, ok bool) {
	switch {
	case s.small == nil:
		return s.levels, true
	case s.cfg.Only == nil:
		now = s.tally.levels(s.small)
		return now, now == s.levels
	case s.levels == levelsOf(0):
		all := s.cfg.StatTable.Small()
		all.Add(stattable.Small{Files: s.grown.files.Load(), Bytes: s.grown.bytes.Load()})
		return s.levels, all.Files <= int64(s.small.Files) && all.Bytes <= s.small.Bytes
	}
	return s.levels, !s.grown.other.Load() && len(s.result.lost) == 0
}

// beginLevels is what the last scan has found.
func (s *scan) beginLevels() levels {
	if row, _, ok := s.cfg.StatTable.Row(""); ok {
		return levelsOf(row.Head().Levels)
	}
	return levelsOf(0)
}

// smallIn returns the limits that hold in a directory, nil if none of its ignored
// files is recorded without being named.
func (w *worker) smallIn(n *node) *Small {
	if n.ignored || n.all || n.trackedOnly() {
		return nil
	}
	return w.small
}

// deferred reports whether a file is ignored and waits for the others of its
// directory.
func (l *listing) deferred(f *candidate) bool {
	if !f.ignored || f.forced || f.rule || l.smallIn(l.n) == nil || l.small.Product(f.name) {
		return false
	}
	if place, _ := l.placeOf(tree.Join(l.n.path, f.name), false, true, 0); place != Usual {
		return false
	}
	l.waiting = append(l.waiting, f.name)
	return true
}

// takeSmall records the ignored files of the directory that wait, as far as the
// limits go.
func (l *listing) takeSmall() error {
	limits, count := l.small, len(l.waiting)
	if count == 0 || count > limits.DirFiles {
		l.tallied(l.n, stattable.Small{})
		return nil
	}
	l.into.head.Unasked = count
	var names []string
	var bytes int64
	if l.n.reach != counted {
		names, bytes = l.smallest(limits)
	}
	l.tallied(l.n, stattable.Small{Files: int64(count), Bytes: bytes})
	if l.n.reach != taken {
		if len(names) > 0 {
			l.into.head.Flags |= stattable.Retry // their sizes count
		}
		return nil
	}
	for _, name := range names {
		f := &l.one
		*f = candidate{name: name, ignored: true, unasked: true, sameAttrs: l.sameAttrs, sameIndex: l.sameIndex, into: l.into, old: l.before(name)}
		f.tracked, _ = l.known.file(name)
		ok, err := l.capture(l.n, l.dir, f)
		if err == nil && ok {
			l.see(name)
			err = l.keepBelow(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// smallest returns the names of the waiting files that are small enough, in
// order, and how many bytes they have. While there are others the directory is
// looked at again by each scan: they may shrink.
func (l *listing) smallest(limits *Small) (names []string, bytes int64) {
	type sized struct {
		name string
		size int64
	}
	var files []sized
	for _, name := range l.waiting {
		l.worker.count.Stats++
		if st, err := l.dir.Lstat(name); err == nil && fileOrLink(&st) && st.Size <= limits.FileBytes {
			files = append(files, sized{name, st.Size})
		}
	}
	slices.SortFunc(files, func(a, b sized) int { return cmp.Or(cmp.Compare(a.size, b.size), strings.Compare(a.name, b.name)) })
	for _, f := range files {
		if bytes+f.size > limits.DirBytes {
			break
		}
		bytes += f.size
		names = append(names, f.name)
	}
	if len(names) < len(l.waiting) {
		l.into.head.Flags |= stattable.Retry
	}
	slices.Sort(names)
	return names, bytes
}

func fileOrLink(st *dirfd.Stat) bool {
	kind := st.Mode.Type()
	return kind == tree.File || kind == tree.Symlink
}
