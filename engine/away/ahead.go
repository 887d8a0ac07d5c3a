package away

import (
	"bytes"
	"sync"

	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// What is read at once, many blobs to a request: where one directory is read after another, a request each, the way
// there and back is what a fetch takes. The bounds are on memory.
const (
	dirsAtOnce  = 1024
	aheadMost   = 4 << 20 // bytes of trees
	payloadMost = 8 << 20 // bytes of small contents
)

// A place is a directory, and where it lies.
type place struct {
	state tree.State
	at    dir
}

// snapshot reads the record of a snapshot, and what its trees name.
func (p *pull) snapshot(d *Distant) (*pulled, error) {
	all, err := p.snapshots([]*Distant{d})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// snapshots reads the records of snapshots, and what their trees name. The error names the snapshot if it is one alone.
func (p *pull) snapshots(list []*Distant) (all []*pulled, err error) {
	defer p.forget()
	if all, err = p.openAll(list); err == nil {
		todo := make([]place, len(all))
		for i, s := range all {
			todo[i] = s.top
		}
		err = p.dirs(todo)
		for i := 0; err == nil && i < len(all); i++ {
			err = p.fits(all[i].top.state)
		}
	}
	if err != nil && len(list) == 1 {
		err = list[0].located(err)
	}
	return all, err
}

func (p *pull) openAll(list []*Distant) (all []*pulled, err error) {
	if err := p.aheadRecords(list); err != nil {
		return nil, err
	}
	for _, d := range list {
		one, err := p.open(d)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// dirs reads directories and all below them.
func (p *pull) dirs(todo []place) error {
	for len(todo) > 0 {
		var some []place
		for bytes := int64(0); len(todo) > 0 && len(some) < dirsAtOnce && bytes < aheadMost; {
			d := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if p.complete(d.state) {
				continue
			}
			p.whole[d.state] = true // when all that is wanted has come
			some = append(some, d)
			bytes += p.size(restic.Tree, d.at.files) + p.size(restic.Tree, d.at.beside)
		}
		p.forget()
		if err := p.aheadDirs(some); err != nil {
			return err
		}
		for _, d := range some {
			below, err := p.dir(d.state, d.at)
			if err != nil {
				return err
			}
			todo = append(todo, below...)
		}
		if p.told != nil {
			p.told(0, len(p.wants))
		}
	}
	return nil
}

func (p *pull) size(k restic.Kind, id restic.ID) int64 {
	if p.s.git != nil {
		return 0
	}
	n, _ := p.s.repo.Size(k, id)
	return n
}

// forget lets go of what was read ahead.
func (p *pull) forget() {
	clear(p.nodes)
	clear(p.blobs)
}

// aheadRecords reads what the records of snapshots are read from.
func (p *pull) aheadRecords(list []*Distant) error {
	if p.s.git != nil { // all is on this machine
		return nil
	}
	var ids []restic.ID
	for _, d := range list {
		ids = append(ids, d.Tree)
	}
	if err := p.aheadTrees(ids); err != nil {
		return err
	}
	ids = ids[:0]
	for _, d := range list {
		at, err := p.views(d)
		if err != nil {
			return err
		}
		ids = append(ids, at.beside)
	}
	if err := p.aheadTrees(ids); err != nil {
		return err
	}
	var small []restic.ID
	for _, id := range ids {
		for _, n := range p.nodes[id] {
			small = append(small, n.Content...)
		}
	}
	return p.aheadBlobs(small)
}

// aheadDirs reads what directories are read from.
func (p *pull) aheadDirs(list []place) error {
	if p.s.git != nil {
		return nil
	}
	var ids []restic.ID
	for _, d := range list {
		for _, id := range []restic.ID{d.at.files, d.at.beside} {
			if id != (restic.ID{}) {
				ids = append(ids, id)
			}
		}
	}
	if err := p.aheadTrees(ids); err != nil {
		return err
	}
	var small []restic.ID
	for _, d := range list {
		beside := p.nodes[d.at.beside]
		if n := beside[treeName]; n != nil && p.trees[d.state.Tree] == nil {
			small = append(small, n.Content...)
		}
		if n := beside[overlayName]; n != nil && p.trees[d.state.Overlay] == nil {
			small = append(small, n.Content...)
		}
	}
	return p.aheadBlobs(small)
}

func (p *pull) aheadTrees(ids []restic.ID) error {
	var mu sync.Mutex
	return p.s.repo.Trees(p.ctx, ids, func(id restic.ID, nodes []restic.Node) {
		at := namesOf(nodes)
		mu.Lock()
		defer mu.Unlock()
		p.nodes[id] = at
	})
}

// aheadBlobs reads small contents; those beyond the bound are read when they are wanted.
func (p *pull) aheadBlobs(ids []restic.ID) error {
	var mu sync.Mutex
	sum := int64(0)
	for i, id := range ids {
		if sum += p.size(restic.Data, id); sum > payloadMost {
			ids = ids[:i]
			break
		}
	}
	return p.s.repo.Blobs(p.ctx, restic.Data, ids, func(id restic.ID, b restic.Blob) error {
		mu.Lock()
		defer mu.Unlock()
		p.blobs[id] = bytes.Clone(b.Plain)
		return nil
	})
}
