package worktree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/ignore"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A listing decides, name by name, what of a directory is recorded.
type listing struct {
	*worker
	n         *node
	dir       *dirfd.Dir
	into      *contents
	old       map[string]stattable.Item // the row's entries
	known     known
	rules     *ignore.Chain
	sameAttrs bool // the attributes are those of the row
	sameIndex bool // and so are the index entries
	hasIgnore bool // there is something called .gitignore
	hasAttr   bool // there is something called .gitattributes
	kids      []*node
	one       candidate         // the file that is looked at
	waiting   []string          // ignored files that may be small and few enough
	left      map[string]oid.ID // names of the index that are on disk and were left out with a note, and what git's tree has of them
}

const searchAll tree.Mode = 0o111 // whoever it is may look up names

// list looks at a directory afresh.
func (w *worker) list(n *node, dir *dirfd.Dir, st *dirfd.Stat) error {
	names, err := dir.List()
	if err == nil && st.Mode&searchAll != searchAll && (len(names) > 0 || w.holds(n)) {
		err = dir.Search()
	}
	if err == nil && len(names) > tree.EntriesMax {
		err = fmt.Errorf("%w: a directory of more than %d entries", tree.ErrLarge, tree.EntriesMax)
	}
	if err != nil {
		return w.unreadable(n, err)
	}
	w.count.Listed++
	// The index is in order, and so will be what is recorded.
	slices.SortFunc(names, func(a, b dirfd.Name) int { return strings.Compare(a.Name, b.Name) })
	l := &listing{worker: w, n: n, dir: dir, old: oldItems(n.row)}
	if err := l.prepare(names, st); err != nil {
		return err
	}
	l.count(names)
	for i := range names {
		if err := l.name(&names[i]); err != nil {
			return err
		}
	}
	if err := l.takeSmall(); err != nil {
		return err
	}
	if err := l.absent(); err != nil {
		return err
	}
	l.checkRules()
	n.contents = l.into
	for _, c := range l.kids {
		c.settle()
	}
	w.descend(n, l.kids)
	return nil
}

// prepare finds out which rules and which index entries hold here.
func (l *listing) prepare(names []dirfd.Name, st *dirfd.Stat) error {
	n := l.n
	n.ignoreFile, n.attrFile = ruleFile{}, ruleFile{}
	dotGit := false
	for i := range names {
		switch names[i].Name {
		case gitName:
			dotGit = true
		case ignoreName:
			n.ignoreFile.onDisk, l.hasIgnore = regular(l.dir, &names[i]), true
		case attrName:
			n.attrFile.onDisk, l.hasAttr = regular(l.dir, &names[i]), true
		}
	}
	if dotGit && n.parent != nil {
		if err := l.resolve(n); err != nil {
			return err
		}
	}
	var err error
	if l.known, err = l.knownIn(n, l.old); err != nil {
		return err
	}
	l.into = &contents{head: l.head(n, st), items: make([]stattable.Item, 0, len(names)), listed: true}
	l.into.head.Index = l.known.digest
	if dotGit && n.parent != nil {
		l.into.head.Flags |= stattable.DotGit
	}
	if !n.row.IsZero() {
		head := n.row.Head()
		l.sameAttrs, l.sameIndex = head.Attrs == n.attrs, head.Index == l.known.digest
	}
	if err := l.ownRules(); err != nil {
		return err
	}
	l.seen = l.seen[:0]
	return nil
}

// ownRules brings the directory's own rule files into force. Those of the index
// count whatever their mode, as for git: also what would be a link's target.
func (l *listing) ownRules() error {
	n := l.n
	if n.realm.borrows() {
		n.attrFile = ruleFile{}
	}
	for _, f := range []struct {
		file *ruleFile
		name string
		here bool // on disk, whatever it is
	}{{&n.ignoreFile, ignoreName, l.hasIgnore}, {&n.attrFile, attrName, l.hasAttr}} {
		if err := l.recall(f.name, f.here); err != nil {
			return err
		}
		if f.name == attrName && n.realm.borrows() {
			continue
		}
		if t, ok := l.known.file(f.name); ok && !f.here && t.skip && t.mode != tree.GitLink && l.readsIndexed(f.name) {
			f.file.id = t.id
		}
	}
	if n.ignored || n.all {
		n.ignoreFile = ruleFile{} // git reads no rules in an ignored directory
	}
	had := n.attrFile
	l.rules = l.ignoring(n, l.dir)
	l.attributing(n, l.dir) // its file is read, if there is one
	n.rulesOut, n.attrsOut = n.rules, n.attrs
	if n.ignoreFile.refused {
		l.note(l.into, stattable.Note{Name: ignoreName, Reason: refusedRules, Kept: true})
	}
	if n.attrFile.refused {
		l.note(l.into, stattable.Note{Name: attrName, Reason: refusedRules, Kept: true})
	}
	if n.ignoreFile != (ruleFile{}) {
		n.rulesOut = mixID(n.rules, n.ignoreFile.id)
	}
	if n.attrFile != (ruleFile{}) {
		n.attrsOut = mixID(n.attrs, n.attrFile.id)
	}
	if it := l.old[attrName]; it.Flags&stattable.Rule != 0 || had != (ruleFile{}) || l.leftOut(attrName) {
		l.sameAttrs = l.sameAttrs && it.Flags&stattable.Rule != 0 && it.Raw == n.attrFile.id
	}
	return nil
}

// leftOut reports whether the row has a note about a name. Attributes that could
// not be read are no entry of it, and those of the index were in force.
func (l *listing) leftOut(name string) bool {
	return !l.n.row.IsZero() && slices.ContainsFunc(l.n.row.Notes(), func(note stattable.Note) bool { return note.Name == name })
}

// name decides about one name on disk.
func (l *listing) name(f *dirfd.Name) error {
	name, kind := l.identify(f)
	switch kind {
	case tree.Dir:
		l.subdirectory(name)
		return nil
	case tree.File, tree.Symlink:
		return l.file(name, kind)
	case tree.Absent:
		return nil
	}
	return l.special(name)
}

// file decides about a file or a link, and captures it.
func (l *listing) file(name string, kind tree.Mode) error {
	f := &l.one
	*f = candidate{name: name, sameAttrs: l.sameAttrs, sameIndex: l.sameIndex, into: l.into, old: l.before(name)}
	f.tracked, f.isTracked = l.known.file(name)
	if l.known.holds(name) || f.tracked.mode == tree.GitLink {
		l.into.head.Flags |= stattable.Hides
	}
	if !f.isTracked {
		f.ignored = l.n.ignored || l.rules.Match(name, false) == ignore.Ignored
		if l.n.all || l.force.below[tree.Join(l.n.path, name)] {
			f.forced = true
		}
	}
	f.rule = kind == tree.File && (name == ignoreName && !l.n.ignored && !l.n.all || name == attrName && !l.n.realm.borrows())
	if l.deferred(f) {
		return nil
	}
	if unwanted := f.ignored && l.cfg.Policy == nil || !f.isTracked && l.n.trackedOnly(); unwanted && !f.forced && !f.rule {
		return nil
	}
	notes := len(l.into.notes)
	ok, err := l.capture(l.n, l.dir, f)
	if ok {
		l.see(name)
		return l.keepBelow(name)
	}
	if len(l.into.notes) > notes && f.isTracked {
		l.leave(name, oid.ID{})
	}
	return err
}

// subdirectory decides whether a directory is entered, and how.
func (l *listing) subdirectory(name string) {
	n := l.n
	c := n.child(name)
	known, isGitlink := l.known.file(name)
	holds := l.known.holds(name)
	instead := isGitlink && known.mode != tree.GitLink
	if isGitlink && (holds || instead) { // both: in a conflict
		l.into.head.Flags |= stattable.Hides
	}
	isGitlink = isGitlink && !instead
	c.held, c.noIndex = isGitlink || holds, !holds
	l.see(name)
	switch {
	case isGitlink:
		c.gitlink = gitlink{commit: known.id, headed: l.known.row[name].Mode.Type() == tree.Nested}
		c.gitlink.conflict, c.side = l.conflicted(c), min(c.side, asGitlink)
	case holds:
		c.ignored = n.ignored || l.rules.Match(name, true) == ignore.Ignored
		c.all = c.all || l.force.below[c.path]
	default:
		if !l.enter(c, instead) {
			return
		}
	}
	if c.side != outside && l.cfg.Settings.refused(name, false) {
		c.side = outside
		l.note(l.into, stattable.Note{Name: name, Reason: refusedReason, Kept: true})
	}
	l.kids = append(l.kids, c)
}

// enter decides about a directory of which the index has nothing, or a file
// instead: then it may be a repository, which git adds though it be ignored.
func (l *listing) enter(c *node, instead bool) bool {
	if l.force.below[c.path] {
		c.all = true
	}
	ignored := l.n.ignored || l.n.buried || l.rules.Match(c.name, true) == ignore.Ignored
	if c.all {
		if c.buried = ignored; ignored {
			c.side = outside
		}
		return true
	}
	c.ignored = ignored
	forced := l.force.above[c.path]
	if l.n.trackedOnly() {
		return forced
	}
	place, why := l.placeOf(c.path, true, c.ignored, 0)
	switch {
	case place == Nowhere && !forced:
		l.note(l.into, stattable.Note{Name: c.name, Reason: why})
		return false
	case place == Overlay && !c.ignored:
		c.side = outside
	}
	return !c.ignored || place == Overlay || place == Unasked || forced || instead
}

// checkRules makes the next scan list the directory again if a rule file was
// changed between being read for its rules and being captured.
func (l *listing) checkRules() {
	for i := range l.into.items {
		it := &l.into.items[i]
		if it.Flags&stattable.Rule == 0 {
			continue
		}
		want := l.n.ignoreFile
		if it.Name == attrName {
			want = l.n.attrFile
		}
		if it.Raw != want.id {
			l.into.head.Flags |= stattable.Ambiguous
		}
	}
}

// oldItems returns the entries of a row by name, nil if there is no row.
func oldItems(row stattable.Row) map[string]stattable.Item {
	if row.IsZero() {
		return nil
	}
	old := map[string]stattable.Item{}
	for _, e := range row.Entries() {
		it := e.Item()
		old[it.Name] = it
	}
	return old
}

// spelling returns a name as the index spells it, if the file system takes
// both for one (core.ignoreCase).
func (l *listing) spelling(name string) string {
	names := l.known.names()
	if slices.Contains(names, name) {
		return name
	}
	for _, other := range names {
		if !strings.EqualFold(name, other) {
			continue
		}
		a, errA := l.dir.Lstat(name)
		b, errB := l.dir.Lstat(other)
		if errA == nil && errB == nil && a.Same(&b) {
			return other
		}
	}
	return name
}
