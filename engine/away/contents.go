package away

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// contents reads what is wanted: small contents with their neighbours, large ones one after another.
func (p *pull) contents() error {
	var ids []oid.ID
	for _, w := range p.wants {
		ids = append(ids, w.id)
	}
	here, err := p.has(ids)
	if err != nil {
		return err
	}
	small, large := map[restic.ID][]want{}, []want{}
	var blobs []restic.ID
	total, done := 0, 0
	for _, w := range p.wants {
		switch {
		case here[w.id]:
			continue
		case p.s.git == nil && len(w.blobs) == 1:
			small[w.blobs[0]] = append(small[w.blobs[0]], w)
			blobs = append(blobs, w.blobs[0])
		default:
			large = append(large, w)
		}
		total++
	}
	p.wants = nil
	var mu sync.Mutex
	count := func() {
		mu.Lock()
		defer mu.Unlock()
		if done++; p.told != nil {
			p.told(done, total)
		}
	}
	if g := p.s.git; g != nil {
		for _, w := range large {
			if err := cmp.Or(p.ctx.Err(), g.content(p, w)); err != nil {
				return err
			}
			count()
		}
		return nil
	}
	err = p.s.repo.Blobs(p.ctx, restic.Data, blobs, func(id restic.ID, b restic.Blob) error {
		for _, w := range small[id] {
			if err := p.came(w, b); err != nil {
				return err
			}
			count()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return restic.Parallel(p.ctx, largeAtOnce, len(large), func(ctx context.Context, i int) error {
		defer count()
		return p.large(ctx, large[i])
	})
}

// What of large contents is read at once.
const (
	largeAtOnce  = 4
	joinedAtOnce = 4 << 20 // bytes of each
)

func (p *pull) large(ctx context.Context, w want) error {
	if len(w.blobs) == 0 {
		return p.came(w, restic.Blob{})
	}
	var size int64
	for _, b := range w.blobs {
		n, ok := p.s.repo.Size(restic.Data, b)
		if !ok {
			return fmt.Errorf("%w: data blob %v", restic.ErrUnknown, b)
		}
		size += n
	}
	return p.keep(w, &joined{ctx: ctx, p: p, blobs: w.blobs}, size)
}

// keep stages a content, which has to have its id.
func (p *pull) keep(w want, r io.Reader, size int64) error {
	id, err := p.stageContent(r, size)
	return w.kept(id, err)
}

// came stages a content of one blob or none, and hands it on.
func (p *pull) came(w want, b restic.Blob) (err error) {
	if p.stage == nil || b.Frame == nil {
		err = p.keep(w, bytes.NewReader(b.Plain), int64(len(b.Plain)))
	} else {
		err = w.kept(p.stage.PutFrame(p.ctx, oid.Blob, b.Plain, b.Frame))
	}
	if err == nil && p.arrived != nil {
		err = p.arrived(p.ctx, w.id, b.Plain)
	}
	return err
}

func (w want) kept(id oid.ID, err error) error {
	if errors.Is(err, cas.ErrSize) {
		return tampered("content %v has another size", w.id)
	}
	if err != nil {
		return objects.StoreError(err)
	}
	if id != w.id {
		return tampered("content %v has other bytes than its id says", w.id)
	}
	return nil
}

func (p *pull) stageContent(r io.Reader, size int64) (oid.ID, error) {
	if p.stage != nil {
		return p.stage.PutReader(p.ctx, oid.Blob, r, size, oid.ID{})
	}
	h := p.alg.NewHasher(oid.Blob, size)
	n, err := io.Copy(h, r)
	if err == nil && n != size {
		err = cas.ErrSize
	}
	return h.Sum(), err
}

// joined reads the blobs of a content one behind another, and those that come next with them.
type joined struct {
	ctx   context.Context
	p     *pull
	blobs []restic.ID
	read  map[restic.ID][]byte
	rest  []byte
}

func (j *joined) Read(out []byte) (int, error) {
	for len(j.rest) == 0 {
		if len(j.blobs) == 0 {
			return 0, io.EOF
		}
		if _, ok := j.read[j.blobs[0]]; !ok {
			if err := j.ahead(); err != nil {
				return 0, err
			}
		}
		j.rest, j.blobs = j.read[j.blobs[0]], j.blobs[1:]
	}
	n := copy(out, j.rest)
	j.rest = j.rest[n:]
	return n, nil
}

// ahead reads blobs that come next: one at least.
func (j *joined) ahead() error {
	n, bytes := 1, j.p.size(restic.Data, j.blobs[0])
	for n < len(j.blobs) {
		if bytes += j.p.size(restic.Data, j.blobs[n]); bytes > joinedAtOnce {
			break
		}
		n++
	}
	var mu sync.Mutex
	j.read = make(map[restic.ID][]byte, n)
	return j.p.s.repo.Blobs(j.ctx, restic.Data, j.blobs[:n], func(id restic.ID, b restic.Blob) error {
		mu.Lock()
		defer mu.Unlock()
		j.read[id] = slices.Clone(b.Plain)
		return nil
	})
}
