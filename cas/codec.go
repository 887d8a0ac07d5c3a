package cas

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// The codecs: the first byte of a row of the bucket data.
const (
	codecRaw   byte = 0
	codecZstd  byte = 1
	codecDelta byte = 2 // zstd with the raw bytes of the base as dictionary
)

const (
	// dictID is written into delta frames, which need one.
	dictID = 1
	// deltaShare: a delta is used if it is at most a sixteenth of the raw bytes,
	// about a quarter of what they compress to. A later edit of the same file
	// is a delta from the same base and so a little larger; where that ends and
	// the file is stored whole is near the cheapest place.
	deltaShare = 16
	// treeShare is the same for a tree: at most a fifth. Its bytes are ids, which
	// compress to little less, so that to store it whole again costs more.
	treeShare = 5
	// deltaSmall bytes are allowed for a file so small that this is less; there
	// the delta must be at most half of the plain frame.
	deltaSmall = 160
	// deltaFrom: less is stored whole, a delta's row being longer by a digest.
	deltaFrom = 128
	// The windows of the encoders reach as far back as there is anything: over
	// the largest chunk of a content, and over a base and its new version. An
	// encoder keeps a history of that length, whose pages a process that records
	// one edited file would only touch to throw them away.
	plainWindow = 1 << 20
	deltaWindow = 2 * wholeMax
)

// codecs are kept: a new zstd encoder costs more than compressing a file.
type codecs struct {
	plain, group, delta spares[*encoder]
	expand, patch       spares[*zstd.Decoder]
	joined              spares[[]byte] // of what a group's frame is made
}

type encoder struct {
	z       *zstd.Encoder
	scratch []byte
}

// encode returns the row of the bucket data for raw: the codec and the frame.
func (c *codecs) encode(raw []byte) []byte {
	return encode(&c.plain, plainWindow, zstd.SpeedFastest, raw)
}

// encodeGroup is encode for small contents that share a frame. Where there are many it
// takes more trouble: 7 % less than by encode, for a fifth more time. Its tables are
// fresh memory, too much for a few.
func (c *codecs) encodeGroup(raw []byte) []byte {
	if len(raw) < groupBytes/2 {
		return c.encode(raw)
	}
	return encode(&c.group, groupBytes, zstd.SpeedDefault, raw)
}

func encode(kept *spares[*encoder], window int, level zstd.EncoderLevel, raw []byte) []byte {
	e := kept.take(func() *encoder { return &encoder{z: newEncoder(window, level)} })
	defer kept.put(e)
	e.scratch = e.z.EncodeAll(raw, append(e.scratch[:0], codecZstd))
	if len(e.scratch)-1 >= len(raw) {
		return append([]byte{codecRaw}, raw...)
	}
	return bytes.Clone(e.scratch)
}

// encodeDelta returns the row for raw as its difference from base, or nil if
// that is not small.
func (c *codecs) encodeDelta(kind oid.Kind, raw, base []byte) []byte {
	if len(raw) < deltaFrom {
		return nil
	}
	e := c.delta.take(func() *encoder { return &encoder{z: newEncoder(deltaWindow, zstd.SpeedFastest)} })
	defer c.delta.put(e)
	frame := bytes.NewBuffer(append(e.scratch[:0], codecDelta))
	if !e.patch(frame, raw, base) {
		return nil
	}
	e.scratch = frame.Bytes()
	size, share := len(e.scratch)-1, deltaShare
	if kind == oid.Tree {
		share = treeShare
	}
	switch {
	case size <= len(raw)/share:
		return bytes.Clone(e.scratch)
	case size <= deltaSmall && size <= len(c.encode(raw))/2:
		return bytes.Clone(e.scratch)
	}
	return nil
}

// patch writes the frame of raw with base as dictionary. The stream interface
// is used because EncodeAll would build the dictionary's table a second time.
func (e *encoder) patch(w io.Writer, raw, base []byte) bool {
	if err := e.z.ResetWithOptions(w, zstd.WithEncoderDictRaw(dictID, base)); err != nil {
		return false // a base too short to be one
	}
	_, err := e.z.Write(raw)
	return errors.Join(err, e.z.Close()) == nil
}

// overrun is how many bytes behind its own the decoder may write, where there is room. It then
// copies sixteen at a time.
const overrun = 16

// room returns memory for so many bytes, never nil: that of buf, if it is enough. Up to
// overrun bytes more may be written.
func room(buf []byte, size int) []byte {
	if buf == nil || cap(buf) < size {
		return make([]byte, 0, size+overrun)
	}
	return buf[:0:min(size+overrun, cap(buf))]
}

// decode returns the raw bytes of a row of the bucket data, size of them, in buf if there
// is room. It trusts neither the frame nor its length; the caller compares the digest.
func (c *codecs) decode(row, base, buf []byte, size int) ([]byte, error) {
	if len(row) == 0 {
		return nil, fmt.Errorf("%w: an empty frame", ErrCorrupt)
	}
	var raw []byte
	var err error
	switch {
	case row[0] == codecRaw && base == nil:
		raw = append(room(buf, len(row)-1), row[1:]...)
	case row[0] == codecZstd && base == nil:
		raw, err = decompress(&c.expand, row[1:], nil, room(buf, size))
	case row[0] == codecDelta && base != nil:
		raw, err = decompress(&c.patch, row[1:], base, room(buf, size))
	default:
		err = fmt.Errorf("codec %d", row[0])
	}
	if err == nil && len(raw) != size {
		err = fmt.Errorf("%d bytes instead of %d", len(raw), size)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return raw, nil
}

// decompress returns what a frame decodes to, in buf, of which the capacity is the limit.
func decompress(kept *spares[*zstd.Decoder], frame, base, buf []byte) ([]byte, error) {
	d := kept.take(newDecoder)
	defer kept.put(d)
	if base != nil {
		if err := d.ResetWithOptions(nil, zstd.WithDecoderDictRaw(dictID, base)); err != nil {
			return nil, err
		}
	}
	return d.DecodeAll(frame, buf)
}

// newEncoder cannot fail: its options are constants.
func newEncoder(window int, level zstd.EncoderLevel) *zstd.Encoder {
	z, err := zstd.NewWriter(nil,
		zstd.WithWindowSize(window),
		zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderLevel(level),
		zstd.WithAllLitEntropyCompression(true), // else what repeats nothing, as hex digits, stays as it is
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), // the digest is the checksum
		zstd.WithSingleSegment(true))
	if err != nil {
		panic(err)
	}
	return z
}

// newDecoder cannot fail either. The limit is the capacity it is given.
func newDecoder() *zstd.Decoder {
	z, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err)
	}
	return z
}
