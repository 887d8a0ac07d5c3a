package away

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A gitPush makes objects of snapshots, for the ref of this store. It is for one goroutine.
type gitPush struct {
	ctx context.Context
	r   *Remotes
	g   *gitSession
	cut *cutter

	order    []oid.ID          // of what was made
	contents []oid.ID          // that lie in the store
	overlays map[oid.ID]oid.ID // the tree that shows an overlay
	commits  []oid.ID          // of snapshots
	snaps    map[string]oid.ID
	met      map[oid.ID]bool // trees, see all
	bytes    int64
}

// errNotInGit is met of a snapshot that git does not hold yet.
var errNotInGit = errors.New("it is not in git yet")

// put makes an object.
func (p *gitPush) put(kind oid.Kind, payload []byte) oid.ID {
	id := p.g.alg.Sum(kind, payload)
	if _, ok := p.cut.made[id]; !ok {
		p.cut.made[id] = gitbridge.Loose{Kind: kind, Payload: payload}
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
	git := p.r.Objects.Git
	if git != nil && !git.Keeps(p.ctx, e.s.ID) {
		return errNotInGit
	}
	n, err := p.cut.without(p.ctx, e.s)
	if err == nil && git == nil {
		err = p.all(n)
	}
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
		if _, ok := p.cut.made[id]; !ok {
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

// all notes the commit of a snapshot and what git's tree of it names, where there is no repository that has them: in a
// directory that a resume has made.
func (p *gitPush) all(n *records.Snapshot) error {
	commit, err := p.cut.payload(p.ctx, oid.Commit, n.ID)
	if err != nil {
		return err
	}
	p.put(oid.Commit, commit)
	var contents []oid.ID
	for todo := []oid.ID{n.Tree}; len(todo) > 0; {
		id := todo[len(todo)-1]
		if todo = todo[:len(todo)-1]; p.met[id] || p.g.remote.Objects().Has(id) {
			continue
		}
		p.met[id] = true
		payload, err := p.cut.load(id)
		if err != nil {
			return objects.TreeError(err)
		}
		entries, err := tree.Decode(payload, p.g.alg)
		if err != nil {
			return objects.TreeError(err)
		}
		p.put(oid.Tree, payload)
		for _, e := range entries {
			switch e.Mode.Type() {
			case tree.Dir:
				todo = append(todo, e.ID)
			case tree.File, tree.Symlink:
				contents = append(contents, e.ID)
			}
		}
	}
	if err := p.held(contents); err != nil {
		clear(p.met) // another snapshot may have the same trees
		return err
	}
	p.contents = append(p.contents, contents...)
	return nil
}

// held is an error of a content that nobody has any more, or ever had, as what a sparse checkout left out.
func (p *gitPush) held(contents []oid.ID) error {
	store, err := p.r.Store(p.ctx)
	if err != nil {
		return err
	}
	return objects.StoreError(store.View(p.ctx, func(v *cas.View) error {
		for _, id := range contents {
			if !v.Has(id) && !p.g.remote.Objects().Has(id) {
				return fmt.Errorf("%w: content %v is missing", records.ErrDamaged, id)
			}
		}
		return nil
	}))
}

// overlay makes the tree that shows an overlay: its bytes as a content, the contents that it names, and the overlays below.
func (p *gitPush) overlay(id oid.ID) (oid.ID, error) {
	if at, ok := p.overlays[id]; ok {
		return at, nil
	}
	payload, err := p.cut.loaded(id)
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
		c := gitbridge.RawCommit{Commit: gitbridge.Commit{Tree: all, Time: p.r.Owner.Now().Truncate(time.Second), Identity: p.r.Identity()}, Parents: parents, Message: "pi rewind history\n"}
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
			return gitodb.Payload(p.cut.made[id].Kind, p.cut.made[id].Payload), nil
		}
		return from(id)
	})
}
