package changes

import (
	"path"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Renames says which paths that came were called otherwise before: of what went, and
// is of the same kind with the same content. The paths are by their places in the
// list, which is in path order: the new one leads to the old one.
//
// Of several the one with the same last name is taken, else the first; each is taken
// once before the first is taken again. What is empty is like all that is empty, and a
// directory has no content of its own: neither is ever renamed.
func Renames(list []Change) map[int]int {
	gone := map[content]*choice{}
	for i, c := range list {
		if key := contentOf(c.From); c.Status == 'D' && key != (content{}) {
			if gone[key] == nil {
				gone[key] = &choice{named: map[string][]int{}}
			}
			gone[key].add(i, path.Base(c.Path))
		}
	}
	if len(gone) == 0 {
		return nil
	}
	out := map[int]int{}
	for _, take := range []func(*choice, string) (int, bool){(*choice).same, (*choice).next, (*choice).again} {
		for i, c := range list {
			if _, done := out[i]; done || c.Status != 'A' {
				continue
			}
			if from := gone[contentOf(c.To)]; from != nil {
				if old, ok := take(from, path.Base(c.Path)); ok {
					out[i] = old
				}
			}
		}
	}
	return out
}

// A content is what a renamed path keeps; the zero one is nothing that is renamed.
type content struct {
	kind tree.Mode
	id   oid.ID
}

func contentOf(s Side) content {
	if s.Mode == tree.Absent || s.Mode.IsDir() || s.ID.IsZero() || empty[s.ID] {
		return content{}
	}
	return content{s.Mode.Type(), s.ID}
}

// empty has what a file without a byte is called.
var empty = map[oid.ID]bool{
	oid.SHA1.Sum(oid.Blob, nil):   true,
	oid.SHA256.Sum(oid.Blob, nil): true,
	oid.BLAKE3.Sum(oid.Blob, nil): true,
}

// A choice is what went with one content.
type choice struct {
	all   []int            // in path order
	named map[string][]int // by the last name, those that are not taken
	taken map[int]bool
	at    int // before it all are taken
}

func (c *choice) add(i int, name string) {
	c.all, c.named[name] = append(c.all, i), append(c.named[name], i)
}

// same takes the first that has a last name.
func (c *choice) same(name string) (int, bool) {
	list := c.named[name]
	if len(list) == 0 {
		return 0, false
	}
	c.named[name] = list[1:]
	if c.taken == nil {
		c.taken = map[int]bool{}
	}
	c.taken[list[0]] = true
	return list[0], true
}

// next takes the first that is not taken.
func (c *choice) next(string) (int, bool) {
	for ; c.at < len(c.all); c.at++ {
		if i := c.all[c.at]; !c.taken[i] {
			c.at++
			return i, true
		}
	}
	return 0, false
}

// again gives the first, which is taken.
func (c *choice) again(string) (int, bool) { return c.all[0], true }
