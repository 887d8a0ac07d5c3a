//go:build linux

package fuzz

import (
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// ignored asks git which paths of a picture it ignores and does not track: these
// have true. Rule files are left out: they are recorded and restored like any other.
// Of what lies in a submodule without its repository git does not tell: it has
// false. Where rules may be in the index alone git cannot tell anything.
func (w *world) ignored(p picture) map[string]bool {
	w.t.Helper()
	tracked, links, below := w.indexed(), map[string]bool{}, []string(nil)
	for _, l := range tracked {
		if l.isLink() {
			links[l.path] = true
		}
	}
	paths := slices.DeleteFunc(slices.Sorted(maps.Keys(recordable(p))), func(at string) bool {
		rules := path.Base(at) == ".gitignore" || path.Base(at) == ".gitattributes"
		if rules && strings.HasPrefix(p[at], "-") || w.insideRepository(at) {
			return true
		}
		inLink := atOrAbove(path.Dir(at), func(dir string) bool { return links[dir] })
		if inLink {
			below = append(below, at)
		}
		return inLink
	})
	out := w.checkIgnore(paths)
	for _, at := range below {
		out[at] = false
	}
	for _, l := range tracked {
		delete(out, l.path)
	}
	return out
}

// checkIgnore asks which paths the rules ignore, tracked or not.
func (w *world) checkIgnore(paths []string) map[string]bool {
	w.t.Helper()
	out := map[string]bool{}
	if w.unwanted || len(paths) == 0 {
		return out
	}
	list, _ := w.tryGit(strings.Join(paths, "\x00")+"\x00", "check-ignore", "-z", "--stdin", "--no-index")
	for at := range strings.SplitSeq(list, "\x00") {
		if at != "" {
			out[at] = true
		}
	}
	return out
}

// insideRepository reports whether a path is a repository in the worktree, or lies
// in one, of which git tells nothing from outside.
func (w *world) insideRepository(at string) bool {
	return atOrAbove(at, func(dir string) bool {
		if st, err := os.Lstat(w.path(dir)); err != nil || !st.IsDir() {
			return false
		}
		_, err := os.Lstat(w.path(dir + "/.git"))
		return err == nil
	})
}

// allSmall holds that of what is not recorded, files that are ignored lie in
// ignored directories, or are products of a build. All files here are small and few.
func (w *world) allSmall(rest []string) {
	w.t.Helper()
	if w.nested || w.unwanted || len(rest) == 0 {
		return
	}
	var above []string
	for _, at := range rest {
		for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
			above = append(above, dir)
		}
	}
	slices.Sort(above)
	inIgnored := w.checkIgnore(slices.Compact(above))
	for _, at := range rest {
		st, err := os.Lstat(w.path(at))
		if err != nil || st.IsDir() || path.Ext(at) == ".o" || atOrAbove(path.Dir(at), func(dir string) bool { return inIgnored[dir] }) {
			continue
		}
		w.fail("%q is ignored and small, and not recorded", at)
	}
}
