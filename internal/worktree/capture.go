package worktree

import (
	"runtime"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitindex"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

const (
	triesMax      = 3
	smallBytesMax = 1 << 20  // read whole before it is given to the Saver
	bufBytesMin   = 16 << 10 // of a worker's first buffer: one edited file needs no more
	bufBytesNext  = 1 << 17  // up to here the next one is four times as large

	refusedReason = "git refuses the name"
	torn          = "kept changing while it was read"
	untold        = "has bytes, and a size of 0"
)

// A candidate is a file or link that is recorded if it is still there.
type candidate struct {
	name      string
	old       *stattable.Item // of the row, nil if it has none
	tracked   tracked
	isTracked bool
	ignored   bool // by the rules
	forced    bool // recorded in spite of them
	unasked   bool // recorded in spite of them, because it is small
	rule      bool // a rule file that is in force here
	sameAttrs bool // the attributes are those of the row
	sameIndex bool // the index has here what it had when the row was written
	into      *contents
}

// capture records one file. It reports false if there was nothing to record:
// it is gone, left out with a note, or no file any more.
func (w *worker) capture(n *node, dir *dirfd.Dir, c *candidate) (bool, error) {
	a := attempt{worker: w, n: n, dir: dir, candidate: c}
	for try := 1; ; try++ {
		a.last, a.quiet = try == triesMax, false
		notes := len(c.into.notes)
		w.count.Stats++
		var err error
		w.cname = append(append(w.cname[:0], c.name...), 0)
		if err = dir.LstatRaw(&w.cname[0], &a.st); err != nil {
			if !dirfd.Gone(err) {
				w.leaveOut(c, reason(err))
			}
			return false, nil
		}
		switch a.st.Mode.Type() {
		case tree.File, tree.Symlink:
		case tree.Dir:
			w.leaveOut(c, "changed its type during the scan")
			return false, nil
		default:
			return false, nil
		}
		var ok bool
		if a.it, ok = w.place(n, c, &a.st); !ok {
			return false, nil
		}
		end := recorded
		if w.reuse(n, c, &a.st, &a.it) {
			a.quiet = w.young(&a.st) && passed(&a.st, w.now()) // or else an earlier scan had not believed it
		} else if !w.seed(n, c, &a.st, &a.it) {
			if why := w.overLimit(c, a.st.Size); why != "" {
				w.leaveOut(c, why)
				return false, nil
			}
			if end, err = a.read(); err != nil {
				return false, err
			}
		}
		if end == recorded {
			a.finish()
		}
		if end != moved {
			return end == recorded, nil
		}
		c.into.notes = c.into.notes[:notes]
	}
}

// overLimit says why the store is to take in no new content of this size, "" if it may.
func (w *worker) overLimit(c *candidate, size int64) string {
	if w.cfg.OverLimit == nil || c.isTracked || c.forced || c.rule {
		return ""
	}
	return w.cfg.OverLimit(size)
}

// leaveOut names a path that cannot be recorded now; the next scan tries again.
func (w *worker) leaveOut(c *candidate, why string) {
	c.into.head.Flags |= stattable.Retry
	w.note(c.into, stattable.Note{Name: c.name, Reason: why})
}

func (w *worker) note(into *contents, note stattable.Note) { into.notes = append(into.notes, note) }

const leftoverReason = "a temporary file of an earlier restore that could not be removed"

// placeOf is [Policy.Place], with what is to be left out in any case.
func (s *scan) placeOf(path string, isDir, ignored bool, size int64) (Place, string) {
	switch {
	case s.cfg.Leave[path]:
		return Nowhere, leftoverReason
	case s.cfg.Policy == nil:
		return Usual, ""
	}
	return s.cfg.Policy.Place(path, isDir, ignored, size)
}

// place begins the item of a file: where it goes. False: nowhere.
func (w *worker) place(n *node, c *candidate, st *dirfd.Stat) (stattable.Item, bool) {
	it := stattable.Item{Name: c.name, Mode: st.Mode}
	if c.isTracked {
		it.Flags |= stattable.Tracked
	}
	if c.rule {
		it.Flags |= stattable.Rule
	}
	place, why := Usual, ""
	if c.unasked {
		place = Unasked
	} else if !c.isTracked {
		place, why = w.placeOf(tree.Join(n.path, c.name), false, c.ignored, st.Size)
	}
	needed := c.forced || it.Flags&stattable.Rule != 0
	switch {
	case place == Nowhere && !needed:
		w.leaveOut(c, why)
		return it, false
	case c.ignored && place == Usual && !needed:
		return it, false
	case c.ignored:
		it.Flags |= stattable.Ignored
		if place != Overlay && !c.rule {
			it.Flags |= stattable.Unasked
		}
	case place != Usual, w.closed(n, c, st):
		it.Flags |= stattable.OverlayOnly
	}
	if n.buried && !c.isTracked {
		it.Flags |= stattable.Unasked
	}
	if n.side == inTree && !c.isTracked && !c.ignored && w.cfg.Settings.refusedIn(n.path, c.name, st.Mode.Type() == tree.Symlink) {
		it.Flags |= stattable.OutOfGit
	}
	return it, true
}

// closed reports whether one who reads git's objects may not read a file, which git does
// not track.
func (w *worker) closed(n *node, c *candidate, st *dirfd.Stat) bool {
	return n.side == inTree && !c.isTracked && (n.private || w.cfg.Readers.KeptOff(st))
}

// inGit reports whether an item belongs into the git tree.
func inGit(n *node, it *stattable.Item) bool {
	return n.side == inTree && it.Flags&(stattable.Ignored|stattable.OverlayOnly|stattable.OutOfGit) == 0
}

// reuse takes the ids of the row, if the file is as the row has it.
func (w *worker) reuse(n *node, c *candidate, st *dirfd.Stat, it *stattable.Item) bool {
	o := c.old
	if o == nil || o.Flags&(stattable.Young|stattable.Fresh) != 0 || o.Raw.IsZero() || !sameStat(o, st) || touched(st) >= w.doubtful {
		return false
	}
	if w.cfg.Recheck && !(w.has(o.Raw) && (o.Git.IsZero() || w.has(o.Git))) {
		return false
	}
	git, flags := oid.ID{}, stattable.EntryFlags(0)
	if inGit(n, it) {
		var ok bool
		if git, flags, ok = w.reuseGit(n, c, st); !ok {
			return false
		}
	}
	it.Raw, it.Git, it.Flags = o.Raw, git, it.Flags|flags
	if flags&stattable.Converted != 0 && git.IsZero() {
		w.tooLarge(c)
	}
	return true
}

// reuseGit works out the id that the git tree has for a file whose bytes are
// those of the row. Not ok: they must be read to tell.
func (w *worker) reuseGit(n *node, c *candidate, st *dirfd.Stat) (git oid.ID, flags stattable.EntryFlags, ok bool) {
	o := c.old
	converted := o.Flags&stattable.Converted != 0
	if e := c.tracked.entry; e != nil && (converted || e.ID != o.Raw) && st.Mtime <= n.realm.repo.IndexStat.Mtime && w.settled(n, e, st) {
		return e.ID, stattable.Converted, true
	}
	if converted && c.sameAttrs && c.sameIndex && !o.Git.IsZero() {
		return o.Git, stattable.Converted, true
	}
	e, sure := w.unchanged(n, c, st)
	if sure && (converted || e.ID != o.Raw) {
		return e.ID, stattable.Converted, true
	}
	if converted && c.sameAttrs && o.Size > memoryBytesMax {
		if v, identity := w.conversion(n, c.name); !identity && !v.LinesOnly() {
			return git, stattable.Converted, true // it is too large still
		}
	}
	if converted || e != nil && !sure && e.ID != o.Raw {
		return git, 0, false
	}
	if !c.sameAttrs || o.Git.IsZero() { // new rules, or it was out of git when its row was written
		if _, identity := w.conversion(n, c.name); !identity {
			return git, 0, false
		}
	}
	return o.Raw, 0, true
}

func sameStat(o *stattable.Item, st *dirfd.Stat) bool {
	return o.Mode == st.Mode && o.Ino == st.Ino && o.Size == st.Size && o.Mtime == st.Mtime && o.Ctime == st.Ctime
}

func (s *scan) has(id oid.ID) bool { return s.cfg.Has != nil && s.cfg.Has(id) }

// matches reports whether the index has the stat data that the file has now.
func (w *worker) matches(n *node, e *gitindex.Entry, st *dirfd.Stat) bool {
	if e == nil || n.nested || e.ID.IsZero() || e.Flags&gitindex.IntentToAdd != 0 {
		return false
	}
	asFile := w.cfg.Settings.NoSymlinks && e.Mode.Type() == tree.Symlink && st.Mode.Type() == tree.File // how a link is checked out
	if e.Mode.Type() != st.Mode.Type() && !asFile {
		return false
	}
	const executable = 0o100
	if st.Mode.Type() == tree.File && !asFile && !w.cfg.Settings.NoFileMode && (e.Mode^st.Mode)&executable != 0 {
		return false
	}
	now := gitindex.FileStat{Ctime: st.Ctime, Mtime: st.Mtime, Ino: st.Ino, UID: st.UID, GID: st.GID, Size: st.Size}
	if runtime.GOOS == "windows" {
		// git keeps no inode there, and calls the time at which a file was made its ctime.
		now.Ctime, now.Ino, now.UID, now.GID = e.Stat.Ctime, uint64(e.Stat.Ino), e.Stat.UID, e.Stat.GID
		if st.Ctime >= n.realm.repo.IndexStat.Mtime {
			return false // changed since, whatever the time of modification says
		}
	}
	return e.StatMatches(now)
}

// unchanged returns the index entry of a file that git takes for unchanged: then
// git add leaves its id alone, even if the rules for conversions are others
// now. It says whether that is sure: not if the file is too young for an index
// written then, by git's own rule, which is in whole seconds, or by ours. A later
// index may make it so, whose entries are the same. No index has stat data of what
// was written after it.
func (w *worker) unchanged(n *node, c *candidate, st *dirfd.Stat) (e *gitindex.Entry, sure bool) {
	if st.Mtime > n.realm.repo.IndexStat.Mtime {
		return nil, false
	}
	e = c.tracked.entry
	if e == nil && c.isTracked && (!c.sameAttrs || c.old != nil && c.old.Flags&stattable.Converted != 0) {
		_, t, _, _ := w.inIndex(n.realm, n.path, c.name)
		e = t.entry
	}
	if !w.matches(n, e, st) || !w.has(e.ID) {
		return nil, false
	}
	return e, w.settled(n, e, st)
}

// settled reports whether git takes a file for what an entry of the index has, and that
// is sure.
func (w *worker) settled(n *node, e *gitindex.Entry, st *dirfd.Stat) bool {
	return w.matches(n, e, st) && w.has(e.ID) && !n.sinceIndex(st.Mtime) && !n.realm.index.Racy(e, w.slack)
}

// sinceIndex reports whether git cannot tell by a time that a file was last
// written before its index was.
func (n *node) sinceIndex(mtime int64) bool {
	second := int64(time.Second)
	return mtime/second >= n.realm.repo.IndexStat.Mtime/second
}

// seed takes the id of the index, if git saw the file as it is now.
func (w *worker) seed(n *node, c *candidate, st *dirfd.Stat, it *stattable.Item) bool {
	e, o := c.tracked.entry, c.old
	if !n.row.IsZero() && n.row.Flags()&stattable.Dropped != 0 || touched(st) >= w.doubtful {
		return false // the row may have known that git converted the file; or its bytes may be lost
	}
	if !w.matches(n, e, st) || n.realm.index.Racy(e, w.slack) || o != nil && (o.Raw != e.ID || o.Flags&stattable.Fresh != 0) && sameStat(o, st) {
		return false // in the last case the row knows that git converted the file, or that it may have read it too soon, as we did
	}
	if st.Mode.Type() == tree.File {
		if n.realm.unlike || !n.row.IsZero() && !c.sameAttrs {
			return false // the rules of now do not say how git made the entry
		}
		shrinks, identity := w.shrinks(n, c.name)
		if size, ok := w.size(n.realm, e); !shrinks || !ok || size != st.Size {
			return false
		}
		if !identity {
			if _, sure := w.unchanged(n, c, st); !sure {
				return false
			}
			it.Flags |= stattable.Converted
		}
	} else if !w.has(e.ID) {
		return false
	}
	it.Raw = e.ID
	if inGit(n, it) {
		it.Git = e.ID
	}
	return true
}

// finish completes the item and adds it to the directory.
func (a *attempt) finish() {
	w, c, st, it := a.worker, a.candidate, &a.st, a.it
	it.Mode, it.Ino, it.Size, it.Mtime, it.Ctime = st.Mode, st.Ino, st.Size, st.Mtime, st.Ctime
	it.GitMode = w.gitMode(st.Mode, c)
	if c.isTracked && it.GitMode != c.tracked.mode {
		c.into.head.Flags |= stattable.Hides // where modes are not trusted, the index's will count again
	}
	if w.young(st) && !a.quiet {
		it.Flags |= stattable.Young
	}
	if st.Nlink > 1 && st.Mode.Type() == tree.File {
		it.Flags |= stattable.Linked
		w.hardLinked(c.old, st.Ino)
	}
	if it.Flags&stattable.OutOfGit != 0 {
		w.note(c.into, stattable.Note{Name: c.name, Reason: refusedReason, Kept: true})
	}
	c.into.items = append(c.into.items, it)
}

// gitMode is the mode of a file in the git tree: where the file system cannot
// be trusted to tell, the index does.
func (w *worker) gitMode(mode tree.Mode, c *candidate) tree.Mode {
	set := &w.cfg.Settings
	was := c.tracked.mode
	switch {
	case mode.Type() == tree.File && set.NoSymlinks && c.isTracked && was == tree.GitSymlink:
		return tree.GitSymlink
	case mode.Type() == tree.File && set.NoFileMode && c.isTracked && was.Type() == tree.File:
		return was.Git()
	case mode.Type() == tree.File && set.NoFileMode:
		return tree.GitFile
	}
	return mode.Git()
}
