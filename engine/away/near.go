package away

import (
	"io"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// A near reads contents from the worktree where it still has them: that is cheaper than inflating git's packs.
// Whoever has written there meanwhile, what has the id is what was recorded.
type near struct {
	root string // "": nothing is read there
	alg  oid.Algorithm
	at   map[oid.ID]string

	hits, misses atomic.Int64
}

const (
	nearMost     = 1 << 18  // contents whose paths are known at once: a bound on memory
	nearBytes    = 16 << 20 // a larger content is read in pieces, from where it was recorded
	nearPatience = 64       // so many more misses than hits end it: the worktree is another one, or has other line ends
)

// may notes where a content may be.
func (n *near) may(id oid.ID, dir, name string) {
	if dir == "" || len(n.at) >= nearMost {
		return
	}
	if n.at == nil {
		n.at = map[oid.ID]string{}
	}
	n.at[id] = filepath.Join(dir, name)
}

func (n *near) forget() { clear(n.at) }

// read reads a content into a buffer; false: it is not there. Several goroutines may read.
func (n *near) read(id oid.ID, buf *[]byte) (payload []byte, ok bool) {
	path := n.at[id]
	if path == "" || n.misses.Load() > n.hits.Load()+nearPatience {
		return nil, false
	}
	if payload, ok = n.whole(path, buf); ok {
		ok = n.alg.Sum(oid.Blob, payload) == id
	}
	if ok {
		n.hits.Add(1)
	} else {
		n.misses.Add(1)
	}
	return payload, ok
}

func (n *near) whole(path string, buf *[]byte) ([]byte, bool) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() > nearBytes {
		return nil, false
	}
	size := int(st.Size())
	*buf = slices.Grow((*buf)[:0], size)[:size]
	_, err = io.ReadFull(f, *buf)
	return *buf, err == nil
}
