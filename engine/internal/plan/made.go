package plan

import (
	"slices"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Made is what an operation brought to paths where there was nothing before,
// to directories whose permissions it changed, to places where it put a
// directory instead of something else, and what files it wrote over: its steps, by
// path. Taking the operation back takes that away again, whatever the rules say,
// unless it was changed since.
type Made map[string]apply.Step

// MadeBy reads from the steps of an operation what it made. There are paths at which
// somebody else had put what it was to put: that is not its doing.
func MadeBy(steps []apply.Step, there []string) Made {
	m := Made{}
	for i := range steps {
		s := steps[i]
		if s.Have.Mode.Type() == tree.Absent || rights(&s) || displaces(&s) || fileOrLink(s.Want.Mode) {
			m[s.Path] = s
		}
	}
	for _, path := range there {
		delete(m, path)
	}
	return m
}

// rights reports whether a step gives a directory that stays other permissions.
// On disk a submodule is a directory too.
func rights(s *apply.Step) bool {
	return s.Have.Mode.IsDir() && s.Want.Mode.IsDir() && s.Have.Mode.Perm() != s.Want.Mode.Perm()
}

// displaces reports whether a step puts a directory where a file or link lies.
func displaces(s *apply.Step) bool {
	return s.Have.Mode.Type() != tree.Absent && !s.Have.Mode.IsDir() && s.Want.Mode.IsDir()
}

// Displaced returns the places at which the operation put a directory instead
// of something else. An operation that is limited to a path may have done so
// above that path, to get there.
func (m Made) Displaced() (paths []string) {
	for path, s := range m {
		if displaces(&s) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// has reports whether what a change would delete is as the operation made it.
func (m Made) has(c tree.Change) bool {
	s, ok := m[c.Path]
	if !ok || s.Have.Mode.Type() != tree.Absent {
		return false
	}
	return s.Want.Mode == c.From.Mode && s.Want.ID == c.From.ID || s.Want.Mode.IsDir() && c.From.Mode.IsDir()
}

// unseen returns the paths that were not met in the plan, and are there: files,
// links and empty directories. A directory with something in it goes only if
// all that is in it does.
func (m Made) unseen(disk Disk, met map[string]bool) []string {
	var out []string
	for path, s := range m {
		if met[path] || s.Have.Mode.Type() != tree.Absent {
			continue
		}
		now := disk.Mode(path)
		if now == 0 || now.IsDir() != s.Want.Mode.IsDir() || now.IsDir() && disk.Entries(path) != 0 {
			continue
		}
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}
