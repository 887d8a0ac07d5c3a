//go:build linux

package fuzz

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-82afce7a/rewind/engine"
)

// holdings are the steps that hold something to be so.
var holdings = map[string]doing{
	"picture": func(p *player, a []string) { p.pictures[a[0]] = p.picture(p.root) },
	"mine": func(p *player, a []string) {
		for name, was := range p.mines {
			if now := p.world.mine(); !maps.Equal(was, now) {
				p.fail("of what is the user's something changed since %s: %q, was %q", name, now, was)
			}
		}
		p.mines[a[0]] = p.world.mine()
	},
	"fails": func(p *player, a []string) {
		if out, err := p.tryGit("", a[1:]...); err == nil {
			p.fail("git %q does not fail: %s", a[1:], out)
		}
	},
	"noted":  func(p *player, a []string) { p.so(strings.Contains(strings.Join(p.log, " "), a[0]), a) },
	"differ": func(p *player, a []string) { p.so(a[0] != a[1], a) },
	"same":   func(p *player, a []string) { p.so(p.newest().snap.ID == p.kept[a[0]].snap.ID, a) },
	"other":  func(p *player, a []string) { p.so(p.newest().snap.ID != p.kept[a[0]].snap.ID, a) },

	// Of the disk: the whole of it, or single paths.
	"is":          func(p *player, a []string) { p.isNow(p.pictures[a[0]]) },
	"is-recorded": func(p *player, a []string) { p.isNow(p.kept[a[0]].recorded) },
	"has-all": func(p *player, a []string) {
		now := p.picture(p.root)
		for path, what := range p.kept[a[0]].recorded {
			if p.allowed(p.restored, nil); now[path] != what {
				p.fail("%q is %q, not %q", path, now[path], what)
			}
		}
	},
	"there": func(p *player, a []string) {
		for _, path := range a[1:] {
			_, err := os.Lstat(p.path(path))
			p.so((err == nil) == (a[0] == "yes"), a)
		}
	},
	"content": func(p *player, a []string) {
		got, err := os.ReadFile(p.path(a[0]))
		p.must(err)
		p.so(string(got) == a[1], a)
	},
	"mode": func(p *player, a []string) {
		st, err := os.Lstat(p.path(a[0]))
		p.must(err)
		p.so(st.Mode().Perm() == mode(a[1]), a)
	},

	// Of the tree of the last snapshot: its files but those of rules, all of them, some.
	"tree": func(p *player, a []string) {
		p.sameList(slices.DeleteFunc(p.listed(), isRules), strings.Fields(strings.Join(a, " ")))
	},
	"all-of-tree": func(p *player, a []string) { p.sameList(p.listed(), a) },
	"in-tree": func(p *player, a []string) {
		got := p.listed()
		for _, path := range a {
			p.so(slices.Contains(got, path), a)
		}
	},
	"links": func(p *player, a []string) {
		var got []string
		for line := range strings.SplitSeq(p.git("ls-tree", "-r", "-z", p.tree()), "\x00") {
			if entry, path, _ := strings.Cut(line, "\t"); strings.HasPrefix(entry, "160000 ") {
				got = append(got, path)
			}
		}
		p.sameList(got, slices.DeleteFunc(a, func(path string) bool { return path == "" }))
	},
	"blob":        func(p *player, a []string) { p.so(p.blob(a[0]) == a[1], append(a, p.blob(a[0]))) },
	"blob-begins": func(p *player, a []string) { p.so(strings.HasPrefix(p.blob(a[0]), a[1]), append(a, p.blob(a[0]))) },
	"in-place":    func(p *player, a []string) { p.so(p.git("rev-parse", p.tree()+":"+a[0]) == a[1], a) },
	"as-in-index": func(p *player, a []string) { p.asInIndex(a[0]) },
	"left-out": func(p *player, a []string) {
		if got, err := p.tryGit("", "cat-file", "blob", p.tree()+":"+a[1]); (err != nil) != (a[0] == "yes") || err == nil && got != a[2] {
			p.fail("%s is recorded as %q (%v)", a[1], got, err)
		}
	},

	// Of what the last snapshot has and names.
	"skipped": func(p *player, a []string) {
		var got []string
		for _, n := range p.last.Skipped {
			got = append(got, string(n.Path))
		}
		p.sameList(got, a)
	},
	"named": func(p *player, a []string) {
		s := p.named(a...)
		p.taken, p.last = append(p.taken, s), &engine.Recorded{Snapshot: s.snap}
	},
	"recorded": func(p *player, a []string) {
		for _, path := range a[1:] {
			_, is := p.newest().recorded[path]
			p.so(is == (a[0] == "yes"), []string{path})
		}
	},
	"ignored": func(p *player, a []string) {
		var got []string
		for path, is := range p.newest().ignored {
			if is {
				got = append(got, path)
			}
		}
		p.sameList(got, a)
	},
	"exported":   func(p *player, _ []string) { p.isNow(p.export(p.long, p.last.Snapshot)) },
	"gone-rules": func(p *player, a []string) { p.sameList(p.goneRules(), a) },

	// Of what the last restore, undo or redo said.
	"stayed": func(p *player, a []string) {
		why, is := named(p.restored, a[1])
		p.so(is == (a[0] == "yes"), append(a, why))
	},
	"survived": func(p *player, a []string) {
		p.survived(p.pictures[a[0]], maps.Clone(p.pictures[a[1]]), p.kept[a[2]].recorded)
	},
	"blocked": func(p *player, a []string) { p.so(blocked(p.restored, a[1]) == (a[0] == "yes"), a) },

	// Of what verify says.
	"promised": func(p *player, a []string) {
		least, _ := strconv.Atoi(a[0])
		most, _ := strconv.Atoi(a[1])
		n := p.verified().Promised
		p.so(least <= n && n <= most, append(a, fmt.Sprint(n)))
	},
	"damaged":     func(p *player, a []string) { p.sameList(p.world.damaged(), a) },
	"damaged-too": func(p *player, a []string) { p.so(slices.Contains(p.world.damaged(), a[0]), a) },
}

// survived holds that a restore has lost nothing: what is as it was before the snapshot, or
// recorded, is so now, and what was there is there or in the undo snapshot.
func (p *player) survived(before, there, recorded picture) {
	p.t.Helper()
	now := p.picture(p.root)
	for path, what := range before {
		_, is := recorded[path]
		if now[path] != what && (is && !blocked(p.restored, path) || there[path] == what) {
			p.fail("%q is %.40q, was %.40q, recorded: %v, before the restore %.40q", path, now[path], what, is, there[path])
		}
	}
	if !p.restored.Undo.IsZero() { // else nothing had to change
		undo, err := p.long.Find(p.t.Context(), p.restored.Undo.String())
		p.must(err)
		for path := range p.export(p.long, undo) {
			delete(there, path)
		}
	}
	for path, what := range there {
		if now[path] != what {
			p.fail("%q was lost: %.40q, now %.40q", path, what, now[path])
		}
	}
}

// so fails unless something is so.
func (p *player) so(is bool, args []string) {
	p.t.Helper()
	if !is {
		p.fail("%s: that is not so: %q", p.s.At(), args)
	}
}

func (p *player) isNow(want picture) {
	p.t.Helper()
	if d := want.Differs(p.picture(p.root)); d != "" {
		p.fail("%s: it is not as it was:\n  %s\n%+v", p.s.At(), d, p.restored)
	}
}

func (p *player) sameList(got, want []string) {
	p.t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		p.fail("%s: there are %q, not %q", p.s.At(), got, want)
	}
}

// listed is what git's tree of the last snapshot has.
func (p *player) listed() []string {
	out := p.git("ls-tree", "-r", "-z", "--name-only", p.tree())
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
}

func (p *player) blob(path string) string { return p.git("cat-file", "blob", p.tree()+":"+path) }

// asInIndex holds that the tree has of a path what the index has.
func (p *player) asInIndex(path string) {
	fields := strings.Fields(p.git("ls-files", "-s", "--", path))
	if got := strings.Fields(p.git("ls-tree", p.tree(), path)); got[0] != fields[0] || got[2] != fields[1] {
		p.fail("%s: the tree has %q, the index %q", p.s.At(), got, fields)
	}
}

// verified checks that everything that should be there is.
func (w *world) verified() *engine.Verified {
	w.t.Helper()
	_, err := w.long.Sync(w.t.Context())
	w.must(err)
	v, err := w.long.Verify(w.t.Context())
	w.must(err)
	if len(v.Damaged) > 0 {
		w.fail("damaged: %+v", v.Damaged)
	}
	return v
}

// damaged lists the paths that verify names.
func (w *world) damaged() (paths []string) {
	w.t.Helper()
	v, err := w.long.Verify(w.t.Context())
	w.must(err)
	for _, d := range v.Damaged {
		paths = append(paths, string(d.Path))
	}
	slices.Sort(paths)
	return paths
}
