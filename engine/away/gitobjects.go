package away

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A gitPush makes objects of snapshots, for the ref of this store. It is for one goroutine.
type gitPush struct {
	ctx  context.Context
	r    *Remotes
	g    *gitSession
	load tree.Loader

	made     map[oid.ID]gitbridge.Loose
	order    []oid.ID          // of what was made
	contents []oid.ID          // that lie in the store
	overlays map[oid.ID]oid.ID // the tree that shows an overlay
	homes    map[tree.State]home
	commits  []oid.ID // of snapshots
	snaps    map[string]oid.ID
	bytes    int64
}

// errNotInGit is met of a snapshot that git does not hold yet.
var errNotInGit = errors.New("it is not in git yet")

// put makes an object.
func (p *gitPush) put(kind oid.Kind, payload []byte) oid.ID {
	id := p.g.alg.Sum(kind, payload)
	if _, ok := p.made[id]; !ok {
		p.made[id] = gitbridge.Loose{Kind: kind, Payload: payload}
		p.order = append(p.order, id)
		p.bytes += int64(len(payload))
	}
	return id
}

// tree makes a tree.
func (p *gitPush) tree(entries map[string]tree.Entry) oid.ID {
	var list []tree.Entry
	for name, e := range entries {
		e.Name = name
		list = append(list, e)
	}
	tree.Sort(list)
	return p.put(oid.Tree, tree.Encode(list, p.g.alg))
}

// snapshot makes the directory that shows a snapshot, without what stays here.
func (p *gitPush) snapshot(e errand) error {
	if !p.r.Objects.Git.Keeps(p.ctx, e.s.ID) {
		return errNotInGit
	}
	n, err := p.without(e.s)
	if err != nil {
		return err
	}
	rec := e.record
	if n.ID != e.s.ID {
		rec.Of = e.s.ID
	}
	text, err := encode(n, rec)
	if err != nil {
		return err
	}
	files := map[string]tree.Entry{recordName: {Mode: tree.GitFile, ID: p.put(oid.Blob, text)}}
	for _, id := range named(n) {
		files[blobPrefix+id.String()] = tree.Entry{Mode: tree.GitFile, ID: id}
		if _, ok := p.made[id]; !ok {
			p.contents = append(p.contents, id)
		}
	}
	if !n.Overlay.IsZero() {
		at, err := p.overlay(n.Overlay)
		if err != nil {
			return err
		}
		files[overlayName] = tree.Entry{Mode: tree.GitDir, ID: at}
	}
	p.commits = append(p.commits, n.ID)
	p.snaps[n.ID.String()] = p.tree(files)
	return nil
}

// loaded reads a tree that was made, or is here.
func (p *gitPush) loaded(id oid.ID) ([]byte, error) {
	if o, ok := p.made[id]; ok {
		return o.Payload, nil
	}
	return p.load(id)
}

// overlay makes the tree that shows an overlay: its bytes as a content, the contents that it names, and the overlays below.
func (p *gitPush) overlay(id oid.ID) (oid.ID, error) {
	if at, ok := p.overlays[id]; ok {
		return at, nil
	}
	payload, err := p.loaded(id)
	if err != nil {
		return oid.ID{}, objects.TreeError(err)
	}
	entries, err := tree.Decode(payload, p.g.alg)
	if err != nil {
		return oid.ID{}, objects.TreeError(err)
	}
	files := map[string]tree.Entry{overlayName: {Mode: tree.GitFile, ID: p.put(oid.Blob, payload)}}
	for _, e := range entries {
		if e.ID.IsZero() {
			continue
		}
		switch e.Mode.Type() {
		case tree.Dir, tree.Nested:
			at, err := p.overlay(e.ID)
			if err != nil {
				return oid.ID{}, err
			}
			files[dirPrefix+e.ID.String()] = tree.Entry{Mode: tree.GitDir, ID: at}
		case tree.File, tree.Symlink:
			files[blobPrefix+e.ID.String()] = tree.Entry{Mode: tree.GitFile, ID: e.ID}
			p.contents = append(p.contents, e.ID)
		}
	}
	p.overlays[id] = p.tree(files)
	return p.overlays[id], nil
}

// without returns the snapshot without what git's tree of it does not have.
func (p *gitPush) without(s *records.Snapshot) (*records.Snapshot, error) {
	h, err := p.home(s.State())
	if err != nil {
		return nil, objects.TreeError(err)
	}
	if len(h.paths) == 0 {
		return s, nil
	}
	sel := newPaths(h.paths)
	editor := &retention.Editor{Algorithm: p.g.alg, Selection: sel, Trees: p.loaded, Contents: map[oid.ID]bool{}}
	editor.Put = func(payload []byte) (oid.ID, error) {
		id := p.g.alg.Sum(oid.Tree, payload)
		p.made[id] = gitbridge.Loose{Kind: oid.Tree, Payload: payload} // a content there, not a tree: nothing is written as this
		return id, nil
	}
	full := *s
	if err := (&lookup.Reader{Objects: p.r.Objects}).Fill(p.ctx, &full); err != nil {
		return nil, err
	}
	full.Tree = oid.ID{} // of it nothing goes
	cut, err := editor.Cut(&full)
	if err != nil {
		return nil, err
	}
	cut.Tree = s.Tree
	n := cut.Apply(&full, retention.AtHome)
	if err := n.PackSkipped(func(text []byte) (oid.ID, error) { return p.put(oid.Blob, text), nil }); err != nil {
		return nil, err
	}
	payload, err := p.r.Objects.Payload(p.ctx, oid.Commit, s.ID)
	if err != nil {
		return nil, err
	}
	c, err := gitbridge.DecodeSnapshot(payload, p.g.alg)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", records.ErrDamaged, err)
	}
	c.Tree, c.Overlay = n.Tree, n.Overlay
	n.ID = p.put(oid.Commit, gitbridge.EncodeSnapshot(c, p.g.alg))
	return n, nil
}

// A home is what of a directory stays at home: paths below it, and whether nothing else is in it.
type home struct {
	paths []string
	all   bool
}

// home finds what git's tree of a directory does not have: ignored files, secrets, what lies in nested repositories.
// Directories that have nothing at all are no content, and go.
func (p *gitPush) home(s tree.State) (home, error) {
	if s.Overlay.IsZero() {
		return home{}, nil
	}
	if known, ok := p.homes[s]; ok {
		return known, nil
	}
	list, err := tree.Children(s, p.g.alg, p.load)
	if err != nil {
		return home{}, err
	}
	out := home{all: true}
	for _, c := range list {
		inGit := c.Node.Git.Name != ""
		switch c.Node.Mode.Type() {
		case tree.Absent:
			out.all = false
		case tree.File, tree.Symlink:
			if inGit {
				out.all = false
			} else {
				out.paths = append(out.paths, c.Name)
			}
		default:
			below, err := p.home(c.Node.State())
			if err != nil {
				return home{}, err
			}
			if !inGit && below.all {
				out.paths = append(out.paths, c.Name)
				continue
			}
			out.all = false
			for _, path := range below.paths {
				out.paths = append(out.paths, tree.Join(c.Name, path))
			}
		}
	}
	out.all = out.all && len(out.paths) > 0
	p.homes[s] = out
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

// parentsMost is how many parents a commit gets.
const parentsMost = 256

// tip makes the commit that our ref is to name: with what base has, and what was made.
func (p *gitPush) tip(base oid.ID) (oid.ID, error) {
	top := map[string]tree.Entry{}
	if !base.IsZero() {
		var err error
		if top, err = p.g.top(base); err != nil {
			return oid.ID{}, err
		}
	}
	at, err := p.added(top[snapshotsName].ID)
	if err != nil {
		return oid.ID{}, err
	}
	host, _ := os.Hostname()
	top[hostName] = tree.Entry{Mode: tree.GitFile, ID: p.put(oid.Blob, []byte(host))}
	top[snapshotsName] = tree.Entry{Mode: tree.GitDir, ID: at}
	all := p.tree(top)
	for list := range slices.Chunk(p.commits, parentsMost) {
		parents := list
		if !base.IsZero() {
			parents = append([]oid.ID{base}, list...)
		}
		c := gitbridge.RawCommit{Commit: gitbridge.Commit{Tree: all, Time: p.r.Owner.Now().Truncate(time.Second), Identity: p.r.Objects.Git.Identity()}, Parents: parents, Message: "pi rewind history\n"}
		base = p.put(oid.Commit, c.Encode(p.g.alg))
	}
	return base, nil
}

// added is the tree of snapshots with those that were made.
func (p *gitPush) added(id oid.ID) (oid.ID, error) {
	fans, err := p.g.entries(id)
	if err != nil {
		return oid.ID{}, err
	}
	lists := map[string]map[string]tree.Entry{}
	for name, at := range p.snaps {
		fan := name[:2]
		if lists[fan] == nil {
			if lists[fan], err = p.g.entries(fans[fan].ID); err != nil {
				return oid.ID{}, err
			}
		}
		lists[fan][name[2:]] = tree.Entry{Mode: tree.GitDir, ID: at}
	}
	for fan, list := range lists {
		fans[fan] = tree.Entry{Mode: tree.GitDir, ID: p.tree(list)}
	}
	return p.tree(fans), nil
}

// write writes what was made, and the contents that go with it.
func (p *gitPush) write() error {
	ids := slices.Clone(p.order)
	have := map[oid.ID]bool{}
	for _, id := range ids {
		have[id] = true
	}
	p.contents = slices.DeleteFunc(p.contents, func(id oid.ID) bool {
		twice := have[id]
		have[id] = true
		return twice || p.g.remote.Objects().Has(id)
	})
	ours := map[oid.ID]bool{}
	for _, id := range ids {
		ours[id] = true
	}
	from := p.r.Objects.Source(p.ctx, p.contents)
	return p.g.remote.Write(p.ctx, append(ids, p.contents...), func(id oid.ID) (gitbridge.Object, error) {
		if ours[id] {
			return gitodb.Payload(p.made[id].Kind, p.made[id].Payload), nil
		}
		return from(id)
	})
}
