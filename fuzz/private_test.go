//go:build linux

package fuzz

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// beOpen lets others of the machine into some worlds, so that what they may not
// read there has to stay out of git. Whether is drawn apart. Where the directory
// for temporary files is closed to others no world can be open.
func (w *world) beOpen() {
	if rand.New(rand.NewPCG(w.seed, 3)).IntN(3) != 0 {
		return
	}
	above := filepath.Dir(w.dir)
	if strings.HasPrefix(w.dir, os.TempDir()) { // testing made it for its owner alone
		w.must(os.Chmod(above, 0o755))
	}
	for at := w.dir; ; at = filepath.Dir(at) {
		st, err := os.Stat(at)
		if w.must(err); st.Mode().Perm()&0o011 != 0o011 {
			w.t.Logf("NOT TESTED: what others may not read, for %s is closed to all of them", at)
			return
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	w.kind.Open = true
}

// private reports whether others may not read a path.
func (w *world) private(p string) bool {
	st, err := os.Lstat(w.path(p))
	if err != nil || st.IsDir() {
		return false
	}
	if st.Mode().IsRegular() && st.Mode().Perm()&0o044 != 0o044 {
		return true
	}
	for at := filepath.Dir(p); at != "."; at = filepath.Dir(at) {
		if st, err := os.Lstat(w.path(at)); err == nil && st.IsDir() && st.Mode().Perm()&0o011 != 0o011 {
			return true
		}
	}
	return false
}

// leavePrivate takes out of an index what git has added to it and others may not
// read: the fifth difference.
func (w *world) leavePrivate(rest *removal, x *expectation) {
	if !w.kind.Open {
		return
	}
	tracked := map[string]bool{}
	for _, l := range w.indexed() {
		tracked[l.path] = true
	}
	rest.drop(".", func(l listed) bool { return !tracked[l.path] && w.private(l.path) })
	// What git cannot convert of it is not asked for; what nobody can read is.
	x.failed = slices.DeleteFunc(x.failed, func(p string) bool {
		st, err := os.Lstat(w.path(p))
		return !tracked[p] && err == nil && st.Mode().IsRegular() && w.private(p) && w.path(p) != w.hidden
	})
}
