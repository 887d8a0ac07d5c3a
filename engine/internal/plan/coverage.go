package plan

import (
	"cmp"
	"path"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/ignore"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Why a path that the target does not have is kept by a restore.
const (
	keptIgnored = "ignored by the rules of the snapshot"
	keptSkipped = "the snapshot skipped it"
	keptNested  = "a repository made since the snapshot"
)

// coverage answers whether a target could have contained a path: from the
// ignore files in its own tree, the rules outside it that were in force, and the
// paths it skipped.
type coverage struct {
	Objects
	target *Target
	has    tree.Finder              // of the target
	sparse tree.Finder              // of the commit of which a sparse checkout may have hidden some
	chains map[string]*ignore.Chain // by directory
	inside map[string]string        // by directory: why what lies in it stays
}

func newCoverage(target *Target, o Objects) *coverage {
	return &coverage{
		Objects: o, target: target,
		has:    tree.Finder{State: target.State, Algorithm: o.Algorithm, Load: o.Tree},
		sparse: tree.Finder{State: target.Sparse, Algorithm: o.Algorithm, Load: o.Tree},
		chains: map[string]*ignore.Chain{}, inside: map[string]string{"": ""},
	}
}

// keeps returns why a path must stay although the target does not have it,
// or "" if it may go.
func (c *coverage) keeps(p string, present tree.Node) (string, error) {
	if present.Mode.Type() == tree.Nested {
		why, err := c.excludes(p, true)
		return cmp.Or(why, c.target.Above[p], keptNested), err
	}
	if reason, err := c.limits(p, present); reason != "" || err != nil {
		return reason, err
	}
	if _, out := c.target.Skipped[p]; !out && c.reads(p, present.Mode) {
		return c.around(p)
	}
	return c.excludes(p, present.Mode.IsDir())
}

// reads reports whether a scan records a file for the sake of the rules in it, though
// they ignore it themselves. Of a target with limits it is not known who scanned.
func (c *coverage) reads(p string, mode tree.Mode) bool {
	return path.Base(p) == ".gitignore" && mode.Type() == tree.File && c.target.Limits == nil
}

// excludes returns why the target could not have had a path, because of that
// path or of a directory above it.
func (c *coverage) excludes(p string, isDir bool) (string, error) {
	if why, out := c.target.Skipped[p]; out {
		return cmp.Or(why, keptSkipped), nil
	}
	if ignored, err := c.ignores(p, isDir); err != nil {
		return "", err
	} else if ignored {
		return keptIgnored, nil
	}
	return c.around(p)
}

// around is excludes for the directories above a path alone.
func (c *coverage) around(p string) (string, error) {
	dir := tree.Parent(p)
	why, known := c.inside[dir]
	if !known {
		var err error
		if why, err = c.excludes(dir, true); err != nil {
			return "", err
		}
		c.inside[dir] = why
	}
	return why, nil
}

// ignores applies the rules of the directory that holds the path.
func (c *coverage) ignores(p string, isDir bool) (bool, error) {
	chain, err := c.chain(tree.Parent(p))
	if err != nil {
		return false, err
	}
	return chain.Match(path.Base(p), isDir) == ignore.Ignored, nil
}

// chain returns the rules that were in force in a directory of the snapshot.
func (c *coverage) chain(dir string) (*ignore.Chain, error) {
	if known, ok := c.chains[dir]; ok {
		return known, nil
	}
	chain, err := c.above(dir)
	if err != nil {
		return nil, err
	}
	own, err := c.file(path.Join(dir, ".gitignore"))
	if err != nil {
		return nil, err
	}
	chain = chain.With(own)
	c.chains[dir] = chain
	return chain, nil
}

// above returns the rules that a directory inherits. A nested repository
// inherits none of the outer one's, only those of the user.
func (c *coverage) above(dir string) (*ignore.Chain, error) {
	exclude, root := c.target.Nested[dir]
	if dir == "" {
		exclude, root = c.target.Exclude, true
	}
	if !root {
		chain, err := c.chain(tree.Parent(dir))
		if err != nil {
			return nil, err
		}
		return chain.Enter(path.Base(dir)), nil
	}
	var files []*ignore.File
	for _, id := range append(slices.Clone(c.target.Ignore), exclude) {
		if id.IsZero() {
			continue
		}
		f, err := c.compile(id)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return ignore.NewChain(files...), nil
}

// file compiles the snapshot's ignore file at a path, nil if it has none. A
// symbolic link is not followed, as in git. But of an entry that is in the index
// alone git reads the content, also where that would be a link's target.
func (c *coverage) file(p string) (*ignore.File, error) {
	n, ok, err := c.has.Lookup(p)
	if err != nil || !ok && n.Git.ID.IsZero() {
		return nil, err
	}
	id := n.ID
	if !ok { // sparse: git reads the rules from the index
		if !fileOrLink(n.Git.Mode) {
			return nil, nil
		}
		id = n.Git.ID
	} else if n.Mode.Type() != tree.File {
		return nil, nil
	}
	return c.compile(id)
}

func (c *coverage) compile(id oid.ID) (*ignore.File, error) {
	text, err := c.Blob(id)
	if err != nil {
		return nil, err
	}
	return ignore.Parse(text, &ignore.Options{FoldCase: c.target.Fold}), nil
}

// limits returns why a path stays that the target does not have, because of
// who made the target; "" if nothing says so.
func (c *coverage) limits(p string, present tree.Node) (string, error) {
	if reason := c.target.limited(p, present); reason != "" {
		return reason, nil
	}
	if c.target.Sparse.Tree.IsZero() || present.Mode.IsDir() {
		return "", nil
	}
	_, tracked, err := c.sparse.Lookup(p)
	if tracked {
		return keptHidden, err
	}
	return "", err
}

// hadGit reports whether a repository lay at a path.
func (c *coverage) hadGit(path string) bool {
	_, ok := c.target.Nested[path]
	return ok
}

// inNested reports whether a path lies directly in a repository that the
// target has inside the worktree.
func (c *coverage) inNested(p string) bool {
	dir := tree.Parent(p)
	if dir == "" {
		return false
	}
	n, ok, err := c.has.Lookup(dir)
	return err == nil && ok && n.Mode.Type() == tree.Nested
}
