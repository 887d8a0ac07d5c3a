package cas

import (
	"errors"
	"io"

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

// cutters are the buffers that chunkers need, by size of cuts.
type cutters struct {
	small, large spares[[]byte]
}

// cut calls fn with the chunks of what r gives, size bytes if all is well. The
// slice is fn's until it returns.
func (c *cutters) cut(r io.Reader, size int64, fn func(raw []byte) error) error {
	opt, kept := &chunkers.ChunkerOpts{MinSize: 16 << 10, NormalSize: 64 << 10, MaxSize: 256 << 10}, &c.small
	if size > smallMax {
		opt, kept = &chunkers.ChunkerOpts{MinSize: 64 << 10, NormalSize: 256 << 10, MaxSize: 1 << 20}, &c.large
	}
	buf := kept.take(func() []byte { return make([]byte, 2*opt.MaxSize) })
	defer kept.put(buf)
	chunker, err := chunkers.NewChunkerBuffer(cutAlgorithm, r, opt, buf)
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
