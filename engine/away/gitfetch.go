package away

import (
	"cmp"
	"errors"
	"io"
	"strings"

	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// open reads the record of a snapshot of a git remote, and what it names.
func (g *gitSession) open(p *pull, d *Distant) (*pulled, error) {
	at, ok := g.at[d.ID]
	if !ok {
		return nil, tampered("it was not listed")
	}
	r, err := p.decode(at.text, d.Of)
	if err != nil {
		return nil, err
	}
	files, err := g.entries(at.tree)
	if err != nil {
		return nil, err
	}
	commit, err := g.object(oid.Commit, r.Snapshot.ID)
	if err == nil {
		err = p.agree(commit, r)
	}
	if err != nil {
		return nil, err
	}
	for _, id := range named(r.Snapshot) {
		payload, err := g.object(oid.Blob, id)
		if err == nil {
			err = p.put(oid.Blob, payload)
		}
		if err != nil {
			return nil, err
		}
	}
	if o := r.Snapshot.Overlay; !o.IsZero() {
		p.overlays[o] = files[overlayName].ID
	}
	return &pulled{r.Snapshot, r.Pins, place{state: r.Snapshot.State()}}, nil
}

// treesOf reads the git tree and the overlay of a directory. An overlay lies as a content in a tree, whose other trees
// are those of the overlays below.
func (g *gitSession) treesOf(p *pull, s tree.State) error {
	take := func(id oid.ID, payload []byte, err error) error {
		if err == nil && g.alg.Sum(oid.Tree, payload) != id {
			err = tampered("tree %v has other bytes than its id says", id)
		}
		if err == nil {
			err = p.put(oid.Tree, payload)
		}
		p.trees[id] = append([]byte{}, payload...)
		return err
	}
	if !s.Tree.IsZero() && p.trees[s.Tree] == nil {
		payload, err := g.object(oid.Tree, s.Tree)
		if err := take(s.Tree, payload, err); err != nil {
			return err
		}
	}
	if s.Overlay.IsZero() || p.trees[s.Overlay] != nil {
		return nil
	}
	files, err := g.entries(p.overlays[s.Overlay])
	if err != nil {
		return err
	}
	payload, err := g.small(files, overlayName)
	for name, e := range files {
		if below, err := oid.Parse(strings.TrimPrefix(name, dirPrefix)); err == nil && e.Mode.Type() == tree.Dir {
			p.overlays[below] = e.ID
		}
	}
	return take(s.Overlay, payload, err)
}

// dir reads the trees of a directory, notes the contents that are lacking, and returns the directories in it.
func (g *gitSession) dir(p *pull, s tree.State) (out []place, err error) {
	if err := cmp.Or(p.ctx.Err(), g.treesOf(p, s)); err != nil {
		return nil, err
	}
	l, err := p.layOut(s, p.load)
	if err != nil {
		return nil, tampered("%v", err)
	}
	for _, c := range l.children {
		if !c.Node.Mode.IsDir() {
			p.lack(c.Node.ID, may(s))
		}
	}
	for _, id := range l.extra {
		p.lack(id, true)
	}
	for _, d := range l.dirs {
		if !d.Tree.IsZero() || !d.Overlay.IsZero() {
			out = append(out, place{state: d})
		}
	}
	return out, nil
}

// content reads a content that is lacking. One that was never on disk may be missing.
func (g *gitSession) content(p *pull, w want) error {
	o, err := g.remote.Objects().Stream(w.id)
	if errors.Is(err, gitodb.ErrNotFound) && w.may {
		return nil
	}
	if err == nil {
		defer o.Data.Close()
		if o.Kind != oid.Blob {
			return tampered("object %v is no content", w.id)
		}
		return p.keep(w, gitData{o.Data}, o.Size)
	}
	if errors.Is(err, gitodb.ErrNotFound) || errors.Is(err, gitodb.ErrCorrupt) {
		err = tampered("content %v: %v", w.id, err)
	}
	return err
}

// gitData says of damage, which shows at the end, what it is here.
type gitData struct{ io.Reader }

func (r gitData) Read(out []byte) (int, error) {
	n, err := r.Reader.Read(out)
	if errors.Is(err, gitodb.ErrCorrupt) {
		err = tampered("%v", err)
	}
	return n, err
}
