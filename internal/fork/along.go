package fork

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// An Ignored is what the present has and no snapshot, as it was when it was looked at, to
// be taken along into a fork:
//
//   - Nothing that is there already is replaced or changed, and nothing is written
//     below a .git or through a link.
//   - A file never shares its inode with the one it was taken from. Where contents are
//     not to be copied, they are shared by the file system or left.
//   - Nobody may read there by permissions what a directory keeps from them here.
//   - What is not taken is named, with the reason.
type Ignored struct {
	Files int           // files and links
	Bytes int64         // of the files
	Left  []engine.Note // what is left by rule: repositories, what is no file, what the snapshot has no directory for
	Back  []engine.Note // links that lead back into the directory they are taken from

	root    string // where it lies
	how     How
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

// findIgnored finds what lies below a directory and is not known. Own are directories of the
// program itself: they are passed over. Lacks reports whether a directory that is known
// is not to be made.
func findIgnored(ctx context.Context, root string, known known, lacks func(dir string) bool, own ...string) (*Ignored, error) {
	l := &looker{Ignored: &Ignored{root: root}, ctx: ctx, known: known, lacks: lacks, own: map[string]bool{}}
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
	return l.Ignored, ctx.Err()
}

type looker struct {
	*Ignored
	ctx   context.Context
	known known
	lacks func(dir string) bool
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
	if kind != tree.Dir && (kind != tree.File && kind != tree.Symlink || !l.known.files[p]) {
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
	case l.known.files[p]:
	case kind == tree.File, kind == tree.Symlink:
		f.files = append(f.files, file{n.Name, st})
		if l.Files++; kind == tree.File {
			l.Bytes += st.Size
		} else if target, err := dir.Readlink(n.Name); err == nil && (target == l.root || strings.HasPrefix(target, l.root+"/")) {
			l.Back = append(l.Back, engine.Note{Path: engine.Path(p), Reason: "it leads to " + target})
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
	if l.lacks(at) {
		l.leave(at, noDirectory)
		return
	}
	known := l.known.dirs[at]
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

func (l *looker) leave(at, reason string) {
	l.Left = append(l.Left, engine.Note{Path: engine.Path(at), Reason: reason})
}

// noDirectory is why what lies in a directory is left.
const noDirectory = "the snapshot has no such directory"

// sharesWith reports whether files in a directory can share the contents of what is taken
// along: of one file of each file system that has any, at least.
func (l *Ignored) sharesWith(dir string) bool {
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

func (l *Ignored) shares(at, dir string) (bool, error) {
	old, err := dirfd.OpenFileBelow(l.root, at)
	if err != nil {
		return false, err
	}
	defer old.Close()
	return old.Shares(dir), nil
}
