package away

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
		case len(w.blobs) == 1:
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
	err = p.s.repo.Blobs(p.ctx, restic.Data, blobs, func(id restic.ID, plain []byte) error {
		for _, w := range small[id] {
			if err := p.keep(w, bytes.NewReader(plain), int64(len(plain))); err != nil {
				return err
			}
			count()
		}
		return nil
	})
	for _, w := range large {
		if err != nil {
			return err
		}
		var size int64
		for _, b := range w.blobs {
			n, ok := p.s.repo.Size(restic.Data, b)
			if !ok {
				return fmt.Errorf("%w: data blob %v", restic.ErrUnknown, b)
			}
			size += n
		}
		err = p.keep(w, &joined{p: p, blobs: w.blobs}, size)
		count()
	}
	return err
}

// keep stages a content, which has to have its id.
func (p *pull) keep(w want, r io.Reader, size int64) error {
	id, err := p.stageContent(r, size)
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

// joined reads the blobs of a content one behind another.
type joined struct {
	p     *pull
	blobs []restic.ID
	rest  []byte
}

func (j *joined) Read(out []byte) (int, error) {
	for len(j.rest) == 0 {
		if len(j.blobs) == 0 {
			return 0, io.EOF
		}
		var err error
		if j.rest, err = j.p.s.repo.Blob(j.p.ctx, restic.Data, j.blobs[0]); err != nil {
			return 0, err
		}
		j.blobs = j.blobs[1:]
	}
	n := copy(out, j.rest)
	j.rest = j.rest[n:]
	return n, nil
}
