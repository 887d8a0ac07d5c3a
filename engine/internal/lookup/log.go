package lookup

import (
	"context"
	"path"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/changes"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Touch is one snapshot that changed a file or directory.
type Touch struct {
	Snapshot *records.Snapshot
	Base     *records.Snapshot // what it is compared with; nil: nothing came before
	Path     string            // what the file or directory was called there
	Status   byte              // git's letter; R: it was called From before, with the same content
	From     string

	// Sum is what the snapshot changed at the path and below it; nil where that is
	// not known, as of the first of a history, which has all of it.
	Sum *changes.Changed
}

// logPage is how many snapshots are looked at between two questions to the store.
const logPage = 64

// Log returns the snapshots of this worktree that changed a file or directory, newest
// first, at most so many (0: all). Where it has another name in an older snapshot and
// the same content, the older ones are those of that name. A path that was never there
// has none.
func (r *Reader) Log(ctx context.Context, name string, limit int) (log []Touch, err error) {
	l := &logging{r: r, compare: r.comparer(ctx, nil), bases: bases{r: r}}
	older := oid.ID{}
	for {
		n := logPage
		if limit > 0 {
			n = min(n, limit-len(log))
		}
		list, err := r.List(ctx, &Options{Paths: []string{":(literal)" + name}, Older: older, Limit: n})
		if err != nil {
			return log, err
		}
		if err := l.tell(ctx, list); err != nil {
			return log, err
		}
		renamed := false
		for _, s := range list {
			t, err := l.touch(ctx, s, name)
			if err != nil {
				return log, err
			}
			log, older = append(log, t), s.ID
			if renamed = t.Status == 'R'; renamed {
				name = t.From
				break
			}
		}
		if !renamed && len(list) < n || limit > 0 && len(log) >= limit {
			return log, nil
		}
	}
}

// A logging is one log in the making.
type logging struct {
	r       *Reader
	compare *comparer
	bases   bases
}

// tell fills in what snapshots changed. Of the first of a history, which has all of
// it, nothing is counted.
func (l *logging) tell(ctx context.Context, list []*records.Snapshot) error {
	if _, err := l.r.rows(ctx, list); err != nil {
		return err
	}
	var later []*records.Snapshot
	for _, s := range list {
		if s.Changed == nil || !s.Changed.Base.IsZero() {
			later = append(later, s)
		}
	}
	return l.r.settle(ctx, later)
}

// touch says what a snapshot did to a path.
func (l *logging) touch(ctx context.Context, s *records.Snapshot, name string) (t Touch, err error) {
	t = Touch{Snapshot: s, Path: name, Status: 'M'}
	if t.Base, err = l.bases.of(ctx, s); err != nil {
		return t, err
	}
	if t.Base == nil {
		t.Status = 'A'
		return t, nil
	}
	c := s.Changed
	if name == "." {
		if c != nil && c.Known {
			t.Sum = c
		}
		return t, nil
	}
	if c != nil && c.Known && !c.Coarse {
		t.Sum = c.Below(name)
		switch at := c.At(name); {
		case at == nil:
			return t, nil
		case at.From != "":
			t.Status, t.From = 'R', at.From
			return t, nil
		case at.Status != 'A' || !at.Dir:
			t.Status = at.Status
			return t, nil
		}
	}
	was, err := l.look(t.Base, name)
	if err != nil {
		return t, err
	}
	now, err := l.look(s, name)
	if err != nil {
		return t, err
	}
	switch {
	case now.Mode == tree.Absent:
		t.Status = 'D'
	case was.Mode == tree.Absent:
		t.Status = 'A'
		if t.From, err = l.from(t.Base, s, name, now); t.From != "" {
			t.Status = 'R'
		}
	case was.Mode.Type() != now.Mode.Type():
		t.Status = 'T'
	}
	return t, err
}

func (l *logging) look(s *records.Snapshot, name string) (tree.Node, error) {
	n, _, err := tree.Lookup(s.State(), name, l.r.Objects.Algorithm, l.compare.trees)
	return n, err
}

// from returns what a path that came with a snapshot was called before; "" if it had no
// other name. Of a directory it is one that went with the same tree.
func (l *logging) from(base, s *records.Snapshot, name string, now tree.Node) (from string, err error) {
	if !now.Mode.IsDir() {
		return l.fromFile(base, s, name)
	}
	if now.State() == (tree.State{Umask: now.State().Umask}) {
		return "", nil // what is empty is like all that is empty
	}
	gone, err := l.gone(base, s)
	if err != nil {
		return "", err
	}
	for _, old := range gone {
		if strings.HasPrefix(name, old+"/") {
			continue
		}
		was, err := l.look(base, old)
		if err != nil {
			return "", err
		}
		same := was.Mode.IsDir() && was.State() == now.State()
		if same && (from == "" || path.Base(old) == path.Base(name) && path.Base(from) != path.Base(name)) {
			from = old
		}
	}
	return from, nil
}

// fromFile is from of what is no directory, where the row does not tell.
func (l *logging) fromFile(base, s *records.Snapshot, name string) (string, error) {
	list, err := l.compare.differ.Compare(base, s, l.compare.trees)
	if err != nil {
		return "", err
	}
	for i, old := range changes.Renames(list) {
		if list[i].Path == name {
			return list[old].Path, nil
		}
	}
	return "", nil
}

// gone returns the paths that went with a snapshot.
func (l *logging) gone(base, s *records.Snapshot) (paths []string, err error) {
	if c := s.Changed; c != nil && c.Known && !c.Coarse {
		for _, n := range c.Names {
			if n.Status == 'D' {
				paths = append(paths, n.Path)
			}
		}
		return paths, nil
	}
	list, err := l.compare.differ.Compare(base, s, l.compare.trees)
	for _, c := range list {
		if c.Status == 'D' {
			paths = append(paths, c.Path)
		}
	}
	return paths, err
}
