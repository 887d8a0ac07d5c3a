package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// reached are the trees and the contents that each snapshot of a repository names, the oldest first.
func (f *forger) reached() (all []map[restic.ID]bool) {
	list, err := f.repo.Snapshots(context.Background(), func(err error) { f.t.Error(err) })
	f.must(err)
	slices.SortFunc(list, func(a, b *restic.Snapshot) int { return a.Time.Compare(b.Time) })
	for _, s := range list {
		seen := map[restic.ID]bool{}
		var walk func(restic.ID)
		walk = func(id restic.ID) {
			seen[id] = true
			nodes, err := f.repo.GetTree(context.Background(), id)
			f.must(err)
			for _, n := range nodes {
				if n.Type == "dir" {
					walk(n.Subtree)
				}
				for _, id := range n.Content {
					seen[id] = true
				}
			}
		}
		walk(s.Tree)
		all = append(all, seen)
	}
	return all
}

// Of a file on the third level there are four directories, each a tree there, and what holds them and the record: two
// trees more. The record and the file are the contents. What git does not keep has an overlay in each of its directories,
// and a tree that leads there.
func TestAPushOfOneFileMakesOneTreeForEachDirectory(t *testing.T) {
	for name, want := range map[string]int{"tracked": 6 + 2, "ignored": 6 + 2 + 2*4} {
		p := newPlace(t, true)
		p.write(".gitignore", ".env\n")
		p.write("a/b/c/tracked", "1")
		p.write("a/b/other/f", "1")
		p.write("beside/it/f", "1")
		if name == "ignored" {
			p.write("a/b/c/.env", "1")
		}
		e := p.open()
		p.snap(e, "1", nil)
		m := p.newRemote(e)
		p.mustPush(e, m)
		path := map[string]string{"tracked": "a/b/c/tracked", "ignored": "a/b/c/.env"}[name]
		p.write(path, "2")
		p.snap(e, "2", nil)
		p.mustPush(e, m)
		all := p.forger(e, m).reached()
		made := 0
		for id := range all[1] {
			if !all[0][id] {
				made++
			}
		}
		if made != want {
			t.Errorf("a push of one %s file made %d trees and contents, want %d", name, made, want)
		}
	}
}

// Of a directory whose payload is written down nowhere the nodes say what git's tree has. Whoever says another thing is
// found by the id that the tree has to have.
func TestWhatImpliesAnotherTreeThanItsIdIsNamed(t *testing.T) {
	other := oid.BLAKE3.Sum(oid.Tree, []byte("other")).String()
	for what, change := range map[string]func(*restic.Node){
		"":                  func(*restic.Node) {},
		"another object":    func(n *restic.Node) { n.Target = other },
		"no object":         func(n *restic.Node) { n.Target = "" },
		"what is no object": func(n *restic.Node) { n.Target = "../" + n.Target },
		"of another kind":   func(n *restic.Node) { n.Target = strings.Repeat("0", 40) },
		"another name":      func(n *restic.Node) { n.Name = "m" },
		"another type":      func(n *restic.Node) { n.Type, n.Mode, n.Target = "symlink", fs.ModeSymlink|0o777, "x" },
	} {
		f, e, m := newForger(t)
		inner := f.around("", nil)
		n := f.dir("n", inner.files)
		n.Target = inner.git.String()
		payload := append([]byte("40000 n\x00"), inner.git.Bytes()...)
		change(&n)
		f.snapshot(&forged{f.alg.Sum(oid.Tree, payload), f.put(n)})
		got, err := f.fetched(e, m)
		if what == "" && (err != nil || len(got.Snapshots) != 1) {
			t.Errorf("%+v %v", got, err)
		}
		if what != "" && (err != nil || len(got.Snapshots) != 0 || len(got.Left) != 1 || !strings.Contains(got.Left[0].Reason, "not those of tree")) {
			t.Errorf("%s: %+v %v", what, got, err)
		}
	}
}

// What git's tree has that is not on disk, or on disk otherwise, is written down; the rest of the directory comes back all
// the same, with the ids it had.
func TestATreeThatItsFilesDoNotImplyComesBack(t *testing.T) {
	p := newPlace(t, true)
	p.write("sub/f", "in the submodule\n")
	p.git("-C", "sub", "init", "-q")
	p.git("-C", "sub", "add", "f")
	p.git("-C", "sub", "commit", "-qm", "one")
	p.write("dir/f", "1\n")
	p.write("dir/sparse", "2\n")
	p.write("dir/deep/run.sh", "3\n")
	p.must(errors.Join(os.Chmod(filepath.Join(p.dir, "dir/deep/run.sh"), 0o755), os.Symlink("f", filepath.Join(p.dir, "dir/deep/link"))))
	p.git("add", "-A")
	p.git("commit", "-qm", "one")
	p.git("update-index", "--skip-worktree", "dir/sparse")
	p.must(os.Remove(filepath.Join(p.dir, "dir/sparse")))
	p.must(os.Chmod(filepath.Join(p.dir, "dir/f"), 0o444))
	e := p.open()
	s := p.snap(e, "1", nil)
	was := p.shown(p.dir)
	m := p.newRemote(e)
	p.mustPush(e, m)
	dir := filepath.Join(p.dir, "..", "elsewhere")
	there := newPlace(t, false)
	r, err := resumed(there, dir, m.URL, "")
	p.must(err)
	if r.Snapshot.ID != s.ID || r.Snapshot.Tree != s.Tree || len(r.Written.Conflicts) > 0 {
		t.Errorf("%+v %+v", r.Snapshot, r.Written)
	}
	p.wantShown(dir, was)
}
