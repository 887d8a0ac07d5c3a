package worktree

import (
	"bytes"
	"errors"
	"io"

	"github.com/seed-82afce7a/rewind/internal/attr"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/ignore"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

const (
	gitName    = ".git"
	ignoreName = ".gitignore"
	attrName   = ".gitattributes"
)

// ignoring returns the ignore rules in force in a directory. They are worked out when
// something there has to be decided, not before: usually never. Dir is the
// open directory, or nil.
func (w *worker) ignoring(n *node, dir *dirfd.Dir) *ignore.Chain {
	n.ignoring.Do(func() {
		if n.parent == nil || n.nestedRoot() {
			n.ignores = n.realm.ignores
		} else {
			n.ignores = w.ignoring(n.parent, nil).Enter(n.name)
		}
		if data, ok := w.ruleBytes(n, dir, ignoreName, &n.ignoreFile); ok {
			opt := ignore.Options{FoldCase: w.cfg.Settings.FoldCase}
			f := ignore.Parse(data, &opt)
			n.ignoreFile.refused = !n.ignores.HasRoom(f)
			n.ignores = n.ignores.With(f)
		}
	})
	return n.ignores
}

// attributing is [worker.ignoring] for attributes. Where a file changed these are
// asked for, and no ignore rules.
func (w *worker) attributing(n *node, dir *dirfd.Dir) *attr.Chain {
	n.attributing.Do(func() {
		if n.parent == nil || n.nestedRoot() {
			n.attributes, n.attrDir = n.realm.attributes, n.realm.repo.AttrTree
		} else {
			n.attributes = w.attributing(n.parent, nil).Enter(n.name)
			n.attrDir = w.in(n.parent.attrDir, n.name, tree.Dir)
		}
		if data, ok := w.ruleBytes(n, dir, attrName, &n.attrFile); ok {
			opt := attr.Options{FoldCase: w.cfg.Settings.FoldCase, Macros: n.path == n.realm.path}
			f := attr.Parse(data, &opt)
			n.attrFile.refused = !n.attributes.HasRoom(f)
			n.attributes = n.attributes.With(f)
		}
	})
	return n.attributes
}

// refusedRules is said of a rule file whose rules are more than a chain has room
// for.
const refusedRules = "its rules do not count: with those above it they would take more than 64 MiB of memory"

// in returns what a tree of the repository has under a name, zero if that is
// nothing of this kind.
func (s *scan) in(id oid.ID, name string, kind tree.Mode) oid.ID {
	if id.IsZero() {
		return id
	}
	entries, err := s.objectTree(id)
	if err != nil {
		return oid.ID{} // as for git what cannot be read has no attributes
	}
	for _, e := range entries {
		if e.Name == name && e.Mode.Type() == kind {
			return e.ID
		}
	}
	return oid.ID{}
}

// borrows reports whether the attributes of a tree are in force, instead of the
// attributes files of the worktree.
func (r *realm) borrows() bool { return !r.repo.AttrTree.IsZero() }

// readsIndexed reports whether git takes rules for this directory from the
// index, where the sparse checkout leaves their file out.
func (l *listing) readsIndexed(name string) bool {
	return name == ignoreName || l.n.realm.repo.Cone.Has(l.n.realm.inside(l.n.path))
}

// recall lets the index say what it has here, in place of the row, where a rule
// file has gone from the disk: it may be one that is not wanted there, and be in
// force all the same.
func (l *listing) recall(name string, onDisk bool) (err error) {
	it, ok := l.known.row[name]
	if onDisk || !ok || it.Flags&stattable.Tracked == 0 || it.Flags&stattable.AbsentNow != 0 || l.n.realm.wantsAll() {
		return nil
	}
	l.known.row = nil
	l.known.dir, err = l.directory(l.n.realm, l.n.path)
	return err
}

// ruleBytes reads a rule file, on disk or else from the index, and sets the id
// of what was read. A file that cannot be read has no rules, or, if it is one of
// attributes, those of the index, as in git; capturing it will say why.
func (w *worker) ruleBytes(n *node, dir *dirfd.Dir, name string, f *ruleFile) ([]byte, bool) {
	if name == attrName && n.realm.borrows() {
		id := w.in(n.attrDir, attrName, tree.File)
		if id.IsZero() || w.cfg.Load == nil {
			return nil, false
		}
		data, err := w.cfg.Load(oid.Blob, id)
		return data, err == nil && len(data) <= ignore.FileBytesMax
	}
	if f.onDisk {
		data, err := w.readRules(n, dir, name)
		if err == nil {
			f.id = w.cfg.Algorithm.Sum(oid.Blob, data)
			return data, true
		}
		if f.id = (oid.ID{}); denied(err) && name == attrName {
			f.id = w.indexedAttributes(n)
		}
	}
	if f.id.IsZero() || w.cfg.Load == nil {
		return nil, false
	}
	data, err := w.cfg.Load(oid.Blob, f.id)
	return data, err == nil && len(data) <= ignore.FileBytesMax
}

// indexedAttributes is the id of the attributes file that the index has in a
// directory; zero if there is none that git would read.
func (w *worker) indexedAttributes(n *node) oid.ID {
	if !n.realm.repo.Cone.Has(n.realm.inside(n.path)) {
		return oid.ID{}
	}
	k, _, _, _ := w.inIndex(n.realm, n.path, attrName)
	return k.content(attrName)
}

func (w *worker) readRules(n *node, dir *dirfd.Dir, name string) ([]byte, error) {
	if dir == nil {
		var err error
		if dir, err = w.root.OpenDir(n.path); err != nil {
			return nil, err
		}
		defer dir.Close()
	}
	f, err := dir.OpenFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w.count.Opened++
	st, err := f.Stat()
	if err != nil || st.Mode.Type() != tree.File || st.Size > ignore.FileBytesMax {
		return nil, errors.Join(err, dirfd.ErrNotPlain)
	}
	var data bytes.Buffer
	data.Grow(int(st.Size) + bytes.MinRead) // room to see the end
	_, err = data.ReadFrom(io.LimitReader(f, ignore.FileBytesMax))
	w.count.ReadBytes += int64(data.Len())
	return data.Bytes(), err
}

// regular reports whether a listed name is a regular file: git follows no link
// to find rules.
func regular(dir *dirfd.Dir, f *dirfd.Name) bool {
	if f.Type != 0 {
		return f.Type == tree.File
	}
	st, err := dir.Lstat(f.Name)
	return err == nil && st.Mode.Type() == tree.File
}

// conversion says what git makes of a file; usually it is the file.
func (w *worker) conversion(n *node, name string) (v attr.Conversion, identity bool) {
	if n.nested || n.side != inTree {
		return v, true
	}
	a := w.attributing(n, nil)
	if n.realm.plain && !a.Converts() {
		return v, true
	}
	v = n.realm.clean.Conversion(a.Lookup(name))
	return v, v.Identity()
}

// shrinks reports whether whatever git makes of a file is shorter unless it is
// the same, and whether it is the same for certain.
func (w *worker) shrinks(n *node, name string) (shrinks, identity bool) {
	if _, identity := w.conversion(n, name); identity {
		return true, true
	}
	a := w.attributing(n, nil)
	attrs := a.Lookup(name)
	free := func(v attr.Value) bool { return v.State != attr.Valued }
	return free(attrs.Filter) && free(attrs.Encoding), false
}

// clean makes of a file what git would keep of it.
func (w *worker) clean(n *node, c *candidate, v attr.Conversion, raw []byte) ([]byte, error) {
	in := attr.Input{Path: tree.Join(n.path, c.name), Raw: raw, Run: w.cfg.Filter, IndexHasCR: w.indexHasCR(n, c)}
	return v.Clean(w.ctx, in)
}

// indexHasCR returns the function that says whether the index has a text with
// CRLF line ends in a file's place; nil if it has nothing.
func (w *worker) indexHasCR(n *node, c *candidate) func() (bool, error) {
	if !c.isTracked || w.cfg.Load == nil {
		return nil
	}
	return func() (bool, error) {
		id, err := w.indexed(n, c)
		if err != nil || id.IsZero() {
			return false, err
		}
		if size, ok := w.sizeOf(id); ok && size > memoryBytesMax {
			return false, errTooLarge()
		}
		blob, err := w.cfg.Load(oid.Blob, id)
		return err == nil && attr.HasCRLF(blob), nil // what is not there, or no blob, has none, as for git
	}
}

// indexed returns the id that the index has for a file: the row knows only
// what the file was when it was last scanned.
func (w *worker) indexed(n *node, c *candidate) (oid.ID, error) {
	if c.tracked.entry != nil {
		return c.tracked.entry.ID, nil
	}
	k, _, _, err := w.inIndex(n.realm, n.path, c.name)
	return k.content(c.name), err
}
