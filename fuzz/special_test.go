//go:build linux

package fuzz

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

var specialKinds = map[string]uint32{"pipe": syscall.S_IFIFO, "socket": syscall.S_IFSOCK, "device": syscall.S_IFCHR}

// A marked is a way in which the index may have an entry.
type marked struct {
	name     string
	unwanted bool // below what is not a directory git keeps it
	mark     func(w *world, entries []string)
}

var marks = []marked{
	{"usual", false, func(*world, []string) {}},
	{"skip-worktree", true, func(w *world, entries []string) {
		w.git(append([]string{"update-index", "--skip-worktree", "--"}, entries...)...)
	}},
	{"sparse checkout", true, func(w *world, _ []string) {
		w.git("commit", "-qm", "all")
		w.git("sparse-checkout", "set", "--no-cone", "/z")
	}},
	{"sparse index", true, func(w *world, _ []string) {
		w.git("commit", "-qm", "all")
		w.git("sparse-checkout", "set", "--cone", "--sparse-index", "z")
	}},
	{"assume-unchanged", false, func(w *world, entries []string) {
		w.git(append([]string{"update-index", "--assume-unchanged", "--"}, entries...)...)
	}},
	{"intent to add", false, func(w *world, entries []string) {
		entries = slices.DeleteFunc(slices.Clone(entries), func(p string) bool { return strings.HasSuffix(p, "gitlink") })
		w.git(append([]string{"rm", "-q", "--cached", "--"}, entries...)...)
		w.git(append([]string{"add", "-N", "--"}, entries...)...)
	}},
	{"conflict", false, func(w *world, entries []string) {
		lines := ""
		for _, p := range entries {
			fields := strings.Fields(w.git("ls-files", "-s", "--", p))
			lines += "0 " + strings.Repeat("0", len(fields[1])) + "\t" + p + "\x00"
			for _, stage := range []string{"1", "2", "3"} {
				lines += fields[0] + " " + fields[1] + " " + stage + "\t" + p + "\x00"
			}
		}
		if out, err := w.tryGit(lines, "update-index", "-z", "--index-info"); err != nil {
			w.fail("%v %s", err, out)
		}
	}},
}

// TestASpecialFileIsNotWhatTheIndexHasInItsPlace holds what a pipe, a socket or a
// device does to the tree. In the place of an entry git add fails, however the
// entry is marked: the path is skipped and named, and not in the tree unless it
// is a submodule. In the place of a directory the entries in it count as deleted,
// if they are wanted on disk. Where the index has nothing it is not there at all.
func TestASpecialFileIsNotWhatTheIndexHasInItsPlace(t *testing.T) {
	for _, m := range marks {
		t.Run(m.name, func(t *testing.T) {
			w := plain(t, kind{})
			w.write("z/f", "1")
			w.git("add", "-A")
			var at, below []string
			for name := range w.specials() {
				for _, entry := range []string{"file", "link", "gitlink"} {
					at, below = append(at, "at/"+name+"-"+entry), append(below, "dir-"+name+"-"+entry+"/"+entry)
				}
			}
			slices.Sort(at)
			slices.Sort(below)
			w.track(slices.Concat(at, below))
			w.unwanted = m.unwanted
			m.mark(w, slices.Concat(at, below))
			w.reopen()
			w.settle()
			before := w.keep()
			for _, p := range at {
				w.special(p)
			}
			for _, p := range below {
				w.special(filepath.Dir(p))
			}
			w.special("new-pipe")
			w.settle()
			w.compareSpecials(w.keep(), at, below, m)
			w.write("at/new", "the directory is listed again")
			w.settle()
			w.compareSpecials(w.keep(), at, below, m)
			w.git("update-index", "--add", "--", "z/f")
			after := w.keep()
			w.compareSpecials(after, at, below, m)
			w.taken = []taken{before}
			w.travel()
			for _, p := range slices.Concat(at, []string{"new-pipe"}) {
				w.must(os.Remove(w.path(p)))
				w.write(p, "a file")
			}
			w.settle()
			w.keep()
			w.taken = []taken{before, after}
			for range 4 {
				w.travel()
			}
		})
	}
}

// specials are the kinds of special files that may be made here.
func (w *world) specials() map[string]uint32 {
	kinds, probe := map[string]uint32{}, filepath.Join(w.dir, "probe")
	for name, mode := range specialKinds {
		if err := syscall.Mknod(probe, mode|0o600, 1<<8|3); err != nil {
			w.t.Logf("NOT TESTED: a %s: %v", name, err)
			continue
		}
		w.must(os.Remove(probe))
		kinds[name] = mode
	}
	return kinds
}

// track puts entries on disk and into the index, of the kind at the end of their
// names.
func (w *world) track(entries []string) {
	for _, p := range entries {
		w.must(os.MkdirAll(filepath.Dir(w.path(p)), 0o755))
		switch {
		case strings.HasSuffix(p, "gitlink"):
			w.must(os.Mkdir(w.path(p), 0o755))
			w.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+","+p)
		case strings.HasSuffix(p, "link"):
			w.must(os.Symlink("z", w.path(p)))
		default:
			w.write(p, "tracked")
		}
	}
	w.git("add", "-A")
}

// special puts a special file in the place of whatever there is, of the kind in
// its name.
func (w *world) special(p string) {
	w.must(os.RemoveAll(w.path(p)))
	w.must(os.MkdirAll(filepath.Dir(w.path(p)), 0o755))
	for name, mode := range specialKinds {
		if strings.Contains(p, name) {
			w.must(syscall.Mknod(w.path(p), mode|0o644, 1<<8|3))
		}
	}
}

// compareSpecials holds a snapshot to the rules, so that they are not only the
// oracle's.
func (w *world) compareSpecials(s taken, at, below []string, m marked) {
	w.t.Helper()
	var want, named []string
	for _, p := range at {
		if strings.HasSuffix(p, "gitlink") {
			want = append(want, p)
		}
		named = append(named, p)
	}
	if m.unwanted {
		want = append(want, below...)
	}
	var got, skipped []string
	for p := range strings.SplitSeq(w.git("ls-tree", "-r", "-z", "--name-only", s.snap.Tree.String()), "\x00") {
		if strings.Contains(p, "-") {
			got = append(got, p)
		}
	}
	for _, k := range s.snap.Skipped {
		skipped = append(skipped, string(k.Path))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		w.fail("the tree has %q, not %q", got, want)
	}
	if !slices.Equal(skipped, named) {
		w.fail("skipped are %q, not %q", skipped, named)
	}
}
