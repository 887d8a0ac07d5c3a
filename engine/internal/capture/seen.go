package capture

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/rules"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// A Seen is what a scan found. Close it when done.
type Seen struct {
	State     tree.State
	Skipped   []records.Note // what was left out
	Forced    []string       // what was to be captured although it is ignored
	Nested    []records.NestedAt
	Rules     records.Rules
	Rechecked bool        // the stat table was not trusted: what was missing was read again
	Trees     tree.Loader // of the capture, of the store and of git
	Memory    *Memory     // what the scan made and read

	Result *worktree.Result // of the scan; once it is kept for the next one, [Seen.Fingerprint] knows of nothing

	statTable *stattable.Table
	place     Place
	how       How
}

// A Staged is a Seen whose contents and trees are in a stage of the store.
type Staged struct {
	*Seen
	Stage *cas.Stage
}

// Discard drops what was staged and is not committed, and closes what was seen.
// The second call does nothing.
func (s *Staged) Discard() {
	s.Stage.Discard()
	s.Close()
}

// Close closes the stat table. Afterwards [Seen.Fingerprint] knows of nothing. The
// second call does nothing.
func (s *Seen) Close() { s.statTable.Close() }

// Unstable names the files that kept changing.
func (s *Seen) Unstable() (out []records.Note) {
	for _, p := range s.Result.Unstable {
		out = append(out, records.Note{Path: records.Path(p), Reason: "it kept changing while it was read; its last whole state was kept"})
	}
	return out
}

// sameRules reports whether the rules outside the tree are those of a snapshot.
func (s *Seen) sameRules(snap *records.Snapshot) bool {
	mine, its := &s.Rules, &snap.Rules
	return mine.Function == its.Function && mine.Fold == its.Fold && mine.Exclude == its.Exclude &&
		slices.Equal(mine.Ignore, its.Ignore) && slices.Equal(s.Nested, snap.Nested)
}

// Same reports whether a snapshot, which may be nil, is of the state that was
// found and of the same rules. The rules count too: a restore keeps what they
// ignored.
func (s *Seen) Same(snap *records.Snapshot) bool {
	if snap == nil || snap.Lost != "" || snap.State() != s.State || !s.sameRules(snap) {
		return false
	}
	if snap.SkippedIn.IsZero() {
		return slices.Equal(snap.Skipped, s.Skipped)
	}
	var mine records.Snapshot
	mine.Skipped = s.Skipped
	err := mine.PackSkipped(func(list []byte) (oid.ID, error) { return s.place.Objects.Algorithm.Sum(oid.Blob, list), nil })
	return err == nil && mine.SkippedIn == snap.SkippedIn
}

// Fingerprint returns the fingerprint of what the scan saw at a path. By it, a step of
// a restore recognises that nothing changed there since. What was young at the
// scan may have been written again within the same tick, where clocks are coarse, and then
// only its content can tell. A step that replaces the content reads it in any case, when it
// has moved it aside. For one that does not, sure is true, and what was young has none.
func (s *Seen) Fingerprint(path string, sure bool) apply.Fingerprint {
	at, ok := s.Result.Lookup(path)
	if !ok || sure && at.Young {
		return apply.Fingerprint{}
	}
	return apply.Fingerprint{Mode: at.Stat.Mode, Ino: at.Stat.Ino, Size: at.Stat.Size, Mtime: at.Stat.Mtime, Ctime: at.Stat.Ctime}
}

// Mode returns what lies at a path now, [tree.Absent] for nothing, [dirfd.Unseen] where it
// cannot be looked at. Symbolic links on the way to it are not followed.
func (s *Seen) Mode(path string) tree.Mode {
	st, ok := dirfd.Lstat(s.place.Root, path)
	if ok && s.goesByAnother(path, st) {
		return tree.Absent
	}
	return st.Mode
}

// goesByAnother reports whether what is found at a path is recorded under a name in other
// case, which the file system takes for the same. It is not at the path then, and a plan
// moves or deletes it by its own name. An ignored file that stays wherever it is counts
// as there by either name.
func (s *Seen) goesByAnother(path string, st dirfd.Stat) bool {
	dir, name := tree.Split(path)
	otherCase := dirfd.OtherCase(name)
	other, ok := dirfd.Lstat(s.place.Root, tree.Join(dir, otherCase))
	if !ok || otherCase == name || st.Ino == 0 || other.Ino != st.Ino || other.Dev != st.Dev {
		return false // names are told apart, as nearly everywhere
	}
	if s.lists(dir, name) && s.lists(dir, otherCase) {
		return false // two names of one file
	}
	above, _, err := tree.Lookup(s.State, dir, s.place.Objects.Algorithm, s.Trees)
	if err != nil {
		return false
	}
	list, err := tree.Children(above.State(), s.place.Objects.Algorithm, s.Trees)
	if err != nil {
		return false
	}
	i := slices.IndexFunc(list, func(c tree.Child) bool { return c.Node.Mode.Type() != tree.Absent && strings.EqualFold(c.Name, name) })
	if i < 0 || list[i].Name == name {
		return false
	}
	_, unasked, _ := s.Class(tree.Join(dir, list[i].Name))
	return !unasked
}

// lists reports whether a directory has a name in just this case.
func (s *Seen) lists(dir, name string) bool {
	at, err := dirfd.OpenBelow(s.place.Root, dir)
	if err != nil {
		return false
	}
	defer at.Close()
	names, err := at.List()
	return err == nil && slices.ContainsFunc(names, func(n dirfd.Name) bool { return n.Name == name })
}

// Entries returns how many names the directory at a path has now, -1 if nobody can tell.
func (s *Seen) Entries(path string) int {
	dir, err := dirfd.OpenBelow(s.place.Root, path)
	if err != nil {
		return -1
	}
	defer dir.Close()
	names, err := dir.List()
	if err != nil {
		return -1
	}
	return len(names)
}

// Class returns what the scan took a file for: ignored; recorded though it is and nobody
// has named it; in the index of its repository.
func (s *Seen) Class(path string) (ignored, unasked, tracked bool) {
	at, _ := s.Result.Lookup(path)
	return at.Ignored, at.Unasked, at.Tracked
}

// Holds reports whether a file or link is there as a state has it. It reads a file
// only if that has the length of the content.
func (s *Seen) Holds(path string, node apply.Node) bool {
	dir, err := dirfd.OpenBelow(s.place.Root, tree.Parent(path))
	if err != nil {
		return false
	}
	defer dir.Close()
	name, alg := filepath.Base(path), s.place.Objects.Algorithm
	st, err := dir.Lstat(name)
	if err != nil || st.Mode.Type() != node.Mode.Type() {
		return false
	}
	if st.Mode.Type() == tree.Symlink {
		target, err := dir.Readlink(name)
		return err == nil && alg.Sum(oid.Blob, []byte(target)) == node.ID
	}
	kind, size, err := s.place.Objects.Stat(context.Background(), node.ID)
	if err != nil || kind != oid.Blob || size != st.Size || st.Mode != node.Mode {
		return false
	}
	f, err := dir.OpenFile(name)
	if err != nil {
		return false
	}
	defer f.Close()
	h := alg.NewHasher(oid.Blob, size)
	n, err := io.Copy(h, io.LimitReader(f, size+1))
	return err == nil && n == size && h.Sum() == node.ID
}

// RulesOf names rules by the ids of their texts.
func RulesOf(t *rules.Texts, alg oid.Algorithm) records.Rules {
	r := records.Rules{Function: worktree.TreeFunction, Fold: t.Fold}
	for _, text := range t.Ignore {
		r.Ignore = append(r.Ignore, alg.Sum(oid.Blob, text))
	}
	if len(t.Exclude) > 0 {
		r.Exclude = alg.Sum(oid.Blob, t.Exclude)
	}
	return r
}

// KeepRules stages the texts that a record names.
func KeepRules(ctx context.Context, stage *cas.Stage, t *rules.Texts) error {
	for _, text := range t.All() {
		if _, err := stage.Put(ctx, oid.Blob, text, oid.ID{}); err != nil {
			return objects.StoreError(err)
		}
	}
	return nil
}

// usualUmasks are tried in this order; where none explains the root
// directory's permissions, the first is taken.
var usualUmasks = []tree.Mode{022, 002, 077, 027, 007}

// Umask finds the umask that explains the permissions of a worktree's root.
func Umask(root string) tree.Mode {
	if info, err := os.Stat(root); err == nil {
		for _, u := range usualUmasks {
			if tree.Mode(info.Mode().Perm()) == 0777&^u {
				return u
			}
		}
	}
	return usualUmasks[0]
}
