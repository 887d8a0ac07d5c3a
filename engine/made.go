package engine

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// made is what an operation brought to paths where there was nothing before,
// to directories whose permissions it changed, and to places where it put a
// directory instead of something else: its steps, by path. Taking the operation
// back takes that away again, whatever the rules say, unless it was changed
// since.
type made map[string]apply.Step

// broughtBy reads from the journal of an operation what it made. Without the
// journal more is kept when the operation is taken back, and nothing is lost.
func (e *Engine) broughtBy(ctx context.Context, op *Operation) (made, error) {
	steps, err := e.steps(ctx, op)
	if err != nil && !isLost(err) {
		return nil, err
	}
	brought := made{}
	for i := range steps {
		s := steps[i]
		if s.Have.Mode.Type() == tree.Absent || rights(&s) || displaces(&s) {
			brought[s.Path] = s
		}
	}
	return brought, nil
}

// takeBack makes an aim one at the state before an operation: what the operation
// made goes, and what stood in the way of its paths is back.
func (to *aim) takeBack(ctx context.Context, e *Engine, op *Operation) (err error) {
	if to.made, err = e.broughtBy(ctx, op); err == nil {
		to.paths = to.paths.and(to.made.displaced())
	}
	return err
}

// rights reports whether a step gives a directory that stays other permissions.
// On disk a submodule is a directory too.
func rights(s *apply.Step) bool {
	return s.Have.Mode.IsDir() && s.Want.Mode.IsDir() && s.Have.Mode.Perm() != s.Want.Mode.Perm()
}

// displaces reports whether a step puts a directory where a file or link stands.
func displaces(s *apply.Step) bool {
	return s.Have.Mode.Type() != tree.Absent && !s.Have.Mode.IsDir() && s.Want.Mode.IsDir()
}

// displaced returns the places at which the operation put a directory instead
// of something else. An operation that is limited to a path may have done so
// above that path, to get there.
func (m made) displaced() (paths []string) {
	for path, s := range m {
		if displaces(&s) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// has reports whether what a change would delete is as the operation made it.
func (m made) has(c tree.Change) bool {
	s, ok := m[c.Path]
	if !ok || s.Have.Mode.Type() != tree.Absent {
		return false
	}
	return s.Want.Mode == c.From.Mode && s.Want.ID == c.From.ID || s.Want.Mode.IsDir() && c.From.Mode.IsDir()
}

// unseen returns the paths that were not met in the plan, and are there: files,
// links and empty directories. A directory with something in it goes only if
// all that is in it does.
func (m made) unseen(root string, met map[string]bool) []string {
	var out []string
	for path, s := range m {
		if met[path] || s.Have.Mode.Type() != tree.Absent {
			continue
		}
		name := filepath.Join(root, filepath.FromSlash(path))
		info, err := os.Lstat(name)
		if err != nil || info.IsDir() != s.Want.Mode.IsDir() {
			continue
		}
		if info.IsDir() {
			if list, err := os.ReadDir(name); err != nil || len(list) > 0 {
				continue
			}
		}
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}
