package ignore

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/wildmatch"
)

// A Cone is the part of a worktree that a sparse checkout in cone mode wants on
// disk (git-sparse-checkout(1)): whole directories, and the files directly in
// some others. It is immutable and may be shared. The nil Cone is everything.
type Cone struct {
	all     bool
	whole   map[string]int  // directories with all that is in them, and how often each is named
	shallow map[string]bool // directories of which only the files are wanted
	fold    bool
	digest  uint64
}

// ParseCone reads a sparse-checkout file. Like git it knows the patterns of cone
// mode only; of a file with any other it returns nil, for git takes all of it
// for ordinary patterns then.
func ParseCone(data []byte, opt *Options) *Cone {
	if opt == nil {
		opt = &Options{}
	}
	c := &Cone{whole: map[string]int{}, shallow: map[string]bool{}, fold: opt.FoldCase}
	sum := sha256.Sum256(data)
	c.digest = binary.BigEndian.Uint64(sum[:]) | 1
	for line := range wildmatch.Lines(data) {
		if pattern := patternOf(line); pattern != "" && !c.add(pattern) {
			return nil
		}
	}
	return c
}

// add takes a pattern in, and reports whether it is one of cone mode: the files
// of the root, the directories of the root (unwanted), a directory, or the
// directories in one that was named before (unwanted).
func (c *Cone) add(pattern string) bool {
	switch pattern {
	case "/*":
		c.all = true
		return true
	case "!/*/":
		c.all = false
		return true
	}
	text, inside := strings.CutPrefix(pattern, "!")
	if inside {
		var ok bool
		if text, ok = strings.CutSuffix(text, "*/"); !ok {
			return false
		}
	}
	if len(text) < 3 || text[0] != '/' || text[len(text)-1] != '/' {
		return false
	}
	dir, ok := plainName(text[1 : len(text)-1])
	if dir = c.key(dir); !ok {
		return false
	}
	if !inside {
		c.whole[dir]++
		return !c.shallow[dir]
	}
	if c.whole[dir] == 0 {
		return false
	}
	c.whole[dir]--
	c.shallow[dir] = true
	return true
}

// plainName takes the backslashes away that stand before what would have a
// meaning in a pattern. It is not ok if something does have a meaning.
func plainName(s string) (name string, ok bool) {
	const meaning = `*?[\`
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			if i++; i == len(s) || strings.IndexByte(meaning, s[i]) < 0 {
				return "", false
			}
		} else if strings.IndexByte(meaning, s[i]) >= 0 {
			return "", false
		}
		b.WriteByte(s[i])
	}
	return b.String(), true
}

func (c *Cone) key(dir string) string {
	if c.fold {
		return strings.ToLower(dir)
	}
	return dir
}

// Has reports whether the files directly in a directory are wanted on disk. The
// root, "", always has them.
func (c *Cone) Has(dir string) bool {
	if c == nil || c.all || dir == "" {
		return true
	}
	dir = c.key(dir)
	if c.shallow[dir] {
		return true
	}
	for {
		if c.whole[dir] > 0 {
			return true
		}
		i := strings.LastIndexByte(dir, '/')
		if i < 0 {
			return false
		}
		dir = dir[:i]
	}
}

// Digest returns a number that is equal for equal files, and 0 for the nil Cone.
func (c *Cone) Digest() uint64 {
	if c == nil {
		return 0
	}
	return c.digest
}
