package worktree

import (
	"encoding/json"
	"iter"
	"maps"
	"path"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Changes are names that may have changed in directories below a root, by their
// slash-separated paths from there. Nothing that changed is missing; what did not
// change may be among them. The zero value is none.
type Changes struct {
	names map[string]map[string]bool // in a directory; nil: all names in it
	below map[string]bool            // directories that came, went or were exchanged: all below counts
	above map[string]bool            // the directories on the way to all those, and they themselves
}

// namesMax names of a directory are kept: more are all of it.
const namesMax = 256

// Add adds what lies in a directory under a name; the empty name is all that lies
// in it, but not what lies below its subdirectories.
func (c *Changes) Add(dir, name string) {
	names, had := c.names[dir]
	switch {
	case had && names == nil:
		return
	case name == "" || len(names) >= namesMax && !names[name]:
		names = nil
	case names == nil:
		names = map[string]bool{name: true}
	default:
		names[name] = true
		return
	}
	if c.names == nil {
		c.names = map[string]map[string]bool{}
	}
	c.names[dir] = names
	c.reach(dir)
}

// AddPath is [Changes.Add] for the path of a file.
func (c *Changes) AddPath(file string) {
	dir, name := path.Split(file)
	c.Add(strings.TrimSuffix(dir, "/"), name)
}

// AddBelow adds a directory with all below it.
func (c *Changes) AddBelow(dir string) {
	if c.below == nil {
		c.below = map[string]bool{}
	}
	c.below[dir] = true
	c.reach(dir)
}

// AddAll adds other changes.
func (c *Changes) AddAll(more *Changes) {
	for dir, names := range more.names {
		if names == nil {
			c.Add(dir, "")
		}
		for name := range names {
			c.Add(dir, name)
		}
	}
	for dir := range more.below {
		c.AddBelow(dir)
	}
}

// reach notes that a directory must be entered.
func (c *Changes) reach(dir string) {
	if c.above == nil {
		c.above = map[string]bool{"": true}
	}
	for dir != "" && !c.above[dir] {
		c.above[dir] = true
		dir = tree.Parent(dir)
	}
}

// Len is how many directories something changed in.
func (c *Changes) Len() int { return len(c.names) + len(c.below) }

// Below returns the directories of which all below counts.
func (c *Changes) Below() iter.Seq[string] { return maps.Keys(c.below) }

// Reaches reports whether something changed in a directory or below it.
func (c *Changes) Reaches(dir string) bool { return c.above[dir] || c.isBelow(dir) }

// in returns the names that changed in a directory; all says that every one did.
// No changes are everything.
func (c *Changes) in(dir string) (names map[string]bool, all bool) {
	if c == nil {
		return nil, true
	}
	names, had := c.names[dir]
	return names, had && names == nil || c.isBelow(dir)
}

// Has reports whether a name changed in a directory; the empty one is the directory
// itself, which a change of anything below it reaches too.
func (c *Changes) Has(dir, name string) bool {
	names, all := c.in(dir)
	return all || names[name] || name == "" && c.above[dir] || c.isBelow(path.Join(dir, name))
}

// isBelow reports whether a directory lies in one of which everything counts.
func (c *Changes) isBelow(dir string) bool {
	for len(c.below) > 0 {
		if c.below[dir] {
			return true
		}
		if dir == "" {
			break
		}
		dir = tree.Parent(dir)
	}
	return false
}

// told is how changes are handed to another process. A path may be any bytes.
type told struct {
	Names []toldNames
	Below [][]byte
}

type toldNames struct {
	Dir   []byte
	Names [][]byte // nil: all
}

// MarshalJSON makes a text of changes, for another process.
func (c *Changes) MarshalJSON() ([]byte, error) {
	var out told
	for dir, names := range c.names {
		one := toldNames{Dir: []byte(dir)}
		for name := range names {
			one.Names = append(one.Names, []byte(name))
		}
		out.Names = append(out.Names, one)
	}
	for dir := range c.below {
		out.Below = append(out.Below, []byte(dir))
	}
	return json.Marshal(out)
}

// UnmarshalJSON adds the changes of such a text.
func (c *Changes) UnmarshalJSON(text []byte) error {
	var in told
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	for _, one := range in.Names {
		if len(one.Names) == 0 {
			c.Add(string(one.Dir), "")
		}
		for _, name := range one.Names {
			c.Add(string(one.Dir), string(name))
		}
	}
	for _, dir := range in.Below {
		c.AddBelow(string(dir))
	}
	return nil
}
