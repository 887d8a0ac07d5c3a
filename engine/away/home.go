package away

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A cutter makes snapshots without what git does not keep: ignored files, secrets, large files, what lies in nested
// repositories. It is for one goroutine.
type cutter struct {
	objects *objects.Objects
	load    tree.Loader
	put     func(oid.Kind, []byte) oid.ID // keeps what goes elsewhere

	made  map[oid.ID]gitbridge.Loose
	homes map[tree.State]home
}

// newCutter makes one that keeps what it makes to itself.
func newCutter(ctx context.Context, from *objects.Objects) *cutter {
	c := &cutter{objects: from, load: from.Trees(ctx, objects.Reading{}), made: map[oid.ID]gitbridge.Loose{}, homes: map[tree.State]home{}}
	c.put = func(kind oid.Kind, payload []byte) oid.ID {
		id := from.Algorithm.Sum(kind, payload)
		c.made[id] = gitbridge.Loose{Kind: kind, Payload: payload}
		return id
	}
	return c
}

// loaded reads a tree that was made, or is here.
func (c *cutter) loaded(id oid.ID, _ ...oid.ID) ([]byte, error) {
	if o, ok := c.made[id]; ok {
		return o.Payload, nil
	}
	return c.load(id)
}

// payload reads an object that was made, or is here.
func (c *cutter) payload(ctx context.Context, kind oid.Kind, id oid.ID) ([]byte, error) {
	if o, ok := c.made[id]; ok && o.Kind == kind {
		return o.Payload, nil
	}
	return c.objects.Payload(ctx, kind, id)
}

// without returns the snapshot without what stays here: itself, if nothing does.
func (c *cutter) without(ctx context.Context, s *records.Snapshot) (*records.Snapshot, error) {
	h, err := c.home(s.State())
	if err != nil {
		return nil, objects.TreeError(err)
	}
	if len(h.paths) == 0 {
		return s, nil
	}
	alg := c.objects.Algorithm
	editor := &retention.Editor{Algorithm: alg, Selection: newPaths(h.paths), Trees: c.loaded, Contents: map[oid.ID]bool{}}
	editor.Put = func(payload []byte) (oid.ID, error) {
		id := alg.Sum(oid.Tree, payload)
		c.made[id] = gitbridge.Loose{Kind: oid.Tree, Payload: payload} // of an overlay: it goes as a content
		return id, nil
	}
	full := *s
	if err := (&lookup.Reader{Objects: c.objects}).Fill(ctx, &full); err != nil {
		return nil, err
	}
	full.Tree = oid.ID{} // of it nothing stays
	cut, err := editor.Cut(&full)
	if err != nil {
		return nil, err
	}
	cut.Tree = s.Tree
	if cut.Paths, err = c.files(s.State(), cut.Overlay); err != nil {
		return nil, objects.TreeError(err)
	}
	n := cut.Apply(&full, retention.AtHome)
	if err := n.PackSkipped(func(text []byte) (oid.ID, error) { return c.put(oid.Blob, text), nil }); err != nil {
		return nil, err
	}
	payload, err := c.objects.Payload(ctx, oid.Commit, s.ID)
	if err != nil {
		return nil, err
	}
	commit, err := gitbridge.DecodeSnapshot(payload, alg)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", records.ErrDamaged, err)
	}
	commit.Tree, commit.Overlay = n.Tree, n.Overlay
	n.ID = c.put(oid.Commit, gitbridge.EncodeSnapshot(commit, alg))
	return n, nil
}

// files returns the files and links that a state has and that are not in it once its overlay is cut. The snapshot names
// these and no directories: a directory of which all stays goes, too, but what another machine makes below its name is not
// what stays here, and who compares or restores must not take it for that.
func (c *cutter) files(s tree.State, overlay oid.ID) (paths []string, err error) {
	for change, err := range tree.Diff(s, tree.State{Tree: s.Tree, Overlay: overlay, Umask: s.Umask}, c.objects.Algorithm, c.loaded) {
		if err != nil {
			return nil, err
		}
		if !change.From.Mode.IsDir() {
			paths = append(paths, change.Path)
		}
	}
	slices.Sort(paths) // as of every cut
	return paths, nil
}

// A home is what of a directory stays here: paths below it, and whether nothing else is in it.
type home struct {
	paths []string
	all   bool
}

// home finds what git's tree of a directory does not have. Directories that have nothing at all are no content, and go.
func (c *cutter) home(s tree.State) (home, error) {
	if s.Overlay.IsZero() {
		return home{}, nil
	}
	if known, ok := c.homes[s]; ok {
		return known, nil
	}
	list, err := tree.Children(s, c.objects.Algorithm, c.load)
	if err != nil {
		return home{}, err
	}
	out := home{all: true}
	for _, child := range list {
		inGit := child.Node.Git.Name != ""
		switch child.Node.Mode.Type() {
		case tree.Absent:
			out.all = false
		case tree.File, tree.Symlink:
			if inGit {
				out.all = false
			} else {
				out.paths = append(out.paths, child.Name)
			}
		default:
			below, err := c.home(child.Node.State())
			if err != nil {
				return home{}, err
			}
			if !inGit && below.all {
				out.paths = append(out.paths, child.Name)
				continue
			}
			out.all = false
			for _, path := range below.paths {
				out.paths = append(out.paths, tree.Join(child.Name, path))
			}
		}
	}
	out.all = out.all && len(out.paths) > 0
	c.homes[s] = out
	return out, nil
}

// paths is a [retention.Selection] of paths.
type paths struct{ match, above map[string]bool }

func newPaths(list []string) paths {
	s := paths{map[string]bool{}, map[string]bool{"": true}}
	for _, path := range list {
		s.match[path] = true
		for dir := tree.Parent(path); dir != "" && !s.above[dir]; dir = tree.Parent(dir) {
			s.above[dir] = true
		}
	}
	return s
}

// Match reports whether a path goes.
func (s paths) Match(path string) bool { return s.match[path] }

// Below reports whether something below a directory may go.
func (s paths) Below(dir string) bool { return s.above[dir] }
