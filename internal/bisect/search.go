package bisect

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Verdict is what is known of a snapshot.
type Verdict string

// The verdicts.
const (
	Good    Verdict = "good"    // it works there
	Bad     Verdict = "bad"     // it fails there
	Skipped Verdict = "skipped" // that cannot be told there
)

// A search is the range between the last snapshot that is good and the first that
// is bad. It knows no files.
type search struct {
	list     []*engine.Snapshot // oldest first; the ends are the first and the last
	verdicts []Verdict
}

// ErrRange is reported of two snapshots that are no ends of a bisect.
var ErrRange = errors.New("no range to search")

// newSearch takes the snapshots between the ends, in the order in which this
// worktree recorded them. Of neighbours whose files are equal within the paths it
// takes the first.
func newSearch(ctx context.Context, e *engine.Engine, good, bad *engine.Snapshot, paths []string) (*search, error) {
	all, err := e.List(ctx, nil)
	if err != nil {
		return nil, err
	}
	slices.Reverse(all)
	from, err := indexIn(all, good)
	if err != nil {
		return nil, err
	}
	to, err := indexIn(all, bad)
	if err != nil {
		return nil, err
	}
	switch {
	case from == to:
		return nil, fmt.Errorf("%w: %s is both the good and the bad end", ErrRange, good.ID.Short())
	case from > to:
		return nil, fmt.Errorf("%w: the good end %s was recorded after the bad end %s; the good one has to be the older", ErrRange, good.ID.Short(), bad.ID.Short())
	}
	s := &search{list: []*engine.Snapshot{all[from]}}
	differ := comparer{e: e, paths: paths}
	for _, next := range all[from+1 : to+1] {
		if next != all[to] && (next.OfRestore() || next.Lost != "") {
			continue // nobody recorded it on purpose, or it cannot be restored
		}
		different, err := differ.between(ctx, s.list[len(s.list)-1], next)
		if err != nil {
			return nil, err
		}
		if different {
			s.list = append(s.list, next)
		}
	}
	if err := differ.missing(); err != nil {
		return nil, err
	}
	if len(s.list) == 1 {
		return nil, fmt.Errorf("%w: nothing differs between %s and %s%s", ErrRange, good.ID.Short(), bad.ID.Short(), within(paths))
	}
	last := len(s.list) - 1
	if same(s.list[0], s.list[last]) {
		return nil, fmt.Errorf("%w: %s and %s have the same files", ErrRange, good.ID.Short(), bad.ID.Short())
	}
	s.verdicts = make([]Verdict, len(s.list))
	for i, t := range s.list { // the files of an end may have come back in between
		switch {
		case same(t, s.list[0]):
			s.verdicts[i] = Good
		case same(t, s.list[last]):
			s.verdicts[i] = Bad
		}
	}
	return s, nil
}

// same reports whether two snapshots hold the same.
func same(a, b *engine.Snapshot) bool { return a.Tree == b.Tree && a.Overlay == b.Overlay }

func within(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return " within the paths"
}

// indexIn finds an end among the snapshots of the worktree.
func indexIn(all []*engine.Snapshot, end *engine.Snapshot) (int, error) {
	i := slices.IndexFunc(all, func(s *engine.Snapshot) bool { return s.ID == end.ID })
	if i < 0 {
		return 0, fmt.Errorf("%w: %s was not recorded in this worktree", ErrRange, end.ID.Short())
	}
	return i, nil
}

// A comparer tells whether snapshots differ within paths.
type comparer struct {
	e     *engine.Engine
	paths []string
	met   map[string]bool // paths that some snapshot has
	last  error           // why one was not
}

func (c *comparer) between(ctx context.Context, a, b *engine.Snapshot) (bool, error) {
	if same(a, b) && len(c.met) == len(c.paths) {
		return false, nil
	}
	if len(c.paths) == 0 {
		return true, nil
	}
	if c.met == nil {
		c.met = map[string]bool{}
	}
	different := false
	for _, path := range c.paths {
		d, err := c.e.Diff(ctx, a, b, []string{path})
		if errors.Is(err, engine.ErrNoSnapshot) {
			c.last = err
			continue
		}
		if err != nil {
			return false, err
		}
		c.met[path] = true
		different = different || len(d.Changes) > 0
	}
	return different, nil
}

// missing is an error if no snapshot has one of the paths.
func (c *comparer) missing() error {
	for _, path := range c.paths {
		if !c.met[path] {
			return c.last
		}
	}
	return nil
}

// bounds returns the last snapshot that is good with nothing bad before it, and
// the first one behind it that is bad.
func (s *search) bounds() (good, bad int) {
	bad = slices.Index(s.verdicts, Bad)
	for i := range bad {
		if s.verdicts[i] == Good {
			good = i
		}
	}
	return good, bad
}

// next returns the snapshot to test: the one nearest to the middle of those of
// which nothing is known. Left is how many there are; none: the search has ended.
func (s *search) next() (at, left int) {
	good, bad := s.bounds()
	middle, best := (good+bad)/2, -1
	for i := good + 1; i < bad; i++ {
		if s.verdicts[i] != "" {
			continue
		}
		left++
		if best < 0 || distance(i, middle) < distance(best, middle) {
			best = i
		}
	}
	return best, left
}

func distance(a, b int) int { return max(a-b, b-a) }

// mark takes a verdict. It counts for every snapshot with the same files.
func (s *search) mark(id oid.ID, v Verdict) error {
	at := slices.IndexFunc(s.list, func(t *engine.Snapshot) bool { return t.ID == id })
	if at < 0 {
		return fmt.Errorf("%w: %s is not among the snapshots that are searched", ErrRange, id.Short())
	}
	last := len(s.list) - 1
	if v == Skipped && (at == 0 || at == last) {
		return fmt.Errorf("%w: %s is an end of the search, which cannot be skipped; begin anew with other ends", ErrRange, id.Short())
	}
	good, bad := s.bounds()
	switch {
	case v == Good && at >= bad:
		return fmt.Errorf("%w: %s cannot be good, for %s is bad; begin anew with other ends", ErrRange, id, s.list[bad].ID)
	case v == Bad && at <= good:
		return fmt.Errorf("%w: %s cannot be bad, for %s is good; begin anew with other ends", ErrRange, id, s.list[good].ID)
	}
	for i, t := range s.list {
		if i == at || i > 0 && i < last && same(t, s.list[at]) {
			s.verdicts[i] = v
		}
	}
	return nil
}

// steps is about how many snapshots are still to be tested, where so many are left.
func steps(left int) (n int) {
	for ; left > 0; left /= 2 {
		n++
	}
	return n
}
