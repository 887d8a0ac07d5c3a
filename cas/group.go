package cas

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Small contents share a frame: each alone repeats what all of them have. To read one
// decodes all, so a frame has at most groupBytes of them.
const (
	groupBytes = 256 << 10
	// groupBytesMax is what a reader decodes at most.
	groupBytesMax = 1 << 20
)

// A task is what becomes one frame: an item of a batch, or several that share it.
type task []int

// tasks says which items of a batch share a frame. The rest of them stand alone: those
// that may become deltas, trees, which are read at every turn, and what is large. Those
// that begin alike lie together; so the files of a kind do, from whatever directories
// they come at once. Up to most bytes share a frame.
func (b *batch) tasks(found []found, most int) (list []task) {
	var several []int
	for i, it := range b.items {
		switch n := it.to - it.from; {
		case found[i].here:
		case found[i].baseRow == nil && !it.framed && (it.kind == oid.Blob || it.kind == chunkKind) && n > 0 && n < most:
			several = append(several, i)
		default:
			list = append(list, task{i})
		}
	}
	slices.SortFunc(several, func(i, j int) int {
		return cmp.Or(cmp.Compare(b.items[i].kind, b.items[j].kind), bytes.Compare(b.payload(i), b.payload(j)))
	})
	for from, to := 0, 0; from < len(several); from = to {
		n := 0
		for to = from; to < len(several) && b.items[several[to]].kind == b.items[several[from]].kind; to++ {
			i := several[to]
			if n += len(b.payload(i)); n > most && (b.items[i].kind != chunkKind || n > 2*most) { // chunks are read one after another
				break
			}
		}
		list = append(list, several[from:to])
	}
	return list
}

func (b *batch) payload(i int) []byte { return b.buf[b.items[i].from:b.items[i].to] }

// prepareAll makes the frame of a task.
func (s *Store) prepareAll(b *batch, t task, found []found) []staged {
	if len(t) == 1 {
		return []staged{s.prepare(b.items[t[0]], b.payload(t[0]), found[t[0]])}
	}
	out, payloads := make([]staged, len(t)), make([][]byte, len(t))
	for k, i := range t {
		out[k], payloads[k] = b.items[i].staged(), b.payload(i)
	}
	s.codecs.join(out, payloads)
	return out
}

// join gives several objects one frame, and each its share of it.
func (c *codecs) join(parts []staged, payloads [][]byte) {
	if len(parts) == 1 {
		parts[0].alone(c.encode(payloads[0]), oid.ID{})
		return
	}
	buf := c.joined.take(func() []byte { return make([]byte, 0, groupBytes) })[:0]
	defer func() { c.joined.put(buf) }()
	for _, p := range payloads {
		buf = append(buf, p...)
	}
	f := &frame{}
	if parts[0].kind == chunkKind { // of large contents, which have more in common: the least trouble is enough
		f.row = c.encode(buf)
	} else {
		f.row = c.encodeGroup(buf)
	}
	stored, total, at := uint64(len(f.row)-1), uint64(len(buf)), uint64(0)
	for i := range parts {
		p, end := &parts[i], at+uint64(len(payloads[i]))
		p.form, p.frame, p.at = part, f, uint32(at)
		p.stored = uint32(stored*end/total - stored*at/total)
		at = end
	}
}

// decodeGroup returns what a frame decodes to that objects share, in buf if there is room.
// If it is damaged, that is what lies before the damage.
func (c *codecs) decodeGroup(buf, row []byte) ([]byte, error) {
	size, err := groupSize(row)
	if err != nil {
		return nil, err
	}
	if cap(buf) < size+overrun {
		buf = make([]byte, 0, max(size, groupBytes)+overrun) // which most others will fit into
	}
	if row[0] == codecRaw {
		return append(buf[:0], row[1:]...), nil
	}
	raw, err := decompress(&c.expand, row[1:], nil, buf[:0:size+overrun])
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return buf[:min(len(raw), size)], err
}

// groupSize returns how many bytes the head of a frame says that it decodes to.
func groupSize(row []byte) (int, error) {
	var h zstd.Header
	switch {
	case len(row) == 0 || len(row) > groupBytesMax+1: // what is longer than its bytes is not compressed
	case row[0] == codecRaw:
		return len(row) - 1, nil
	case row[0] == codecZstd && h.Decode(row[1:]) == nil && h.FrameContentSize <= groupBytesMax:
		return int(h.FrameContentSize), nil
	}
	return 0, fmt.Errorf("%w: the head of a frame", ErrCorrupt)
}
