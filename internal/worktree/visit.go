package worktree

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"github.com/seed-82afce7a/rewind/gitbridge/gitindex"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A worker is one goroutine of a scan with what it reuses between directories.
type worker struct {
	*scan
	ctx     context.Context
	count   Counters
	changed []int             // entries of the row that must be looked at closely
	kids    []stattable.Entry // subdirectories the row has
	nodes   []*node           // of them
	buf     []byte            // of files
	cname   []byte            // of a name, NUL-terminated
	payload []byte            // of trees
	entries []tree.Entry
	index   gitindex.Directory  // of the directory that is looked at
	asked   *gitindex.Directory // points to index, if that was read to compare a row; nil if the row is believed, or there is no index
	seen    []string            // the names of that directory that are on disk
}

// visit looks at one directory: whether its row still holds, and if not, what
// it holds now. Its subdirectories are left on the stack.
func (w *worker) visit(n *node) error {
	w.count.Dirs++
	err := tree.CheckPath(n.path) // no restore would find its way there
	var dir *dirfd.Dir
	if err == nil {
		dir, err = w.root.OpenDir(n.path)
	}
	if err != nil {
		return w.unreadable(n, err)
	}
	defer dir.Close()
	if n.parent != nil {
		n.row = w.row(n)
	}
	st, err := dir.Stat()
	if err != nil {
		return w.unreadable(n, err)
	}
	n.mode = st.Mode
	n.private = n.private || n.parent != nil && w.cfg.Readers.KeptOff(&st)
	if w.quick != 0 && st.Dev == w.quick {
		dir.Quick()
	}
	if n.parent != nil && st.Ino != 0 && st.Ino == w.cfg.Skip.Ino && st.Dev == w.cfg.Skip.Dev {
		n.gone = &absence{}
		return nil
	}
	ok := false
	if w.believed(n, &st) {
		ok, err = w.compare(n, dir, &st)
	}
	if !ok && err == nil {
		err = w.list(n, dir, &st)
	}
	if err == nil {
		err = w.indexedGitlink(n)
	}
	w.nameConflict(n)
	return err
}

// unreadable leaves a directory out, with the reason if it is still there. The
// root cannot be left out.
func (w *worker) unreadable(n *node, err error) error {
	if n.parent == nil {
		return err
	}
	n.gone = &absence{}
	switch {
	case errors.Is(err, fs.ErrNotExist), w.inVain(n):
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENOTDIR):
		n.gone.note = stattable.Note{Name: n.name, Reason: "changed its type during the scan"}
	default:
		n.gone.note = stattable.Note{Name: n.name, Reason: reason(err)}
		w.tell(func(r *Result) { r.closed[n.path] = true })
		if denied(err) {
			return w.keepIndexed(n)
		}
	}
	return nil
}

// believed reports whether the names in a directory are those of its row.
func (w *worker) believed(n *node, st *dirfd.Stat) bool {
	return !n.row.IsZero() && n.row.SameDir(st) && n.row.Flags()&(stattable.Ambiguous|stattable.Retry) == 0 &&
		!w.cfg.Recheck && !n.all && !w.force.above[n.path] && touched(st) < w.doubtful
}

// compare looks at every file the row has. It reports false if the directory
// must be listed after all.
func (w *worker) compare(n *node, dir *dirfd.Dir, st *dirfd.Stat) (bool, error) {
	if n.row.Flags()&stattable.DotGit != 0 {
		if err := w.resolve(n); err != nil {
			return false, err
		}
	}
	head := n.row.Head()
	if n.full != fullAbove && head.Flags&stattable.Full != 0 {
		n.full = fullHere
	}
	index, err := w.indexDigest(n)
	if err != nil || head.Rules != n.rules || head.Attrs != n.attrs || head.Index != index {
		return false, err
	}
	if !w.look(n, dir) || len(w.changed) > 0 && n.row.Flags()&stattable.Hides != 0 {
		return false, nil
	}
	newKey := (n.parent == nil || n.nestedRoot()) && head.IndexKey != n.realm.key
	if len(w.changed) > 0 || newKey {
		if ok, err := w.refresh(n, dir, st); !ok || err != nil {
			return false, err
		}
		n.contents.head.Unasked = head.Unasked
	} else {
		n.tree, n.overlay = head.Tree, head.Overlay
	}
	w.tallied(n, n.row.Small())
	w.descend(n, w.kidsOf(n))
	return true, nil
}

// look compares the files with the row; w.changed and w.kids tell what it
// found. False: a rule file or a name is not what it was, or the index may have
// something else below a name where no directory is on disk.
func (w *worker) look(n *node, dir *dirfd.Dir) bool {
	var st dirfd.Stat
	w.changed, w.kids = w.changed[:0], w.kids[:0]
	n.rulesOut, n.attrsOut = n.rules, n.attrs
	asked := !n.realm.trusted && n.row.Flags()&stattable.Hides != 0
	names, all := w.asks(n)
	for i, e := range n.row.Entries() {
		flags := e.Flags()
		if flags&stattable.Rule != 0 {
			n.obey(e.Name(), e.Raw(), flags&stattable.AbsentNow == 0)
		}
		if flags&stattable.AbsentNow != 0 {
			if flags&stattable.IsDir != 0 && !n.realm.trusted {
				return false // the index digest says nothing of what lies in it
			}
			continue
		}
		if flags&stattable.IsDir != 0 {
			w.kids = append(w.kids, e)
			continue
		}
		if asked && e.GitMode() == tree.GitDir {
			return false // see [listing.keepBelow]; the digest says nothing of that either
		}
		other := w.otherwise(n, e)
		if !all && flags&stattable.AlwaysLook == 0 && !names[e.Name()] && other == nil {
			continue
		}
		w.count.Stats++
		err := dir.LstatRaw(e.CName(), &st)
		if other != nil && err == nil && e.Same(&st) && w.settled(n, other, &st) {
			return false // git took it in since, as other rules made it, and takes it for unchanged
		}
		if err == nil && e.Same(&st) && flags&(stattable.Young|stattable.Fresh) == 0 && touched(&st) < w.doubtful {
			continue
		}
		if err != nil || flags&(stattable.Rule|stattable.Unasked) != 0 {
			return false
		}
		w.changed = append(w.changed, i)
	}
	return true
}

// obey lets a rule file of the directory count for what lies below it.
func (n *node) obey(name string, id oid.ID, onDisk bool) {
	if name == ignoreName {
		n.rulesOut = mixID(n.rules, id)
		n.ignoreFile = ruleFile{onDisk: onDisk, id: id}
		return
	}
	n.attrsOut = mixID(n.attrs, id)
	n.attrFile = ruleFile{onDisk: onDisk, id: id}
}

// refresh makes the contents of a directory from its row, reading again the
// entries in w.changed. False: one of them is gone or of another type.
func (w *worker) refresh(n *node, dir *dirfd.Dir, st *dirfd.Stat) (bool, error) {
	c := &contents{head: w.head(n, st), notes: n.row.Notes()}
	c.head.Flags |= n.row.Flags() & (stattable.DotGit | stattable.Hides | stattable.Full)
	c.head.Index = n.row.Head().Index
	next, count := w.changed, 0
	for range n.row.Entries() {
		count++
	}
	c.items = make([]stattable.Item, 0, count)
	for i, e := range n.row.Entries() {
		if len(next) == 0 || next[0] != i {
			c.items = append(c.items, e.Item())
			continue
		}
		next = next[1:]
		it := e.Item() // which stays in memory: not one for each entry
		f := candidate{name: it.Name, old: &it, ignored: it.Flags&stattable.Ignored != 0, sameAttrs: true, sameIndex: true, into: c}
		if it.Flags&stattable.Tracked != 0 {
			f.tracked, f.isTracked = tracked{mode: it.GitMode, id: it.Git}, true
		}
		c.notes = slices.DeleteFunc(c.notes, func(note stattable.Note) bool { return note.Name == it.Name })
		ok, err := w.capture(n, dir, &f)
		if !ok || err != nil {
			return false, err
		}
	}
	n.contents = c
	return true, nil
}

// kidsOf makes nodes of the subdirectories that the row has. They are valid
// until the next call.
func (w *worker) kidsOf(n *node) []*node {
	w.nodes = w.nodes[:0]
	for _, e := range w.kids {
		c, flags := n.child(e.Name()), e.Flags()
		c.was, c.held = e, flags&stattable.Tracked != 0
		if flags&stattable.OutOfGit != 0 {
			c.side = outside
		}
		c.ignored = flags&stattable.Ignored != 0
		c.noIndex = !c.held
		if c.held && e.GitMode() == tree.GitLink {
			c.noIndex = !n.hides() // else there may be something below it too, in a conflict
			w.readGitlink(c)
		}
		c.settle()
		w.nodes = append(w.nodes, c)
	}
	return w.nodes
}

// descend leaves the subdirectories of a directory to the workers.
func (w *worker) descend(n *node, kids []*node) {
	kids = w.busy(kids)
	n.pending.Add(int32(len(kids)))
	w.push(kids)
}

// resolve asks whether a directory with a ".git" is a repository. If it is, a
// realm of its own begins there.
func (w *worker) resolve(n *node) error {
	if n.parent == nil || w.cfg.Nested == nil || n.asked {
		return nil
	}
	n.asked = true
	repo, err := w.cfg.Nested(w.ctx, n.path)
	if repo == nil {
		return err
	}
	if n.held && n.gitlink.commit.IsZero() {
		return w.insteadOfFile(n, repo.Head) // git takes it for a plain directory, as it has files of it in its index
	}
	if repo.Around {
		if ok, err := w.around(n, repo.Head); !ok {
			return err
		}
	}
	head := repo.Head
	if !head.IsZero() && len(head.Bytes()) != w.cfg.Algorithm.Size() {
		head = oid.ID{}
	}
	if head.IsZero() && err == nil && w.inVain(n) {
		return nil
	}
	if !head.IsZero() {
		n.gitlink.commit = head
	}
	if why := w.trouble(n, repo, err); why != "" {
		w.skip(Skip{Path: n.path, Reason: why, Kept: true})
	}
	w.tell(func(r *Result) { r.Nested = append(r.Nested, n.path) })
	return w.enterRealm(n, repo)
}

// around decides about a directory with a link to the repository around it, which
// for git is an ordinary one. But where its index has a submodule of that name,
// git add looks for what became of that, and finds the commit. Where it has a file,
// it finds the commit too; what it adds of the directory then takes the place of
// that.
func (w *worker) around(n *node, head oid.ID) (isRepository bool, err error) {
	if n.side == outside || head.IsZero() || !n.gitlink.commit.IsZero() {
		return n.side != outside && !head.IsZero(), nil
	}
	return false, w.insteadOfFile(n, head)
}

// insteadOfFile notes the commit of a directory that is a plain one for git, where
// the index has a file of its name: it is in the tree if nothing in the directory is.
func (w *worker) insteadOfFile(n *node, head oid.ID) error {
	if n.side == outside || head.IsZero() || len(head.Bytes()) != w.cfg.Algorithm.Size() || !n.parent.hides() {
		return nil
	}
	_, _, ok, err := w.inIndex(n.parent.realm, n.parent.path, n.name)
	if ok {
		n.gitlink.instead = head
	}
	return err
}

// trouble says what of a nested repository is not recorded, "" if nothing: what
// cannot be known of it, or the commit that git's tree should have.
func (w *worker) trouble(n *node, repo *Repo, err error) string {
	hosted := n.side != outside && w.cfg.Repo.Index != nil
	switch {
	case err != nil:
		return "nested repository: " + reason(err)
	case hosted && repo.HeadErr != nil:
		return "nested repository: " + reason(repo.HeadErr)
	case hosted && (n.gitlink.commit.IsZero() || n.gitlink.conflict && repo.Head.IsZero()):
		return noCommitReason
	}
	return ""
}

// inVain reports whether a directory is ignored, and entered only because the
// index has a file instead: git passes by unless it is a repository with a
// commit, or one of which it cannot know that.
func (w *worker) inVain(n *node) bool {
	if !n.ignored || n.all || n.held || w.force.above[n.path] {
		return false
	}
	place, _ := w.placeOf(n.path, true, true, 0)
	return place != Overlay && place != Unasked
}

func (s *scan) skip(k Skip) {
	s.tell(func(r *Result) { r.Skipped = append(r.Skipped, k) })
}

// reason is the sentence that a skipped path carries: without the path, which
// stands beside it.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
