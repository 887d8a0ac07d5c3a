//go:build linux

package fuzz

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// files lists what the worktree has, without any .git, in the order of names.
// Directories end with a slash.
func (w *world) files() []string {
	var out []string
	w.must(filepath.WalkDir(w.root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == w.root {
			return err
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		rel := p[len(w.root)+1:]
		if d.IsDir() {
			rel += "/"
		}
		out = append(out, rel)
		return nil
	}))
	return out
}

// some returns a path of the worktree that fits, "" if there is none.
func (w *world) some(fits func(string) bool) string {
	all := w.files()
	for range 8 {
		if len(all) == 0 {
			return ""
		}
		if p := pick(w, all); fits(p) {
			return p
		}
	}
	return ""
}

func isDir(p string) bool  { return strings.HasSuffix(p, "/") }
func isFile(p string) bool { return !isDir(p) }

// write makes a file, whatever stands in its way.
func (w *world) write(rel, data string) {
	w.clear(filepath.Dir(rel))
	p := w.path(rel)
	if st, err := os.Lstat(p); err == nil && !st.Mode().IsRegular() {
		if st.IsDir() && w.holdsRoot(rel) {
			return
		}
		w.must(os.RemoveAll(p))
	}
	w.must(os.MkdirAll(filepath.Dir(p), 0o755))
	w.overwrite(p, []byte(data), 0o644)
}

// overwrite writes into a file also if its permissions are against it.
func (w *world) overwrite(p string, data []byte, perm fs.FileMode) {
	if st, err := os.Lstat(p); err == nil && st.Mode().Perm()&0o200 == 0 {
		w.must(os.Chmod(p, st.Mode().Perm()|0o200))
		defer func() { w.must(os.Chmod(p, st.Mode().Perm())) }()
	}
	w.must(os.WriteFile(p, data, perm))
}

// clear removes what is not a directory on the way to one.
func (w *world) clear(rel string) {
	for at := rel; at != "."; at = filepath.Dir(at) {
		if st, err := os.Lstat(w.path(at)); err == nil && !st.IsDir() {
			w.must(os.Remove(w.path(at)))
		}
	}
}

// holdsRoot keeps the repository's own files from being replaced.
func (w *world) holdsRoot(rel string) bool { return rel == "." || rel == "" }

// edit changes the worktree in one of many ways.
func (w *world) edit() {
	all := []func(){
		w.writeNew, w.writeNew, w.writeNew, w.rewrite, w.rewrite, w.sameSize, w.sameSize, w.quietEdit, w.remove, w.move, w.chmod, w.touch, w.link, w.swap,
		w.emptyDir, w.rules, w.rules, w.rulesInPlace, w.attrs, w.outsideRules, w.copyBack, w.pipe,
	}
	pick(w, all)()
	w.unblock()
}

// unblock takes away what git would wait for without end: it reads .gitmodules
// through a link, also if that leads to a pipe.
func (w *world) unblock() {
	if st, err := os.Stat(w.path(".gitmodules")); err == nil && st.Mode().Type() == fs.ModeNamedPipe {
		w.note("no .gitmodules")
		w.must(os.Remove(w.path(".gitmodules")))
	}
}

func (w *world) writeNew() {
	name, data := w.fileName(), w.content()
	w.note("write %q %.20q", name, data)
	w.write(name, data)
}

func (w *world) rewrite() {
	if p := w.some(isFile); p != "" {
		data := w.content()
		w.note("rewrite %q %.20q", p, data)
		w.write(p, data)
	}
}

// sameSize changes bytes and nothing that a size shows.
func (w *world) sameSize() {
	p := w.some(isFile)
	st, err := os.Lstat(w.path(p))
	if p == "" || err != nil || !st.Mode().IsRegular() || st.Size() == 0 {
		return
	}
	data, err := os.ReadFile(w.path(p))
	w.must(err)
	data[w.rng.IntN(len(data))] ^= byte(1 + w.rng.IntN(3))
	w.note("same size %q", p)
	f, err := os.OpenFile(w.path(p), os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrPermission) {
		return
	}
	w.must(err)
	_, err = f.Write(data)
	w.must(errors.Join(err, f.Close()))
}

// quietEdit changes bytes and puts size and mtime back.
func (w *world) quietEdit() {
	p := w.some(isFile)
	st, err := os.Lstat(w.path(p))
	if p == "" || err != nil || !st.Mode().IsRegular() || st.Size() == 0 {
		return
	}
	w.note("edit with the old mtime %q", p)
	data, err := os.ReadFile(w.path(p))
	w.must(err)
	data[0] ^= 1
	w.overwrite(w.path(p), data, st.Mode().Perm())
	w.must(os.Chtimes(w.path(p), time.Time{}, st.ModTime()))
}

func (w *world) remove() {
	if p := w.some(func(string) bool { return true }); p != "" {
		w.note("remove %q", p)
		w.must(os.RemoveAll(w.path(p)))
	}
}

func (w *world) move() {
	p := strings.TrimSuffix(w.some(func(string) bool { return true }), "/")
	to := w.fileName()
	if p == "" || strings.HasPrefix(to+"/", p+"/") || strings.HasPrefix(p+"/", to+"/") {
		return
	}
	w.note("move %q %q", p, to)
	w.clear(filepath.Dir(to))
	if _, err := os.Lstat(w.path(p)); err != nil {
		return // it was in the way
	}
	w.must(os.MkdirAll(filepath.Dir(w.path(to)), 0o755))
	w.must(os.RemoveAll(w.path(to)))
	w.must(os.Rename(w.path(p), w.path(to)))
}

func (w *world) chmod() {
	p := w.some(func(string) bool { return true })
	st, err := os.Lstat(w.path(p))
	if p == "" || err != nil || st.Mode().Type() == fs.ModeSymlink {
		return
	}
	modes := []fs.FileMode{0o644, 0o755, 0o600, 0o700, 0o664, 0o444, 0o777, 0o640}
	if isDir(p) {
		modes = []fs.FileMode{0o755, 0o700, 0o775}
	}
	mode := pick(w, modes)
	w.note("chmod %q %v", p, mode)
	w.must(os.Chmod(w.path(p), mode))
}

func (w *world) touch() {
	if p := w.some(isFile); p != "" {
		at := time.Now().Add(-time.Duration(w.rng.IntN(3)) * time.Hour)
		w.note("touch %q", p)
		if st, err := os.Lstat(w.path(p)); err == nil && st.Mode().IsRegular() {
			w.must(os.Chtimes(w.path(p), at, at))
		}
	}
}

func (w *world) link() {
	name := w.fileName()
	if w.one(8) {
		name = w.dirName() + pick(w, []string{".gitignore", ".gitattributes", ".gitmodules"})
	}
	to := pick(w, []string{"nowhere", "f", "../a", "d", "/etc/hostname", ".", "\xff", "g.txt"})
	w.note("link %q -> %q", name, to)
	w.write(name, "")
	if st, err := os.Lstat(w.path(name)); err == nil && st.Mode().IsRegular() {
		w.must(os.Remove(w.path(name)))
		w.must(os.Symlink(to, w.path(name)))
	}
}

// swap makes a directory of a file, or a file of a directory.
func (w *world) swap() {
	p := w.some(func(string) bool { return true })
	if p == "" {
		return
	}
	w.note("swap %q", p)
	p = strings.TrimSuffix(p, "/")
	st, err := os.Lstat(w.path(p))
	w.must(err)
	w.must(os.RemoveAll(w.path(p)))
	switch {
	case st.IsDir():
		w.write(p, w.content())
	case st.Mode().IsRegular() && w.one(2):
		w.must(os.Symlink("f", w.path(p)))
	default:
		w.write(p+"/"+pick(w, fileNames), w.content())
	}
}

func (w *world) emptyDir() {
	name := w.dirName() + pick(w, dirNames)
	w.note("mkdir %q", name)
	w.clear(name)
	w.must(os.MkdirAll(w.path(name), 0o755))
}

func (w *world) rules() {
	name, text := w.dirName()+".gitignore", w.ignoreRules()
	w.note("rules %q %q", name, text)
	w.write(name, text)
}

// rulesInPlace changes one byte of a rule file, and not its size.
func (w *world) rulesInPlace() {
	p := w.some(func(p string) bool {
		return strings.HasSuffix("/"+p, "/.gitignore") || strings.HasSuffix("/"+p, "/.gitattributes")
	})
	if st, err := os.Lstat(w.path(p)); p == "" || err != nil || !st.Mode().IsRegular() {
		return // who reads a pipe waits without end
	}
	data, err := os.ReadFile(w.path(p))
	if err != nil || len(data) == 0 {
		return
	}
	data[w.rng.IntN(len(data))] = pick(w, []byte{'#', '*', 'b', '!', '/', 'h'})
	w.note("rules in place %q %q", p, data)
	w.overwrite(w.path(p), data, 0o644)
}

func (w *world) attrs() {
	dir := w.dirName()
	name, text := dir+".gitattributes", w.attributes(dir == "")
	w.note("attributes %q %q", name, text)
	w.write(name, text)
}

// outsideRules changes the rules that lie outside the worktree.
func (w *world) outsideRules() {
	file, text := "", w.ignoreRules()
	switch w.rng.IntN(4) {
	case 0:
		file = filepath.Join(w.common, "info", "exclude")
	case 1:
		file = filepath.Join(w.home, ".config", "git", "ignore")
	case 2:
		file, text = filepath.Join(w.common, "info", "attributes"), w.attributes(true)
	case 3:
		file, text = filepath.Join(w.home, ".config", "git", "attributes"), w.attributes(true)
	}
	if w.one(3) {
		text = ""
	}
	w.outside++
	w.note("outside %q %q", filepath.Base(file), text)
	w.must(os.MkdirAll(filepath.Dir(file), 0o755))
	w.must(os.WriteFile(file, []byte(text), 0o644))
}

// copyBack gives a file the bytes that the index has for it.
func (w *world) copyBack() {
	if p := w.some(isFile); p != "" {
		w.note("checkout %q", p)
		_, _ = w.tryGit("", "checkout", "-q", "--", p)
	}
}

func (w *world) pipe() {
	if !w.one(4) {
		return
	}
	name := w.fileName()
	w.note("pipe %q", name)
	w.write(name, "")
	if st, err := os.Lstat(w.path(name)); err == nil && st.Mode().IsRegular() {
		w.must(os.Remove(w.path(name)))
		w.must(syscall.Mkfifo(w.path(name), 0o644))
	}
}
