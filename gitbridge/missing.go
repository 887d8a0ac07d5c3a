package gitbridge

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A search finds what git lacks of a snapshot's tree, by difference from trees
// that git has whole: what is equal to them is neither read nor looked up.
type search struct {
	r        *Repo
	job      *Job
	complete map[oid.ID]bool // objects that git has with all they need
	seen     map[oid.ID]bool
	missing  []oid.ID // what an object needs comes before it
	found    []oid.ID // of those that were looked up, what git has
}

// missing searches what git lacks of a tree.
func (r *Repo) missing(ctx context.Context, job *Job, root oid.ID, whole []oid.ID) (*search, error) {
	s := &search{r: r, job: job, complete: map[oid.ID]bool{}, seen: map[oid.ID]bool{}}
	for _, id := range whole {
		s.complete[id] = true
	}
	return s, s.tree(ctx, root, whole)
}

// tree searches a directory. The whole trees are those of the same directory,
// as far as there are any.
func (s *search) tree(ctx context.Context, id oid.ID, whole []oid.ID) error {
	if s.complete[id] || s.seen[id] {
		return nil
	}
	s.seen[id] = true
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := s.load(id)
	if err != nil {
		return err
	}
	below := s.learn(whole)
	for _, e := range entries {
		switch {
		case s.complete[e.ID] || s.seen[e.ID] || e.Mode.Type() == tree.Nested:
		case e.Mode.Type() == tree.Dir:
			if err := s.tree(ctx, e.ID, below[e.Name]); err != nil {
				return err
			}
		default:
			s.look(e.ID)
		}
	}
	s.look(id)
	return nil
}

// look notes an object if git lacks it, and renews its age if not.
func (s *search) look(id oid.ID) {
	s.seen[id] = true
	if s.r.db.Freshen(id) {
		s.found = append(s.found, id)
	} else {
		s.missing = append(s.missing, id)
	}
}

// learn notes everything that lies directly in whole trees as complete, and
// returns the trees of their subdirectories by name. A tree that git cannot
// read after all teaches nothing.
func (s *search) learn(whole []oid.ID) map[string][]oid.ID {
	below := map[string][]oid.ID{}
	for i, id := range whole {
		if slices.Contains(whole[:i], id) {
			continue // the last snapshot and HEAD are often the same here
		}
		kind, payload, err := s.r.db.Read(id)
		if err != nil || kind != oid.Tree {
			continue
		}
		entries, err := tree.Decode(payload, s.r.Algorithm())
		if err != nil {
			continue
		}
		for _, e := range entries {
			s.complete[e.ID] = true
			if e.Mode.Type() == tree.Dir {
				below[e.Name] = append(below[e.Name], e.ID)
			}
		}
	}
	return below
}

// load reads a tree of the snapshot, from the store or from git.
func (s *search) load(id oid.ID) ([]tree.Entry, error) {
	if id == s.r.emptyTree() {
		return nil, nil
	}
	kind, payload, err := s.job.Load(id)
	if err != nil {
		var gitErr error
		if kind, payload, gitErr = s.r.db.Read(id); gitErr != nil {
			return nil, fmt.Errorf("%w: tree %v: %w; %w", ErrMissing, id, err, gitErr)
		}
	}
	if kind != oid.Tree {
		return nil, fmt.Errorf("%v is a %v, not a tree: %w", id, kind, tree.ErrMalformed)
	}
	entries, err := tree.Decode(payload, s.r.Algorithm())
	if err != nil {
		return nil, fmt.Errorf("tree %v: %w", id, err)
	}
	return entries, nil
}

func (r *Repo) emptyTree() oid.ID { return r.Algorithm().Sum(oid.Tree, nil) }
