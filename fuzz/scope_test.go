//go:build linux

package fuzz

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine"
)

// A scope is what a restore is limited to; without texts, nothing.
type scope struct {
	texts []string
	holds []func(at string) bool // for each text: whether it means this very path
}

// all reports whether there are no limits.
func (s scope) all() bool { return len(s.texts) == 0 }

func (s scope) match(p string) bool {
	return s.all() || atOrAbove(p, func(at string) bool {
		return slices.ContainsFunc(s.holds, func(means func(string) bool) bool { return means(at) })
	})
}

func (s scope) and(text string, means func(string) bool) scope {
	return scope{append(slices.Clone(s.texts), text), append(slices.Clone(s.holds), means)}
}

// only means one path.
func only(p string) func(string) bool { return func(at string) bool { return at == p } }

// scope draws paths of two pictures. A path that exists means itself, whatever
// is in its name.
func (w *world) scope(pictures ...picture) (s scope) {
	all := map[string]bool{}
	for _, p := range pictures {
		for name := range p {
			all[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(all))
	odd := slices.DeleteFunc(slices.Clone(names), func(p string) bool { return !strings.ContainsAny(p, `*?[\`) })
	for len(names) > 0 && len(s.texts) < 3 {
		p := pick(w, names)
		if len(odd) > 0 && w.one(4) {
			p = pick(w, odd)
		}
		base := path.Base(p)
		switch {
		case w.one(5) && !strings.ContainsAny(base, `*?[\`):
			s = s.and(":(glob)"+base, func(at string) bool { return path.Base(at) == base })
		case w.one(8): // a character of another name, if there is one
			s = s.and(":(glob)?"+quoted(base[1:]), func(at string) bool {
				b := path.Base(at)
				return len(b) == len(base) && b[1:] == base[1:]
			})
		case w.one(4) || strings.HasPrefix(p, ":("):
			s = s.and(":(literal)"+p, only(p))
		default:
			s = s.and(p, only(p))
		}
		if !w.one(3) {
			break
		}
	}
	return s
}

// refused reports whether a restore was refused because a path means nothing: then
// the snapshot has nothing there, and nothing was changed.
func (w *world) refused(err error, s scope, recorded, before picture) bool {
	w.t.Helper()
	if !errors.Is(err, engine.ErrNoSnapshot) {
		return false
	}
	unknown := slices.ContainsFunc(s.holds, func(means func(string) bool) bool {
		for p := range recorded {
			if means(p) {
				return false
			}
		}
		return true
	})
	if !unknown {
		w.fail("a restore of %q was refused, and all of it is recorded: %v", s.texts, err)
	}
	if d := before.Differs(w.picture(w.root)); d != "" {
		w.fail("a restore of %q was refused and changed: %s", s.texts, d)
	}
	return true
}

// writeOdd makes a file whose name is a pattern too, and one that it matches.
func (w *world) writeOdd() {
	dir, name := w.dirName(), pick(w, []string{"[br]", "b", "st*r", "star", "qu?st", "quest"})
	w.note("write %q", dir+name)
	w.write(dir+name, w.content())
}

// quoted is a pattern for a text alone.
func quoted(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if strings.IndexByte(`*?[\`, text[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func isDirectory(what string) bool { return strings.HasPrefix(what, "d") }

// expect returns what a step that leads to a state leaves of what is there, and
// the step with what it does on the way. Of is the one that it takes back, if it
// does: what that made goes, if nobody changed it since.
func (s step) expect(now picture, to *state, of step) (picture, step) {
	out := maps.Clone(now)
	maps.DeleteFunc(out, func(p, what string) bool {
		made := of.brought[p] != "" && (of.brought[p] == what || isDirectory(of.brought[p]) && isDirectory(what))
		return s.scope.match(p) && (made || !to.purged(p))
	})
	for p, rights := range of.rights {
		if s.scope.match(p) && out[p] == rights[1] {
			out[p] = rights[0]
		}
	}
	stays, back := maps.Clone(out), s.scope
	for _, p := range slices.Sorted(maps.Keys(to.picture)) {
		if !s.scope.match(p) {
			continue
		}
		for at := path.Dir(p); at != "."; at = path.Dir(at) {
			if s.scope.match(at) || isDirectory(out[at]) {
				continue
			}
			if now[at] == "" {
				s.made = append(s.made, at)
			} else { // something else stands there: it goes, and with it what it may be next
				back = back.and(":(literal)"+at, only(at))
			}
			out[at] = to.picture[at]
		}
		out[p] = to.picture[p]
	}
	// What stays keeps the directories that it is in.
	for p := range stays {
		for at := path.Dir(p); at != "."; at = path.Dir(at) {
			if out[at] == "" {
				out[at] = now[at]
			}
		}
	}
	// Directories that were made on the way go again when nothing is in them.
	slices.SortFunc(of.made, func(a, b string) int { return strings.Compare(b, a) })
	for _, at := range of.made {
		used := false
		for p := range out {
			used = used || strings.HasPrefix(p, at+"/")
		}
		if isDirectory(out[at]) && to.picture[at] == "" && !used {
			delete(out, at)
		}
	}
	s.scope = back
	return out, s
}
