package engine

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

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

// coverage answers whether a snapshot could have contained a path: from the
// ignore files in the snapshot's own tree, the rules outside it that were in
// force, and the paths it skipped.
type coverage struct {
	ctx     context.Context
	e       *Engine
	target  *Snapshot
	load    tree.Loader
	skipped map[string]bool
	nested  map[string]oid.ID        // nested repository → its info/exclude
	chains  map[string]*ignore.Chain // by directory
	texts   map[oid.ID][]byte        // of today's rules, for a target that has no others
	sparse  tree.State               // the last commit, if a sparse checkout may have hidden some of it from the target
}

func newCoverage(ctx context.Context, e *Engine, target *Snapshot, load tree.Loader) *coverage {
	c := &coverage{ctx: ctx, e: e, target: target, load: load, skipped: map[string]bool{}, nested: map[string]oid.ID{}, chains: map[string]*ignore.Chain{}}
	for _, s := range target.Skipped {
		if !s.Kept { // else it has all of it: only git's tree has not
			c.skipped[string(s.Path)] = true
		}
	}
	for _, n := range target.Nested {
		c.nested[string(n.Path)] = n.Exclude
	}
	if target.Source != nil {
		c.assume()
	}
	return c
}

// keeps returns why a path must stay although the snapshot does not have it,
// or "" if it may go.
func (c *coverage) keeps(p string, present tree.Node) (string, error) {
	if present.Mode.Type() == tree.Nested {
		return keptNested, nil
	}
	if reason, err := c.limits(p, present); reason != "" || err != nil {
		return reason, err
	}
	for at := p; at != "." && at != ""; at = path.Dir(at) {
		if c.skipped[at] {
			return keptSkipped, nil
		}
		isDir := at != p || present.Mode.IsDir()
		ignored, err := c.ignores(at, isDir)
		if err != nil {
			return "", err
		}
		if ignored {
			return keptIgnored, nil
		}
	}
	return "", nil
}

// skips reports whether the snapshot says of a path, or of a directory above it,
// that it left it out.
func (c *coverage) skips(p string) bool {
	for at := p; at != "."; at = path.Dir(at) {
		if c.skipped[at] {
			return true
		}
	}
	return false
}

// ignores applies the rules of the directory that holds the path.
func (c *coverage) ignores(p string, isDir bool) (bool, error) {
	chain, err := c.chain(parent(p))
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
	exclude, root := c.nested[dir]
	if dir == "" {
		exclude, root = c.target.Rules.Exclude, true
	}
	if !root {
		chain, err := c.chain(parent(dir))
		if err != nil {
			return nil, err
		}
		return chain.Enter(path.Base(dir)), nil
	}
	var files []*ignore.File
	for _, id := range append(slices.Clone(c.target.Rules.Ignore), exclude) {
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
// symbolic link is not followed, as in git.
func (c *coverage) file(p string) (*ignore.File, error) {
	n, ok, err := tree.Lookup(c.target.State(), p, c.e.alg, c.load)
	if err != nil || !ok && n.Git.ID.IsZero() {
		return nil, err
	}
	id := n.ID
	if !ok { // sparse: git reads the rules from the index
		if n.Git.Mode.Type() != tree.File {
			return nil, nil
		}
		id = n.Git.ID
	} else if n.Mode.Type() != tree.File {
		return nil, nil
	}
	return c.compile(id)
}

func (c *coverage) compile(id oid.ID) (*ignore.File, error) {
	data, ok := c.texts[id]
	if !ok {
		kind, text, err := c.e.object(c.ctx, id)
		if err != nil {
			return nil, err
		}
		if kind != oid.Blob {
			return nil, errors.New("an ignore file is not a blob")
		}
		data = text
	}
	return ignore.Parse(data, &ignore.Options{FoldCase: c.target.Rules.Fold}), nil
}

// parent returns the directory of a path, "" for the worktree itself.
func parent(p string) string {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return ""
	}
	return p[:i]
}

// hadGit reports whether a repository lay at a path.
func (c *coverage) hadGit(path string) bool {
	_, ok := c.nested[path]
	return ok
}
