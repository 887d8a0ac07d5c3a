//go:build !windows

package exact

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A forger makes snapshots that no scan would make, as somebody might who can
// write into a repository: straight into the store.
type forger struct {
	*world
	store *cas.Store
	stage *cas.Stage
}

func (w *world) forge() *forger {
	w.Helper()
	s, err := cas.Open(w.Context(), w.path(".git/rewind/store.db"), &cas.Options{Algorithm: oid.SHA1})
	w.must(err)
	return &forger{world: w, store: s, stage: s.Stage()}
}

// An evil is an entry of a forged tree: the mode says what it is, the content
// is the file's or the link's.
type evil struct {
	name    string
	mode    tree.Mode
	content string
	sub     []evil
}

func (f *forger) blob(text string) oid.ID {
	id, err := f.stage.Put(f.Context(), oid.Blob, []byte(text), oid.ID{})
	f.must(err)
	return id
}

// tree stores a tree as it is given: no order, no check.
func (f *forger) tree(entries []evil) oid.ID {
	var payload []byte
	for _, e := range entries {
		id := oid.ID{}
		switch {
		case e.sub != nil:
			id = f.tree(e.sub)
		case e.mode == tree.GitLink:
			id = oid.SHA1.Sum(oid.Commit, nil)
		default:
			id = f.blob(e.content)
		}
		payload = tree.Append(payload, tree.Entry{Name: e.name, Mode: e.mode, ID: id}, oid.SHA1)
	}
	id, err := f.stage.Put(f.Context(), oid.Tree, payload, oid.ID{})
	f.must(err)
	return id
}

// snapshot records a state as if rewind had.
func (f *forger) snapshot(state tree.State) string {
	f.Helper()
	s := engine.Snapshot{Tree: state.Tree, Overlay: state.Overlay, Umask: state.Umask, Time: time.Now(), Where: "."}
	s.Rules.Function = 1
	var err error
	s.ID, err = f.stage.Put(f.Context(), oid.Commit, []byte("tree "+state.Tree.String()+"\n\nforged "+state.Overlay.String()+"\n"), oid.ID{})
	f.must(err)
	record, err := json.Marshal(s)
	f.must(err)
	f.must(f.stage.Commit(f.Context(), func(u *cas.Update) error {
		seq, err := u.Table("snapshots").Append(record)
		if err != nil {
			return err
		}
		return u.Table("snapshot-ids").Put(s.ID.Bytes(), binary.BigEndian.AppendUint64(nil, seq))
	}))
	f.stage = f.store.Stage()
	return s.ID.String()
}

const (
	file  = tree.GitFile
	dir   = tree.GitDir
	link  = tree.GitSymlink
	evils = "owned"
)

// hostile are the trees, each with the paths that must not be written. All are
// known attacks: CVE-2014-9390 (.Git), CVE-2019-1352 and -1353 (NTFS streams,
// git~1), CVE-2021-21300 and -2024-32002 (links swapped in by case folding),
// CVE-2025-48384 (carriage return), CVE-2018-11233, CVE-2018-17456.
var hostile = map[string]struct {
	tree    []evil
	refused []string // named by the restore; nil: the tree as a whole is refused
}{
	"a .git": {[]evil{{name: ".git", mode: dir, sub: []evil{{name: "config", mode: file, content: evils}, {name: "hooks", mode: dir, sub: []evil{{name: "post-checkout", mode: tree.GitExec, content: evils}}}}}},
		[]string{".git", ".git/config", ".git/hooks", ".git/hooks/post-checkout"}},
	"a .git below": {[]evil{{name: "sub", mode: dir, sub: []evil{{name: ".git", mode: dir, sub: []evil{{name: "config", mode: file, content: evils}}}}}},
		[]string{"sub/.git", "sub/.git/config"}},
	"a .git as a file":  {[]evil{{name: ".git", mode: file, content: "gitdir: /outside"}}, []string{".git"}},
	"a .git as a link":  {[]evil{{name: ".git", mode: link, content: "../outside"}}, []string{".git"}},
	"another case":      {[]evil{{name: ".GIT", mode: dir, sub: []evil{{name: "hooks", mode: dir, sub: []evil{{name: "x", mode: file, content: evils}}}}}}, []string{".GIT", ".GIT/hooks", ".GIT/hooks/x"}},
	"a short name":      {[]evil{{name: "git~1", mode: dir, sub: []evil{{name: "config", mode: file, content: evils}}}}, []string{"git~1", "git~1/config"}},
	"a stream":          {[]evil{{name: ".git::$INDEX_ALLOCATION", mode: dir, sub: []evil{{name: "config", mode: file, content: evils}}}}, []string{".git::$INDEX_ALLOCATION", ".git::$INDEX_ALLOCATION/config"}},
	"dots and spaces":   {[]evil{{name: ".git. . ", mode: file, content: evils}}, []string{".git. . "}},
	"a backslash":       {[]evil{{name: `x\.git\config`, mode: file, content: evils}}, []string{`x\.git\config`}},
	"an ignorable rune": {[]evil{{name: ".g\u200cit", mode: dir, sub: []evil{{name: "config", mode: file, content: evils}}}}, []string{".g\u200cit", ".g\u200cit/config"}},
	"dot dot":           {[]evil{{name: "..", mode: dir, sub: []evil{{name: "outside", mode: dir, sub: []evil{{name: "x", mode: file, content: evils}}}}}}, nil},
	"dot":               {[]evil{{name: ".", mode: dir, sub: []evil{{name: "x", mode: file, content: evils}}}}, nil},
	"a slash":           {[]evil{{name: "../outside/x", mode: file, content: evils}}, nil},
	"an absolute name":  {[]evil{{name: "/tmp/x", mode: file, content: evils}}, nil},
	"an empty name":     {[]evil{{name: "", mode: file, content: evils}}, nil},
	"twice a name":      {[]evil{{name: "a", mode: link, content: "../outside"}, {name: "a", mode: dir, sub: []evil{{name: "x", mode: file, content: evils}}}}, nil},
	"twice a name, apart": {[]evil{{name: "a", mode: link, content: "../outside"}, {name: "a.b", mode: file, content: "x"},
		{name: "a", mode: dir, sub: []evil{{name: "x", mode: file, content: evils}}}}, nil},
	"no order":          {[]evil{{name: "b", mode: file, content: "b"}, {name: "a", mode: file, content: "a"}}, nil},
	"a device":          {[]evil{{name: "a", mode: 0o020644, content: "a"}}, nil},
	"a link for a tree": {[]evil{{name: "a", mode: dir, content: "../outside"}}, nil},
}

// TestHostileTreesWriteNothingOutside restores and exports each forged tree
// and compares all that must not change.
func TestHostileTreesWriteNothingOutside(t *testing.T) {
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRepo(t)
			w.snapshot()
			f := w.forge()
			id := f.snapshot(tree.State{Tree: f.tree(append([]evil{}, c.tree...)), Umask: 0o022})
			// The same as an overlay: it has a decoder of its own to get past.
			over := f.snapshot(tree.State{Tree: f.tree(nil), Overlay: f.tree(inOverlay(c.tree)), Umask: 0o022})
			before := w.look()
			for _, id := range []string{id, over} {
				w.attacked(id, c.refused, before)
			}
		})
	}
}

// inOverlay gives entries the modes that an overlay has.
func inOverlay(entries []evil) []evil {
	out := []evil{}
	for _, e := range entries {
		if e.sub != nil {
			e.sub = inOverlay(e.sub)
		}
		if e.mode == dir {
			e.mode |= 0o755
		}
		out = append(out, e)
	}
	return out
}

// attacked restores and exports one forged snapshot.
func (w *world) attacked(id string, refused []string, before state) {
	w.Helper()
	r := w.rewind("restore", id, "--yes", "--json")
	into := filepath.Join(w.base, "export-"+id[:8])
	x := w.rewind("export", id, into)
	w.sameSurroundings("restore and export", w.look(), before)
	if refused == nil {
		for _, f := range []finished{r, x} {
			if f.code != 4 || !strings.Contains(f.errors, "damaged") && !strings.Contains(f.errors, "malformed") {
				w.Errorf("the tree was not refused: exit %d, %s%s", f.code, f.out, f.errors)
			}
		}
		w.is("a refused restore", before)
		return
	}
	if r.code != 5 || x.code != 5 {
		w.Errorf("restore exited with %d, export with %d: %s%s", r.code, x.code, r.errors, x.errors)
	}
	slices.Sort(refused)
	w.same("the restore refused", pathsOf(r.Conflicts), refused)
	exported := pictureOf(w, into, nil)
	for _, path := range refused {
		if !strings.Contains(x.errors, strings.Trim(strconv.Quote(path), `"`)) && !strings.Contains(x.errors, path) {
			w.Errorf("the export does not name %q: %s", path, x.errors)
		}
		if _, there := exported[path]; there {
			w.Errorf("the export wrote %q", path)
		}
	}
	w.clean("undo", w.undo())
	w.is("undo of the attack", before)
}

// TestOddButHarmlessTreesAreRestored checks that what looks like an attack and
// can do no harm is restored as it is.
func TestOddButHarmlessTreesAreRestored(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	w.snapshot()
	f := w.forge()
	id := f.snapshot(tree.State{Umask: 0o022, Tree: f.tree([]evil{
		{name: ".gitmodules", mode: link, content: "../outside/treasure"},
		{name: ".gitsub", mode: file, content: "x"},
		{name: "cr\r", mode: dir, sub: []evil{{name: "x\r\n", mode: file, content: "x"}}},
		{name: "out", mode: link, content: w.outside},
		{name: "sub\r", mode: tree.GitLink},
	})})
	before := w.look()
	w.restore(id)
	got := w.look()
	w.sameSurroundings("restore", got, before)
	for path, line := range map[string]string{".gitmodules": "Lrwxrwxrwx ../outside/treasure", "out": "Lrwxrwxrwx " + w.outside, "sub\r": "drwxr-xr-x"} {
		if got.files[path] != line {
			t.Errorf("%q is %q, want %q", path, got.files[path], line)
		}
	}
	if _, there := got.files["cr\r/x\r\n"]; !there {
		t.Error("a name with a carriage return is missing")
	}
	w.undo()
	w.is("undo", before)
}

// TestAForgedLinkDoesNotLeadALaterRestore checks that a store's link target cannot
// lead a later write: first the link, then what would lie below it.
func TestAForgedLinkDoesNotLeadALaterRestore(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	w.snapshot()
	f := w.forge()
	first := f.snapshot(tree.State{Umask: 0o022, Tree: f.tree([]evil{{name: "a", mode: link, content: w.outside}})})
	second := f.snapshot(tree.State{Umask: 0o022, Tree: f.tree([]evil{{name: "a", mode: dir, sub: []evil{{name: "treasure", mode: file, content: evils}}}})})
	before := w.look()
	w.restore(first)
	w.restore(second)
	w.sameSurroundings("two restores", w.look(), before)
	if got := w.read("a/treasure"); got != evils {
		t.Errorf("a/treasure is %q", got)
	}
	_ = os.Remove(w.path("a"))
}

// TestNamesLikeGitAreRecordedAndNeverWritten checks that a file whose name some
// file system takes for .git is in the snapshot, named as kept out of git, and
// that a restore names it as a conflict and leaves what is there.
func TestNamesLikeGitAreRecordedAndNeverWritten(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	names := []string{".GIT", "git~1", "sub/.git ."}
	for _, name := range names {
		w.write(name, "then "+name)
	}
	then := w.look()
	f := w.rewind("snapshot", "--json")
	w.same("the snapshot named as skipped", pathsOf(f.Skipped), slices.Clone(names))
	churn(w)
	for _, name := range names {
		w.write(name, "now")
	}
	now := w.look()
	r := w.rewind("restore", f.ID, "--yes", "--json")
	w.same("the restore named as conflicts", pathsOf(r.Conflicts), slices.Clone(names))
	w.is("restore", state{files: then.files.With(now.files, names...), git: now.git, outside: now.outside})
	for _, name := range names {
		if got := w.cat(f.ID, name); got != "then "+name {
			t.Errorf("cat %s gave %q", name, got)
		}
	}
}
