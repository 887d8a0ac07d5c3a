package plan

import (
	"errors"
	"sync"

	"github.com/seed-82afce7a/rewind/gitbridge/gitindex"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Checkout is what it takes to write a snapshot into a second directory: the steps,
// and the index by which git takes that directory for a checkout of a commit.
type Checkout struct {
	alg   oid.Algorithm
	trees tree.Loader
	Steps []apply.Step // what makes the directory, directories before what lies in them
	IDs   []oid.ID     // the contents, in that order

	git    map[string]tree.Entry // what git's tree has of each file and link
	absent map[string]bool       // it was not on disk, and not missed there

	mu   sync.Mutex
	made map[string]gitindex.Stat // the files that were made
}

// NewCheckout reads what a state holds.
func NewCheckout(s tree.State, alg oid.Algorithm, trees tree.Loader) (*Checkout, error) {
	t := &Checkout{alg: alg, trees: trees, git: map[string]tree.Entry{}, absent: map[string]bool{}, made: map[string]gitindex.Stat{}}
	var bound listBound
	for c, err := range tree.Walk(s, alg, trees) {
		if err != nil {
			return nil, err
		}
		if err := bound.count(c.Path); err != nil {
			return nil, err
		}
		git := c.To.Git
		if git.Name != "" && git.Mode != tree.GitDir {
			t.git[c.Path] = git
			t.absent[c.Path] = c.To.Mode == tree.Absent && git.Mode != tree.GitLink
		}
		if c.To.Mode == tree.Absent {
			continue
		}
		t.Steps = append(t.Steps, apply.Step{Path: c.Path, Want: apply.Node{Mode: c.To.Mode, ID: c.To.ID}})
		if !c.To.Mode.IsDir() {
			t.IDs = append(t.IDs, c.To.ID)
		}
	}
	return t, nil
}

// Made takes the stat data of a file or link that was made.
func (t *Checkout) Made(path string, st dirfd.Stat) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made[path] = gitindex.NewStat(gitindex.FileStat{Ctime: st.Ctime, Mtime: st.Mtime, Ino: st.Ino, UID: st.UID, GID: st.GID, Size: st.Size}, st.Dev)
}

// Index makes the index that a checkout of the commit with this tree has: what
// differs from it in the snapshot is seen as changed, or as untracked. What git
// is to take for unchanged has the stat data of the file that was made.
func (t *Checkout) Index(head oid.ID) ([]byte, error) {
	var lines []gitindex.Line
	for c, err := range tree.Walk(tree.State{Tree: head, Umask: 0}, t.alg, t.trees) {
		if err != nil {
			return nil, err
		}
		git := c.To.Git
		if git.Name == "" || git.Mode == tree.GitDir {
			continue
		}
		l := gitindex.Line{Path: c.Path, Mode: git.Mode, ID: git.ID, Skip: t.absent[c.Path]}
		if now := t.git[c.Path]; now.Mode == git.Mode && now.ID == git.ID {
			l.Stat = t.made[c.Path]
		}
		lines = append(lines, l)
	}
	return gitindex.Encode(lines, t.alg), nil
}

// Done counts the files and links that were made, but for those of which a note
// says that they were not.
func (t *Checkout) Done(failed []apply.Note) (n int) {
	not := map[string]bool{}
	for _, note := range failed {
		not[note.Path] = !errors.Is(note.Err, apply.ErrPrivilege) // else it was made, but for two bits
	}
	for i := range t.Steps {
		if !t.Steps[i].Want.Mode.IsDir() && !not[t.Steps[i].Path] {
			n++
		}
	}
	return n
}
