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
	"picture": func(p *player, a []string, _ func()) string { p.pictures[a[0]] = p.picture(p.root); return "" },
	"mine": func(p *player, a []string, _ func()) (_ string) {
		for name, was := range p.mines {
			if now := p.world.mine(); !maps.Equal(was, now) {
				p.fail("of what is the user's something changed since %s: %q, was %q", name, now, was)
			}
		}
		p.mines[a[0]] = p.world.mine()
		return
	},
	"fails": func(p *player, a []string, _ func()) (_ string) {
		if out, err := p.tryGit("", a[1:]...); err == nil {
			p.fail("git %q does not fail: %s", a[1:], out)
		}
		return
	},
	"noted": func(p *player, a []string, _ func()) string {
		p.so(strings.Contains(strings.Join(p.log, " "), a[0]), a)
		return ""
	},
	"differ": func(p *player, a []string, _ func()) string { p.so(a[0] != a[1], a); return "" },
	"same": func(p *player, a []string, _ func()) string {
		p.so(p.newest().snap.ID == p.kept[a[0]].snap.ID, a)
		return ""
	},
	"other": func(p *player, a []string, _ func()) string {
		p.so(p.newest().snap.ID != p.kept[a[0]].snap.ID, a)
		return ""
	},

	// Of the disk: the whole of it, or single paths.
	"is":          func(p *player, a []string, _ func()) string { p.isNow(p.pictures[a[0]]); return "" },
	"is-recorded": func(p *player, a []string, _ func()) string { p.isNow(p.kept[a[0]].recorded); return "" },
	"has-all": func(p *player, a []string, _ func()) (_ string) {
		now := p.picture(p.root)
		for path, what := range p.kept[a[0]].recorded {
			if p.allowed(p.restored, nil); now[path] != what {
				p.fail("%q is %q, not %q", path, now[path], what)
			}
		}
		return
	},
	"there": func(p *player, a []string, _ func()) (_ string) {
		for _, path := range a[1:] {
			_, err := os.Lstat(p.path(path))
			p.so((err == nil) == (a[0] == "yes"), a)
		}
		return
	},
	"content": func(p *player, a []string, _ func()) (_ string) {
		got, err := os.ReadFile(p.path(a[0]))
		p.must(err)
		p.so(string(got) == a[1], a)
		return
	},
	"mode": func(p *player, a []string, _ func()) (_ string) {
		st, err := os.Lstat(p.path(a[0]))
		p.must(err)
		p.so(st.Mode().Perm() == mode(a[1]), a)
		return
	},

	// Of the tree of the last snapshot: its files but those of rules, all of them, some.
	"tree": func(p *player, a []string, _ func()) string {
		p.sameList(slices.DeleteFunc(p.listed(), isRules), strings.Fields(strings.Join(a, " ")))
		return ""
	},
	"all-of-tree": func(p *player, a []string, _ func()) string { p.sameList(p.listed(), a); return "" },
	"in-tree": func(p *player, a []string, _ func()) (_ string) {
		got := p.listed()
		for _, path := range a {
			p.so(slices.Contains(got, path), a)
		}
		return
	},
	"links": func(p *player, a []string, _ func()) (_ string) {
		var got []string
		for line := range strings.SplitSeq(p.git("ls-tree", "-r", "-z", p.tree()), "\x00") {
			if entry, path, _ := strings.Cut(line, "\t"); strings.HasPrefix(entry, "160000 ") {
				got = append(got, path)
			}
		}
		p.sameList(got, slices.DeleteFunc(a, func(path string) bool { return path == "" }))
		return
	},
	"blob": func(p *player, a []string, _ func()) string {
		p.so(p.blob(a[0]) == a[1], append(a, p.blob(a[0])))
		return ""
	},
	"blob-begins": func(p *player, a []string, _ func()) string {
		p.so(strings.HasPrefix(p.blob(a[0]), a[1]), append(a, p.blob(a[0])))
		return ""
	},
	"in-place": func(p *player, a []string, _ func()) string {
		p.so(p.git("rev-parse", p.tree()+":"+a[0]) == a[1], a)
		return ""
	},
	"as-in-index": func(p *player, a []string, _ func()) string { p.asInIndex(a[0]); return "" },
	"left-out": func(p *player, a []string, _ func()) (_ string) {
		if got, err := p.tryGit("", "cat-file", "blob", p.tree()+":"+a[1]); (err != nil) != (a[0] == "yes") || err == nil && got != a[2] {
			p.fail("%s is recorded as %q (%v)", a[1], got, err)
		}
		return
	},

	// Of what the last snapshot has and names.
	"skipped": func(p *player, a []string, _ func()) (_ string) {
		var got []string
		for _, n := range p.last.Skipped {
			got = append(got, string(n.Path))
		}
		p.sameList(got, a)
		return
	},
	"named": func(p *player, a []string, _ func()) (_ string) {
		s := p.named(a...)
		p.taken, p.last = append(p.taken, s), &engine.Recorded{Snapshot: s.snap}
		return
	},
	"recorded": func(p *player, a []string, _ func()) (_ string) {
		for _, path := range a[1:] {
			_, is := p.newest().recorded[path]
			p.so(is == (a[0] == "yes"), []string{path})
		}
		return
	},
	"ignored": func(p *player, a []string, _ func()) (_ string) {
		var got []string
		for path, is := range p.newest().ignored {
			if is {
				got = append(got, path)
			}
		}
		p.sameList(got, a)
		return
	},
	"gone-rules": func(p *player, a []string, _ func()) string { p.sameList(p.goneRules(), a); return "" },

	// Of what the last restore, undo or redo said.
	"stayed": func(p *player, a []string, _ func()) (_ string) {
		why, is := named(p.restored, a[1])
		p.so(is == (a[0] == "yes"), append(a, why))
		return
	},
	"blocked": func(p *player, a []string, _ func()) string {
		p.so(blocked(p.restored, a[1]) == (a[0] == "yes"), a)
		return ""
	},

	// Of what verify says.
	"promised": func(p *player, a []string, _ func()) (_ string) {
		least, _ := strconv.Atoi(a[0])
		most, _ := strconv.Atoi(a[1])
		n := p.verified().Promised
		p.so(least <= n && n <= most, append(a, fmt.Sprint(n)))
		return
	},
	"damaged": func(p *player, a []string, _ func()) string { p.sameList(p.world.damaged(), a); return "" },
	"damaged-too": func(p *player, a []string, _ func()) string {
		p.so(slices.Contains(p.world.damaged(), a[0]), a)
		return ""
	},
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
