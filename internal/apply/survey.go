package apply

import (
	"context"
	"fmt"
	"maps"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// survey finds the directories that must give way to a file but hold something
// that the plan does not delete. They stay whole, with all steps below them.
func (a *applier) survey(ctx context.Context, steps []Step) (map[string]error, error) {
	blocked := map[string]error{}
	var swaps []*Step
	deleted := map[string]bool{}
	for i := range steps {
		if steps[i].swap() {
			swaps = append(swaps, &steps[i])
		}
		if steps[i].Want.absent() {
			deleted[steps[i].Path] = true
		}
	}
	if a.Replay && len(swaps) > 0 {
		for path := range maps.Clone(deleted) { // what an earlier run was just deleting
			dir := tree.Parent(path)
			deleted[dir+"/"+(&place{a: a, path: path}).temp(spare)] = true
		}
	}
	stay := map[string]error{}
	for _, s := range swaps {
		if safePath(s.Path) != nil {
			continue
		}
		found, err := a.foreign(ctx, s.Path, deleted)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil || found == "" {
			continue // the step itself will say what is wrong
		}
		blocked[s.Path] = fmt.Errorf("%w: %q", ErrBlocked, found)
		stay[s.Path] = keptError{fmt.Errorf("%q stays: %w", s.Path, ErrBlocked)}
	}
	below(steps, stay, func(s *Step, why error) { blocked[s.Path] = why })
	return blocked, nil
}

// below calls fn for each step below one of some directories, with what is said
// of the highest of them.
func below(steps []Step, dirs map[string]error, fn func(s *Step, why error)) {
	set := newPathSet()
	for dir := range dirs {
		set.add(dir)
	}
	for i := range steps {
		s := &steps[i]
		if dir, ok := set.over(s.Path); ok && dir != s.Path {
			fn(s, dirs[dir])
		}
	}
}

// foreign returns a path below dir that is not among the deleted, or "".
func (a *applier) foreign(ctx context.Context, dir string, deleted map[string]bool) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	d, err := a.root.OpenDir(dir)
	if err != nil {
		return "", err
	}
	list, err := d.List()
	d.Close()
	if err != nil {
		return "", err
	}
	for _, n := range list {
		path := dir + "/" + n.Name
		if !deleted[path] {
			return path, nil
		}
		if n.Type != 0 && n.Type != tree.Dir {
			continue
		}
		found, err := a.foreign(ctx, path, deleted)
		if found != "" || err != nil && !dirfd.Gone(err) {
			return found, err
		}
	}
	return "", nil
}
