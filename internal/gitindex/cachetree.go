package gitindex

import (
	"bytes"
	"strconv"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// depthMax is how deep a cache of trees may be nested; paths are no longer.
const depthMax = pathMax / 2

// cacheTree sets [Directory.Tree] from the TREE extension: directories in
// depth-first order, each with its name, the number of entries it stands for
// (negative: not valid), the number of its subdirectories, and its id.
//
// It is a cache: as in git, one that cannot be read is as good as none. What
// counts another number of entries than there are is left out.
func (x *Index) cacheTree(p []byte) {
	ids := make(map[*Directory]oid.ID, len(x.dirs))
	var path []byte
	type level struct {
		length int  // of the path
		left   int  // subdirectories to come
		known  bool // the index has entries there
	}
	var open []level
	for len(p) > 0 {
		node, n := x.cachedTree(p)
		if n == 0 || len(open) == depthMax {
			return
		}
		p = p[n:]
		known := true
		if len(open) > 0 {
			parent := &open[len(open)-1]
			parent.left--
			known = parent.known
			path = path[:parent.length]
			if len(path) > 0 {
				path = append(path, '/')
			}
			path = append(path, node.name...)
		}
		if known {
			var d *Directory
			d, known = x.byPath[string(path)]
			if known && node.entries == d.total {
				ids[d] = node.id
			}
		}
		open = append(open, level{len(path), node.subtrees, known})
		for len(open) > 0 && open[len(open)-1].left == 0 {
			open = open[:len(open)-1]
		}
		if len(open) == 0 {
			break
		}
	}
	if len(open) > 0 || len(p) > 0 {
		return
	}
	for d, id := range ids {
		d.Tree = id
	}
}

type cachedTree struct {
	name              []byte
	entries, subtrees int
	id                oid.ID
}

// cachedTree decodes one directory and returns its length, 0 for an error.
func (x *Index) cachedTree(p []byte) (t cachedTree, n int) {
	nul := bytes.IndexByte(p, 0)
	line := bytes.IndexByte(p[nul+1:], '\n')
	if nul < 0 || line < 0 {
		return t, 0
	}
	a, b, _ := bytes.Cut(p[nul+1:nul+1+line], []byte{' '})
	entries, err1 := strconv.Atoi(string(a))
	subtrees, err2 := strconv.Atoi(string(b))
	n = nul + 1 + line + 1
	if err1 != nil || err2 != nil || subtrees < 0 {
		return t, 0
	}
	t = cachedTree{name: p[:nul], entries: entries, subtrees: subtrees}
	if entries < 0 {
		return t, n
	}
	size := x.alg.Size()
	if len(p) < n+size {
		return t, 0
	}
	t.id, _ = oid.FromBytes(p[n : n+size])
	return t, n + size
}
