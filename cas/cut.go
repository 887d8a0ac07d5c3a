package cas

import (
	"errors"
	"io"
	"sync"

	chunkers "github.com/PlakarKorp/go-cdc-chunkers"
	_ "github.com/PlakarKorp/go-cdc-chunkers/chunkers/fastcdc" // registers the algorithm
)

// Where contents are cut is part of the format: other places would lose the
// deduplication against what is stored. A test holds the cuts of known bytes.
const (
	wholeMax = 128 << 10 // up to here a content is one chunk
	smallMax = 8 << 20   // up to here the small cuts are used

	cutAlgorithm = "fastcdc-v1.0.0"
)

// cutters are pools of the buffers that chunkers need, by size of cuts.
type cutters struct {
	small, large sync.Pool
}

// cut calls fn with the chunks of what r gives, size bytes if all is well. The
// slice is fn's until it returns.
func (c *cutters) cut(r io.Reader, size int64, fn func(raw []byte) error) error {
	opt, pool := &chunkers.ChunkerOpts{MinSize: 16 << 10, NormalSize: 64 << 10, MaxSize: 256 << 10}, &c.small
	if size > smallMax {
		opt, pool = &chunkers.ChunkerOpts{MinSize: 64 << 10, NormalSize: 256 << 10, MaxSize: 1 << 20}, &c.large
	}
	buf, _ := pool.Get().(*[]byte)
	if buf == nil {
		b := make([]byte, 2*opt.MaxSize)
		buf = &b
	}
	defer pool.Put(buf)
	chunker, err := chunkers.NewChunkerBuffer(cutAlgorithm, r, opt, *buf)
	if err != nil {
		return err
	}
	for {
		raw, err := chunker.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(raw) > 0 {
			if err := fn(raw); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}
