// Package carry takes files of a directory that no snapshot has along into another one:
// what programs have made and other programs need.
//
// It promises:
//
//   - Nothing that is there already is replaced or changed, and nothing is written
//     below a .git or through a link.
//   - A file never shares its inode with the one it was taken from. Where contents are
//     not to be copied, they are shared by the file system or left.
//   - Nobody may read there by permissions what a directory keeps from them here.
//   - What is not taken is named, with the reason.
package carry

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Note names a path below the directory, and says why it was left.
type Note struct{ Path, Reason string }

// A Load is what is to be taken along, as it was when it was looked at.
type Load struct {
	Root  string // where it lies
	Files int    // files and links
	Bytes int64  // of the files
	Left  []Note // what is left by rule: repositories, what is no file
	Back  []Note // links that lead back into the directory they are taken from

	folders []*folder
}

// A folder is a directory of which something is taken along.
type folder struct {
	path  string
	new   bool // no snapshot has it
	stat  dirfd.Stat
	files []file
}

// A file is a file or a link.
type file struct {
	name string
	stat dirfd.Stat
}

// Known tells what snapshots have of a directory.
type Known interface {
	// File reports whether a snapshot has, or would have now, the file or link at a path.
	File(path string) bool
	// Dir reports whether one has the directory at a path, or something below it.
	Dir(path string) bool
}

// Look finds what lies below a directory and is not known. Own are directories of the
// program itself: they are passed over.
func Look(ctx context.Context, root string, known Known, own ...string) (*Load, error) {
	l := &looker{Load: &Load{Root: root}, ctx: ctx, known: known, own: map[string]bool{}}
	for _, dir := range own {
		if rel, err := filepath.Rel(root, dir); err == nil {
			l.own[filepath.ToSlash(rel)] = true
		}
	}
	top, err := dirfd.Open(root)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	l.visit(top, "", true)
	return l.Load, ctx.Err()
}

type looker struct {
	*Load
	ctx   context.Context
	known Known
	own   map[string]bool
}

// visit looks at a directory, and at what lies below it.
func (l *looker) visit(dir *dirfd.Dir, at string, known bool) {
	st, err := dir.Stat()
	names, listed := dir.List()
	if err == nil {
		err = listed
	}
	if err != nil {
		l.leave(at, err.Error())
		return
	}
	f := &folder{path: at, new: !known, stat: st}
	if f.new {
		l.folders = append(l.folders, f)
	}
	slices.SortFunc(names, func(a, b dirfd.Name) int { return strings.Compare(a.Name, b.Name) })
	for _, n := range names {
		if l.ctx.Err() != nil {
			return
		}
		if tree.DotGit(n.Name) {
			if n.Name != ".git" {
				l.leave(path.Join(at, n.Name), "some file systems take it for a .git")
			}
			continue
		}
		l.name(dir, f, n)
	}
	if !f.new && len(f.files) > 0 {
		l.folders = append(l.folders, f)
	}
}

// name looks at one name of a directory.
func (l *looker) name(dir *dirfd.Dir, f *folder, n dirfd.Name) {
	p := path.Join(f.path, n.Name)
	kind := n.Type
	var st dirfd.Stat
	if kind != tree.Dir && (kind != tree.File && kind != tree.Symlink || !l.known.File(p)) {
		var err error
		if st, err = dir.Lstat(n.Name); dirfd.Gone(err) {
			return
		} else if err != nil {
			l.leave(p, err.Error())
			return
		}
		kind = st.Mode.Type()
	}
	switch {
	case kind == tree.Dir:
		l.below(dir, p, n.Name)
	case l.known.File(p):
	case kind == tree.File, kind == tree.Symlink:
		f.files = append(f.files, file{n.Name, st})
		if l.Files++; kind == tree.File {
			l.Bytes += st.Size
		} else if target, err := dir.Readlink(n.Name); err == nil && (target == l.Root || strings.HasPrefix(target, l.Root+"/")) {
			l.Back = append(l.Back, Note{p, "it leads to " + target})
		}
	default:
		l.leave(p, "it is neither a file, a link nor a directory")
	}
}

// below goes into a directory, unless it is a repository that no snapshot knows.
func (l *looker) below(dir *dirfd.Dir, at, name string) {
	if l.own[at] {
		return
	}
	known := l.known.Dir(at)
	d, err := dir.OpenDir(name)
	if err != nil {
		if !dirfd.Gone(err) {
			l.leave(at, err.Error())
		}
		return
	}
	defer d.Close()
	if _, err := d.Lstat(".git"); err == nil && !known {
		l.leave(at, "it is a repository of its own")
		return
	}
	l.visit(d, at, known)
}

func (l *looker) leave(at, reason string) { l.Left = append(l.Left, Note{at, reason}) }

// Leave leaves what lies in directories that are not to be made, and names them.
func (l *Load) Leave(not func(dir string) bool, reason string) {
	named := map[string]bool{}
	left := func(at string) bool {
		for end := range len(at) + 1 {
			if end < len(at) && at[end] != '/' || !not(at[:end]) {
				continue
			}
			if !named[at[:end]] {
				named[at[:end]] = true
				l.Left = append(l.Left, Note{at[:end], reason})
			}
			return true
		}
		return false
	}
	l.folders = slices.DeleteFunc(l.folders, func(f *folder) bool {
		if !left(f.path) {
			return false
		}
		for i := range f.files {
			if l.Files--; f.files[i].stat.Mode.Type() == tree.File {
				l.Bytes -= f.files[i].stat.Size
			}
		}
		return true
	})
	l.Back = slices.DeleteFunc(l.Back, func(n Note) bool { return left(path.Dir(n.Path)) })
}

// Shares reports whether files in a directory can share the contents of what is taken
// along: of one file of each file system that has any, at least.
func (l *Load) Shares(dir string) bool {
	asked := map[uint64]bool{}
	for _, f := range l.folders {
		for i := range f.files {
			st := &f.files[i].stat
			if st.Mode.Type() != tree.File || st.Size == 0 || asked[st.Dev] {
				continue
			}
			yes, err := l.shares(path.Join(f.path, f.files[i].name), dir)
			if yes {
				return true
			}
			if err == nil {
				asked[st.Dev] = true
			}
		}
	}
	return len(asked) == 0
}

func (l *Load) shares(at, dir string) (bool, error) {
	from, err := dirfd.OpenBelow(l.Root, dirfd.Parent(at))
	if err != nil {
		return false, err
	}
	defer from.Close()
	old, err := from.OpenFile(path.Base(at))
	if err != nil {
		return false, err
	}
	defer old.Close()
	return old.Shares(dir), nil
}
