package away

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// smallMost bounds what is read whole: records, commits, rules and trees.
const smallMost = 128 << 20

// A pull reads snapshots of a remote, into a stage. It is for one goroutine.
type pull struct {
	ctx     context.Context
	s       *Session
	alg     oid.Algorithm
	stage   *cas.Stage // nil: what is read is compared with its id, and goes nowhere
	local   tree.Loader
	has     func([]oid.ID) (map[oid.ID]bool, error)
	told    func(done, total int)
	arrived func(context.Context, oid.ID, []byte) error // takes contents that are staged, of several goroutines; nil: nobody does
	trail   trail
	sweeps  *uint64 // how often the store had been swept when it was asked first what is here

	nodes map[restic.ID]map[string]*restic.Node // trees there that were read ahead
	blobs map[restic.ID][]byte                  // small contents there that were

	trees  map[oid.ID][]byte // that were read, with the id they have
	whole  map[tree.State]bool
	wanted map[oid.ID]bool
	wants  []want // contents that are lacking

	lengths lengths

	overlays map[oid.ID]oid.ID // of a git remote: the tree there that shows an overlay
}

func newPull(ctx context.Context, s *Session, alg oid.Algorithm) *pull {
	return &pull{ctx: ctx, s: s, alg: alg, trail: newTrail(), nodes: map[restic.ID]map[string]*restic.Node{}, blobs: map[restic.ID][]byte{}, trees: map[oid.ID][]byte{}, whole: map[tree.State]bool{}, wanted: map[oid.ID]bool{}, overlays: map[oid.ID]oid.ID{}}
}

// A want is a content that is lacking here.
type want struct {
	id    oid.ID
	size  int64
	blobs []restic.ID
	may   bool // it may be missing
}

func tampered(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{restic.ErrTampered}, args...)...)
}

// byName finds nodes of a tree by their names. The zero id is that of a tree without any.
func (p *pull) byName(id restic.ID) (map[string]*restic.Node, error) {
	if id == (restic.ID{}) {
		return nil, nil
	}
	if out, ok := p.nodes[id]; ok {
		return out, nil
	}
	nodes, err := p.s.repo.GetTree(p.ctx, id)
	return namesOf(nodes), err
}

func namesOf(nodes []restic.Node) map[string]*restic.Node {
	out := make(map[string]*restic.Node, len(nodes))
	for i := range nodes {
		out[nodes[i].Name] = &nodes[i]
	}
	return out
}

// isDir refuses one without a tree, which is not the same as one without names.
func isDir(n *restic.Node) bool { return n.Type == "dir" && n.Subtree != (restic.ID{}) }

func dirOf(nodes map[string]*restic.Node, name string) (restic.ID, error) {
	n := nodes[name]
	if n == nil || !isDir(n) {
		return restic.ID{}, tampered("a snapshot has no directory %q", name)
	}
	return n.Subtree, nil
}

// small reads a small file of a tree.
func (p *pull) small(nodes map[string]*restic.Node, name string) ([]byte, error) {
	n := nodes[name]
	if n == nil || n.Type != "file" {
		return nil, tampered("a snapshot has no file %q", name)
	}
	if len(n.Content) == 1 {
		if out, ok := p.blobs[n.Content[0]]; ok {
			return out, nil
		}
	}
	return p.s.repo.Content(p.ctx, n, smallMost)
}

// object reads an object and compares it with its id.
func (p *pull) object(nodes map[string]*restic.Node, name string, kind oid.Kind, id oid.ID) ([]byte, error) {
	payload, err := p.small(nodes, name)
	if err != nil {
		return nil, err
	}
	if p.alg.Sum(kind, payload) != id {
		return nil, tampered("%v %v has other bytes than its id says", kind, id)
	}
	return payload, nil
}

// A pulled is a snapshot whose objects are on their way.
type pulled struct {
	*records.Snapshot
	pins []string
	top  place
}

func (d *Distant) located(err error) error {
	return fmt.Errorf("snapshot %s (%s there): %w", d.Of.Short(), d.ID.String()[:8], err)
}

// views returns where the two views of a snapshot are.
func (p *pull) views(d *Distant) (at dir, err error) {
	top, err := p.byName(d.Tree)
	if err == nil {
		at.beside, err = dirOf(top, besideName)
	}
	if err == nil {
		at.files, err = dirOf(top, filesName)
	}
	return at, err
}

// open reads the record of a snapshot, and says where its directories begin.
func (p *pull) open(d *Distant) (*pulled, error) {
	if g := p.s.git; g != nil {
		return g.open(p, d)
	}
	at, err := p.views(d)
	if err != nil {
		return nil, err
	}
	beside, err := p.byName(at.beside)
	if err != nil {
		return nil, err
	}
	r, commit, err := p.record(beside, d.Of)
	if err != nil {
		return nil, err
	}
	p.trail.add(d, r, beside)
	if p.alg.Sum(oid.Commit, commit) != r.Snapshot.ID {
		return nil, tampered("its commit has other bytes than its id says")
	}
	if err := p.agree(commit, r); err != nil {
		return nil, err
	}
	for _, id := range named(r.Snapshot) {
		payload, err := p.object(beside, blobPrefix+id.String(), oid.Blob, id)
		if err == nil {
			err = p.put(oid.Blob, payload)
		}
		if err != nil {
			return nil, err
		}
	}
	var state restic.ID
	if beside[stateName] != nil {
		if state, err = dirOf(beside, stateName); err != nil {
			return nil, err
		}
	}
	return &pulled{r.Snapshot, r.Pins, place{r.Snapshot.State(), dir{files: at.files, beside: state}}}, nil
}

// agree takes a commit over, which has to say the same state as the record.
func (p *pull) agree(commit []byte, r *record) error {
	c, err := gitbridge.DecodeSnapshot(commit, p.alg)
	empty := p.alg.Sum(oid.Tree, nil)
	if err != nil || c.Tree != r.Snapshot.Tree && (c.Tree != empty || !r.Snapshot.Tree.IsZero()) || c.Overlay != r.Snapshot.Overlay {
		return tampered("the record says another state than its commit")
	}
	return p.put(oid.Commit, commit)
}

// record reads a record, which has to be of a snapshot, and the commit that stands behind it.
func (p *pull) record(beside map[string]*restic.Node, id oid.ID) (r *record, commit []byte, err error) {
	text, err := p.small(beside, recordName)
	if err != nil {
		return nil, nil, err
	}
	text, commit, _ = bytes.Cut(text, []byte("\n"))
	r, err = p.decode(text, id)
	return r, commit, err
}

func (p *pull) decode(text []byte, id oid.ID) (*record, error) {
	var r record
	if err := json.Unmarshal(text, &r); err != nil || r.Snapshot == nil {
		return nil, tampered("its record cannot be read: %v", err)
	}
	switch {
	case r.Format < recordFormat:
		return nil, fmt.Errorf("its record has format %d, which only programs before the first release have written", r.Format)
	case r.Format > recordFormat:
		return nil, fmt.Errorf("its record has format %d, and this program reads %d: a later version of rewind reads it", r.Format, recordFormat)
	case r.Algorithm != p.alg.String():
		return nil, fmt.Errorf("%w: its ids are %s, and here they are %v: \"rewind resume\" puts it into a directory of its own", records.ErrRefused, r.Algorithm, p.alg)
	case r.Snapshot.ID != id || r.Snapshot.Tree.IsZero() || r.Snapshot.Umask != r.Snapshot.Umask.Perm():
		return nil, tampered("its record is of another snapshot")
	}
	return &r, nil
}

// put stages what has the id that it should have.
func (p *pull) put(kind oid.Kind, payload []byte) error {
	if p.stage == nil {
		return nil
	}
	_, err := p.stage.Put(p.ctx, kind, payload, oid.ID{})
	return objects.StoreError(err)
}

// load reads a tree that was read before, or is here.
func (p *pull) load(id oid.ID, _ ...oid.ID) ([]byte, error) {
	if t, ok := p.trees[id]; ok {
		return t, nil
	}
	return p.local(id)
}

// complete reports whether all of a directory is here.
func (p *pull) complete(s tree.State) bool {
	if s.Tree.IsZero() && s.Overlay.IsZero() {
		return true
	}
	if all, ok := p.whole[s]; ok {
		return all
	}
	p.whole[s] = false
	l, err := p.layOut(s, p.local)
	if err != nil {
		return false
	}
	ids := slices.Clone(l.extra)
	for _, c := range l.children {
		if !c.Node.Mode.IsDir() {
			ids = append(ids, c.Node.ID)
		}
	}
	for _, id := range []oid.ID{s.Tree, s.Overlay} {
		if !id.IsZero() {
			ids = append(ids, id)
		}
	}
	here, err := p.has(ids)
	if err != nil {
		return false
	}
	for _, id := range ids {
		if !here[id] {
			return false
		}
	}
	for _, d := range l.dirs {
		if !p.complete(d) {
			return false
		}
	}
	p.whole[s] = true
	return true
}

// dir reads the trees of a directory, notes the contents that are lacking, and returns the directories in it.
func (p *pull) dir(s tree.State, at dir) (out []place, err error) {
	if g := p.s.git; g != nil {
		return g.dir(p, s)
	}
	if err := p.ctx.Err(); err != nil {
		return nil, err
	}
	beside, err := p.byName(at.beside)
	if err != nil {
		return nil, err
	}
	files, err := p.byName(at.files)
	if err != nil {
		return nil, err
	}
	if err := p.treesOf(s, files, beside); err != nil {
		return nil, err
	}
	l, err := p.layOut(s, p.load)
	if err != nil {
		return nil, tampered("%v", err)
	}
	var below []dir
	for _, c := range l.children {
		n := files[c.Name]
		if n == nil && !may(s) {
			return nil, tampered("%q is missing", c.Name)
		}
		if n == nil {
			if c.Node.Mode.IsDir() {
				below = append(below, dir{})
			}
			continue
		}
		switch c.Node.Mode.Type() {
		case tree.File:
			p.want(c.Node.ID, n)
		case tree.Symlink:
			if err := p.link(c.Node.ID, n, beside); err != nil {
				return nil, err
			}
		default:
			if !isDir(n) {
				return nil, tampered("%q is no directory", c.Name)
			}
			below = append(below, dir{files: n.Subtree})
		}
	}
	for _, id := range l.extra {
		if n := beside[blobPrefix+id.String()]; n != nil { // who pushed need not have had it
			p.want(id, n)
		}
	}
	for i, d := range l.dirs {
		if d.Tree.IsZero() && d.Overlay.IsZero() {
			continue
		}
		var next dir
		if i < l.onDisk {
			next.files = below[i].files
		} else if next.files, err = dirOf(beside, filesPrefix+strconv.Itoa(i)); err != nil {
			return nil, err
		}
		if name := dirPrefix + strconv.Itoa(i); beside[name] != nil {
			if next.beside, err = dirOf(beside, name); err != nil {
				return nil, err
			}
		}
		out = append(out, place{d, next})
	}
	return out, nil
}

func (p *pull) want(id oid.ID, n *restic.Node) {
	if !p.wanted[id] {
		p.wanted[id] = true
		p.wants = append(p.wants, want{id: id, size: n.Size, blobs: n.Content})
	}
}

// lack notes a content of a git remote.
func (p *pull) lack(id oid.ID, may bool) {
	if !p.wanted[id] {
		p.wanted[id] = true
		p.wants = append(p.wants, want{id: id, may: may})
	}
}

// link takes a link over, whose target is in the tree, or beside it where that cannot hold it.
func (p *pull) link(id oid.ID, n *restic.Node, beside map[string]*restic.Node) error {
	target := []byte(n.Target)
	if p.alg.Sum(oid.Blob, target) != id {
		var err error
		if target, err = p.object(beside, blobPrefix+id.String(), oid.Blob, id); err != nil {
			return err
		}
	}
	return p.put(oid.Blob, target)
}
