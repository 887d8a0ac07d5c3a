//go:build linux

package fuzz

import (
	"strings"

	"github.com/seed-82afce7a/rewind/fuzz/internal/kit"
)

// A picture is a directory byte for byte: every path but those of git.
type picture = kit.Picture

func (w *world) picture(dir string) picture {
	w.t.Helper()
	p, err := kit.Look(dir, kit.Git)
	w.must(err)
	return p
}

// special reports whether a path is what no snapshot holds: a pipe, a socket or
// a device.
func special(p picture, path string) bool {
	what := p[path]
	return what != "" && strings.ContainsRune("pSD", rune(what[0]))
}

// recordable leaves out what no snapshot holds.
func recordable(p picture) picture {
	out := picture{}
	for path, what := range p {
		if !special(p, path) {
			out[path] = what
		}
	}
	return out
}
