// Package wire has the JSON objects that other programs read: what the command
// line prints with --json (docs/json.md) and what the protocol answers
// (docs/protocol.md). Both are made here, and are the same.
//
// Fields are added and never change their meaning. A list is never null, and no
// byte of a path is lost. The package decides nothing: each object says what an
// outcome of the engine says.
package wire

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-82afce7a/rewind/engine"
)

// A Path is readable, and has its bytes beside it where they are not UTF-8.
type Path struct {
	Path    string `json:"path"`
	PathB64 []byte `json:"path_b64,omitempty"` // its bytes, where it is not UTF-8
}

// NewPath is a path of the engine.
func NewPath(p engine.Path) Path {
	if utf8.ValidString(string(p)) {
		return Path{Path: string(p)}
	}
	return Path{Path: strings.ToValidUTF8(string(p), "\uFFFD"), PathB64: []byte(p)}
}

// pathOf is nil for no path.
func pathOf(p engine.Path) *Path {
	if p == "" {
		return nil
	}
	out := NewPath(p)
	return &out
}

func newPaths(list []engine.Path) []Path {
	out := make([]Path, 0, len(list))
	for _, p := range list {
		out = append(out, NewPath(p))
	}
	return out
}

// A Note names a path, and says why.
type Note struct {
	Path
	Reason string `json:"reason"`
}

// Notes are notes of the engine.
func Notes(notes []engine.Note) []Note {
	out := make([]Note, 0, len(notes))
	for _, n := range notes {
		out = append(out, Note{NewPath(n.Path), n.Reason})
	}
	return out
}

// A left is a snapshot, or the ref, of which something is to be said.
type left struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

func newLefts(notes []engine.Note) []left {
	out := make([]left, 0, len(notes))
	for _, n := range notes {
		out = append(out, left{string(n.Path), n.Reason})
	}
	return out
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}

// text is what an error says, "" for none.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
