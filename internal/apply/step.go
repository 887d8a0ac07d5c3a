package apply

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Node is what lies, or is to lie, at one path. The zero Node is nothing. A
// directory has no id.
type Node struct {
	Mode tree.Mode `json:"mode"`
	ID   oid.ID    `json:"id,omitzero"`
}

// A Fingerprint is the stat data by which a file is recognised as unchanged.
// The zero Fingerprint is that of nothing, or of a path whose stat data are
// not known; the step's Have tells which.
type Fingerprint struct {
	Ino   uint64    `json:"ino"`
	Size  int64     `json:"size"`  // bytes
	Mtime int64     `json:"mtime"` // nanoseconds since 1970
	Ctime int64     `json:"ctime"` // nanoseconds since 1970
	Mode  tree.Mode `json:"mode"`
}

// seen returns the fingerprint of what a stat found.
func seen(st dirfd.Stat) Fingerprint {
	return Fingerprint{Ino: st.Ino, Size: st.Size, Mtime: st.Mtime, Ctime: st.Ctime, Mode: st.Mode}
}

// A Step is one change at one path: from what the plan's maker saw there to
// what is wanted. A plan is a slice of steps, at most one a path. Steps are
// pure data: they can be encoded, shown, counted or thrown away.
//
// Whatever Have names must be recorded durably before [Apply] is called: a
// step overwrites and deletes exactly that.
//
// A step whose Have and Want are the same directory is allowed. It changes
// nothing, and makes sure that a directory without write permission, which a
// step below it opens for a moment, is closed again even after a crash.
type Step struct {
	Path   string      // slash-separated bytes, relative to the root
	Have   Node        // what is there and recorded; zero: nothing
	Want   Node        // what is to be there; zero: nothing
	Expect Fingerprint // what the scan saw there
}

type stepJSON struct {
	Path   []byte      `json:"path"` // base64: a path need not be UTF-8
	Have   Node        `json:"have,omitzero"`
	Want   Node        `json:"want,omitzero"`
	Expect Fingerprint `json:"expect,omitzero"`
}

// MarshalJSON encodes the step.
func (s Step) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// AppendJSON appends the step as JSON; the path is in base64, because it need not be UTF-8.
// A plan may have a million, and the package json takes ten times as long for each.
func (s *Step) AppendJSON(p []byte) []byte {
	p = append(p, `{"path":"`...)
	p = base64.StdEncoding.AppendEncode(p, []byte(s.Path))
	p = append(p, '"')
	p = s.Have.appendJSON(p, `,"have":`)
	p = s.Want.appendJSON(p, `,"want":`)
	if e := s.Expect; e != (Fingerprint{}) {
		p = strconv.AppendUint(append(p, `,"expect":{"ino":`...), e.Ino, 10)
		p = strconv.AppendInt(append(p, `,"size":`...), e.Size, 10)
		p = strconv.AppendInt(append(p, `,"mtime":`...), e.Mtime, 10)
		p = strconv.AppendInt(append(p, `,"ctime":`...), e.Ctime, 10)
		p = strconv.AppendUint(append(p, `,"mode":`...), uint64(e.Mode), 10)
		p = append(p, '}')
	}
	return append(p, '}')
}

// appendJSON appends a field, unless the node is zero.
func (n Node) appendJSON(p []byte, field string) []byte {
	if n == (Node{}) {
		return p
	}
	p = strconv.AppendUint(append(append(p, field...), `{"mode":`...), uint64(n.Mode), 10)
	if !n.ID.IsZero() {
		var id [32]byte
		p = hex.AppendEncode(append(p, `,"id":"`...), n.ID.Append(id[:0]))
		p = append(p, '"')
	}
	return append(p, '}')
}

// UnmarshalJSON decodes what [Step.MarshalJSON] gives. It checks the nodes;
// the path is checked when the step is carried out.
func (s *Step) UnmarshalJSON(p []byte) error {
	var j stepJSON
	if err := json.Unmarshal(p, &j); err != nil {
		return err
	}
	for _, n := range []Node{j.Have, j.Want} {
		if err := n.check(); err != nil {
			return fmt.Errorf("step at %q: %w", j.Path, err)
		}
	}
	*s = Step{Path: string(j.Path), Have: j.Have, Want: j.Want, Expect: j.Expect}
	return nil
}

func (n Node) check() error {
	var whole bool
	switch n.Mode.Type() {
	case tree.File, tree.Symlink:
		whole = !n.ID.IsZero()
	case tree.Dir, tree.Nested:
		whole = n.ID.IsZero()
	case tree.Absent:
		whole = n == Node{}
	}
	if !whole || n.Mode != n.Mode.Type()|n.Mode.Perm() {
		return fmt.Errorf("impossible node %o %v", n.Mode, n.ID)
	}
	return nil
}

func (n Node) absent() bool { return n.Mode.Type() == tree.Absent }

// leaf reports whether the node is a file or a symbolic link.
func (n Node) leaf() bool { return !n.absent() && !n.Mode.IsDir() }

// idle reports whether a step of a directory changes nothing.
func (s *Step) idle() bool { return s.Have == s.Want && s.Have.Mode.IsDir() }

// The ranks of steps: the order in which they are carried out.
const (
	clearLeaves  = iota // files that stand where the target holds something else
	clearDirs           // their directories, deepest first
	makeDirs            // shallow first
	writeLeaves         // in any order, so as the contents are had at the least cost
	removeLeaves        // in any order
	removeDirs          // deepest first
	setModes            // of directories that stay, deepest first
)

// asStored gives steps the modes that files have on this system, where it keeps less
// than a snapshot: nothing is found changed that cannot be otherwise.
func asStored(steps []Step) []Step {
	if dirfd.Storable(tree.GitExec) == tree.GitExec {
		return steps
	}
	steps = slices.Clone(steps)
	for i := range steps {
		s := &steps[i]
		s.Have.Mode, s.Want.Mode = dirfd.Storable(s.Have.Mode), dirfd.Storable(s.Want.Mode)
	}
	return steps
}

// order returns the steps in the order in which they must be carried out:
// what stands in the way of something wanted is cleared, directories are made
// (shallow first), files written (in the order in which they are given), then deletions
// (deepest first), and the permissions of directories last. A deletion that differs from a
// wanted path in case alone comes first, for file systems that take the two for one.
func (c clearing) order(steps []Step) []*Step {
	type place struct{ at, rank, depth int32 }
	list := make([]place, len(steps)) // there may be a million of them, and a step is large
	for i := range steps {
		s := &steps[i]
		p := place{at: int32(i), rank: int32(c.rank(s)), depth: depth(s)}
		switch p.rank {
		case writeLeaves:
			p.depth = p.at
		case makeDirs:
		default:
			p.depth = -p.depth
		}
		list[i] = p
	}
	slices.SortFunc(list, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.depth, b.depth), strings.Compare(steps[a.at].Path, steps[b.at].Path))
	})
	out := make([]*Step, len(steps))
	for i, p := range list {
		out[i] = &steps[p.at]
	}
	return out
}

// depth is how many directories lie between the root and the path.
func depth(s *Step) int32 { return int32(strings.Count(s.Path, "/")) }

// A clearing is the set of paths that must be empty before anything is made:
// directories that give way to a file or link, and deleted paths that a file
// system without case takes for a wanted one.
type clearing struct{ paths pathSet }

func newClearing(steps []Step) clearing {
	c := clearing{newPathSet()}
	deleted := map[string][]string{} // by what a file system without case takes them for
	for i := range steps {
		switch s := &steps[i]; {
		case s.swap():
			c.paths.add(s.Path)
		case s.Want.absent():
			name := fold(s.Path)
			deleted[name] = append(deleted[name], s.Path)
		}
	}
	if len(deleted) == 0 {
		return c // as where everything comes back: to fold a path costs more than all else here
	}
	for i := range steps {
		if steps[i].Want.absent() {
			continue
		}
		for _, path := range deleted[fold(steps[i].Path)] {
			c.paths.add(path)
		}
	}
	return c
}

// A pathSet is a set of paths that finds those above another one without a look
// at each of its directories, which may be thousands.
type pathSet struct {
	has     map[string]bool
	lengths map[int]bool
}

func newPathSet() pathSet { return pathSet{map[string]bool{}, map[int]bool{}} }

func (p pathSet) add(path string) { p.has[path], p.lengths[len(path)] = true, true }

// over returns the highest path of the set that is path or a directory above it.
func (p pathSet) over(path string) (string, bool) {
	if len(p.has) == 0 {
		return "", false
	}
	for at := range len(path) + 1 {
		if at == len(path) || path[at] == '/' {
			if p.lengths[at] && p.has[path[:at]] {
				return path[:at], true
			}
		}
	}
	return "", false
}

// swap reports whether a directory gives way to a file or link.
func (s *Step) swap() bool { return s.Have.Mode.IsDir() && s.Want.leaf() }

// fold maps paths that a file system without case takes for one to one string.
func fold(path string) string { return strings.ToLower(strings.ToUpper(path)) }

// covers reports whether a path is to be cleared, or lies below one that is.
func (c clearing) covers(path string) bool {
	_, ok := c.paths.over(path)
	return ok
}

func (c clearing) rank(s *Step) int {
	switch {
	case s.Want.leaf():
		return writeLeaves
	case s.Want.Mode.IsDir() && s.Have.Mode.IsDir():
		return setModes
	case s.Want.Mode.IsDir():
		return makeDirs
	}
	clear := c.covers(s.Path)
	switch {
	case s.Have.Mode.IsDir() && clear:
		return clearDirs
	case s.Have.Mode.IsDir():
		return removeDirs
	case clear:
		return clearLeaves
	}
	return removeLeaves
}
