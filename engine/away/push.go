package away

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// A push brings snapshots to a remote. It is for one goroutine.
type push struct {
	ctx     context.Context
	objects *objects.Objects
	load    tree.Loader
	cut     *cutter // nil: nothing stays here
	repo    *restic.Repo
	w       *restic.Writer
	known   *known
	as      bool // the index of the remote is as it is known, and was not read
	near    near
	told    func(done, total int)

	read  int // contents that were read
	total int // that were to be read so far
	fresh map[tree.State]dir
	there map[file]bool // snapshots
}

// snapshot stores all of a snapshot that may go, and returns the tree that shows it.
func (p *push) snapshot(e *errand) (restic.ID, error) {
	if err := p.without(e); err != nil {
		return restic.ID{}, err
	}
	s := e.sent
	if err := p.contents(s.State()); err != nil {
		return restic.ID{}, err
	}
	d, err := p.dir(s.State())
	if err != nil {
		return restic.ID{}, err
	}
	commit, err := p.payloads(oid.Commit)(s.ID)
	if err != nil {
		return restic.ID{}, err
	}
	var nodes []restic.Node
	if err := p.add(&nodes, recordName, slices.Concat(e.text, []byte("\n"), commit)); err != nil {
		return restic.ID{}, err
	}
	for _, id := range named(s) {
		if err := p.object(&nodes, blobPrefix+id.String(), id, p.payloads(oid.Blob)); err != nil {
			return restic.ID{}, err
		}
	}
	if err := p.plans(&nodes, e.record.Operations); err != nil {
		return restic.ID{}, err
	}
	if d.beside != (restic.ID{}) {
		nodes = append(nodes, restic.Node{Name: stateName, Type: "dir", Mode: fs.ModeDir | 0o700, Subtree: d.beside})
	}
	beside, err := p.w.PutTree(nodes)
	if err != nil {
		return restic.ID{}, err
	}
	return p.w.PutTree([]restic.Node{
		{Name: filesName, Type: "dir", Mode: fs.ModeDir | 0o755, Subtree: d.files},
		{Name: besideName, Type: "dir", Mode: fs.ModeDir | 0o700, Subtree: beside},
	})
}

// without says what of a snapshot goes.
func (p *push) without(e *errand) (err error) {
	if e.sent = e.s; p.cut == nil {
		return nil
	}
	if e.sent, err = p.cut.without(p.ctx, e.s); err != nil || e.sent.ID == e.s.ID {
		return err
	}
	e.record.Of = e.s.ID
	e.text, err = encode(e.sent, e.record)
	return err
}

// payloads reads objects of a kind.
func (p *push) payloads(kind oid.Kind) tree.Loader {
	return func(id oid.ID, _ ...oid.ID) ([]byte, error) {
		if p.cut != nil {
			return p.cut.payload(p.ctx, kind, id)
		}
		return p.objects.Payload(p.ctx, kind, id)
	}
}

// object stores a small object that other snapshots may name too, and a node for it. It is read if the remote lacks it.
func (p *push) object(nodes *[]restic.Node, name string, id oid.ID, read tree.Loader) error {
	if c := p.known.contents[id]; p.hasContent(id) {
		*nodes = append(*nodes, restic.Node{Name: name, Type: "file", Mode: 0o600, Size: c.size, Content: c.blobs})
		return nil
	}
	payload, err := read(id)
	if err == nil {
		err = p.add(nodes, name, payload)
	}
	if err == nil {
		p.known.addContent(id, content{int64(len(payload)), (*nodes)[len(*nodes)-1].Content})
	}
	return err
}

// add stores a small content, and a node for it.
func (p *push) add(nodes *[]restic.Node, name string, payload []byte) error {
	n := restic.Node{Name: name, Type: "file", Mode: 0o600, Size: int64(len(payload)), Content: []restic.ID{}}
	if len(payload) > 0 {
		id, err := p.w.Put(restic.Data, payload)
		if err != nil {
			return err
		}
		n.Content = append(n.Content, id)
	}
	*nodes = append(*nodes, n)
	return nil
}

// has reports whether the remote has a directory, as far as is known.
func (p *push) has(s tree.State) (dir, bool) {
	if d, ok := p.fresh[s]; ok {
		return d, true
	}
	d, ok := p.known.dirs[s]
	return d, ok && (p.as || d.all(func(id restic.ID) bool { return p.repo.Has(restic.Tree, id) }))
}

// hasContent reports whether the remote has a content.
func (p *push) hasContent(id oid.ID) bool {
	c, ok := p.known.contents[id]
	return ok && (p.as || has(p.repo, c))
}

func has(repo *restic.Repo, c content) bool {
	return !slices.ContainsFunc(c.blobs, func(b restic.ID) bool { return !repo.Has(restic.Data, b) })
}

// contents reads the contents that the remote lacks, several at once, and stores them.
func (p *push) contents(s tree.State) error {
	var ids []oid.ID
	seen, met := map[oid.ID]bool{}, map[tree.State]bool{}
	maybe := map[oid.ID]bool{} // beside the disk, where one may be missing
	want := func(id oid.ID, dir, name string) {
		if !seen[id] {
			seen[id] = true
			if !p.hasContent(id) {
				ids = append(ids, id)
				p.near.may(id, dir, name)
			}
		}
	}
	var walk func(tree.State, string) error
	walk = func(s tree.State, dir string) error {
		if _, ok := p.has(s); ok || met[s] || s.Tree.IsZero() && s.Overlay.IsZero() {
			return nil
		}
		met[s] = true
		if err := p.ctx.Err(); err != nil {
			return err
		}
		l, err := layOut(s, p.objects.Algorithm, p.load)
		if err != nil {
			return objects.TreeError(err)
		}
		for _, c := range l.children {
			if c.Node.Mode.Type() == tree.File {
				if !may(s) {
					delete(maybe, c.Node.ID)
				} else if !seen[c.Node.ID] {
					maybe[c.Node.ID] = true
				}
				want(c.Node.ID, dir, c.Name)
			}
		}
		for _, id := range l.extra {
			if !seen[id] {
				maybe[id] = true
			}
			want(id, "", "")
		}
		below := 0
		for _, c := range l.children {
			if c.Node.Mode.IsDir() {
				if err := walk(l.dirs[below], filepath.Join(dir, c.Name)); err != nil {
					return err
				}
				below++
			}
		}
		for _, d := range l.dirs[l.onDisk:] {
			if err := walk(d, ""); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(s, p.near.root); err != nil {
		return err
	}
	defer p.near.forget()
	return p.putAll(ids, maybe)
}

// putAll stores contents. Of those that may be missing some are left out.
func (p *push) putAll(ids []oid.ID, maybe map[oid.ID]bool) error {
	from, next := p.objects.Prefetch(ids), make(chan oid.ID)
	p.total += len(ids)
	var mu sync.Mutex
	var failed error
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0)+1, len(ids)) {
		wg.Go(func() {
			var buf []byte
			for id := range next {
				mu.Lock()
				over := failed != nil
				mu.Unlock()
				if over {
					continue
				}
				c, err := p.put(from, &buf, id)
				mu.Lock()
				switch {
				case err == nil:
					p.known.addContent(id, c)
					if p.read++; p.told != nil {
						p.told(p.read, p.total)
					}
				case maybe[id] && errors.Is(err, records.ErrDamaged): // it was never on disk
					p.total--
					delete(p.known.contents, id)
				case failed == nil:
					failed = err
				}
				mu.Unlock()
			}
		})
	}
	for _, id := range ids {
		next <- id
	}
	close(next)
	wg.Wait()
	return failed
}

func (p *push) put(from *objects.Prefetch, buf *[]byte, id oid.ID) (c content, err error) {
	if payload, ok := p.near.read(id, buf); ok {
		c.size = int64(len(payload))
		c.blobs, err = p.w.PutContent(payload)
		return c, err
	}
	o, err := from.Stream(p.ctx, id)
	if err != nil {
		return c, objects.ReadError(id, err)
	}
	defer o.Data.Close()
	if o.Kind != oid.Blob {
		return c, fmt.Errorf("%w: object %v is no content", records.ErrDamaged, id)
	}
	c.size = o.Size
	c.blobs, err = p.w.PutReader(o.Data, o.Size)
	return c, objects.ReadError(id, err)
}

// dir stores a directory with all below it, whose contents are stored. One that is not on disk may lack some.
func (p *push) dir(s tree.State) (dir, error) {
	if d, ok := p.has(s); ok {
		return d, nil
	}
	var l layout
	var beside []restic.Node
	if !s.Tree.IsZero() || !s.Overlay.IsZero() {
		at, err := layOut(s, p.objects.Algorithm, p.load)
		if err != nil {
			return dir{}, objects.TreeError(err)
		}
		l = *at
	}
	below := make([]dir, len(l.dirs))
	for i, at := range l.dirs {
		var err error
		if below[i], err = p.dir(at); err != nil {
			return dir{}, err
		}
		if i >= l.onDisk {
			beside = append(beside, restic.Node{Name: filesPrefix + strconv.Itoa(i), Type: "dir", Mode: fs.ModeDir | 0o700, Subtree: below[i].files})
		}
		if below[i].beside != (restic.ID{}) {
			beside = append(beside, restic.Node{Name: dirPrefix + strconv.Itoa(i), Type: "dir", Mode: fs.ModeDir | 0o700, Subtree: below[i].beside})
		}
	}
	for _, id := range l.extra {
		if c, ok := p.known.contents[id]; ok {
			beside = append(beside, restic.Node{Name: blobPrefix + id.String(), Type: "file", Mode: 0o600, Size: c.size, Content: c.blobs})
		}
	}
	files, err := p.files(&l, below, &beside, may(s))
	if err == nil {
		err = p.payloadsOf(s, files, &beside)
	}
	if err != nil {
		return dir{}, err
	}
	var d dir
	if d.files, err = p.w.PutTree(files); err == nil && len(beside) > 0 {
		d.beside, err = p.w.PutTree(beside)
	}
	if err == nil {
		p.fresh[s] = d
	}
	return d, err
}

// payloadsOf stores what the nodes of a directory do not say of its trees: the overlay, and the git tree if they would
// imply another one.
func (p *push) payloadsOf(s tree.State, files []restic.Node, beside *[]restic.Node) error {
	if !s.Overlay.IsZero() {
		if err := p.object(beside, overlayName, s.Overlay, p.load); err != nil {
			return err
		}
	}
	alg := p.objects.Algorithm
	if s.Tree.IsZero() || alg.Sum(oid.Tree, implied(namesOf(files), alg)) == s.Tree {
		return nil
	}
	for i := range files {
		if files[i].Type != "symlink" {
			files[i].Target = ""
		}
	}
	return p.object(beside, treeName, s.Tree, p.load)
}

// files makes the nodes of what is on disk, or would be. Some may be missing.
func (p *push) files(l *layout, below []dir, beside *[]restic.Node, may bool) (files []restic.Node, err error) {
	put := map[oid.ID]bool{}
	for _, c := range l.children {
		n := restic.Node{Name: c.Name, Mode: modeOf(c.Node.Mode), Target: c.Node.Git.ID.String()}
		switch c.Node.Mode.Type() {
		case tree.File:
			at, ok := p.known.contents[c.Node.ID]
			if !ok && may {
				continue
			}
			if !ok {
				return nil, fmt.Errorf("%w: content %v is missing", records.ErrDamaged, c.Node.ID)
			}
			n.Type, n.Size, n.Content = "file", at.size, at.blobs
		case tree.Symlink:
			target, err := p.objects.Payload(p.ctx, oid.Blob, c.Node.ID)
			if may && errors.Is(err, records.ErrDamaged) {
				continue
			}
			if err != nil {
				return nil, err
			}
			n.Type, n.Target = "symlink", string(target)
			if !restic.FitsTarget(n.Target) {
				n.Target = strings.ToValidUTF8(n.Target, "\ufffd")
				if put[c.Node.ID] {
					break
				}
				put[c.Node.ID] = true
				if err := p.add(beside, blobPrefix+c.Node.ID.String(), target); err != nil {
					return nil, err
				}
			}
		default:
			n.Type, n.Subtree, below = "dir", below[0].files, below[1:]
		}
		files = append(files, n)
	}
	return files, nil
}
