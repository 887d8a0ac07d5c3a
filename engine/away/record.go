package away

import (
	"crypto/sha256"
	"encoding/json"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// Names in the tree of a snapshot (docs/format-remote.md).
const (
	filesName   = "files"
	besideName  = "rewind"
	recordName  = "record"
	stateName   = "state"
	treeName    = "tree"
	overlayName = "overlay"
	blobPrefix  = "b"
	dirPrefix   = "d"
	filesPrefix = "f" // of a directory that is not on disk
)

// A record is what a snapshot has beside its trees.
type record struct {
	Format    int               `json:"format"`
	Algorithm string            `json:"algorithm"`
	History   string            `json:"history"`
	Root      records.Path      `json:"root"`
	Snapshot  *records.Snapshot `json:"snapshot"`
	Pins      []string          `json:"pins,omitempty"` // names that it was given, sorted
	Of        oid.ID            `json:"of,omitzero"`    // the snapshot with what stays on its machine

	Operations []operation `json:"operations,omitempty"` // that began with it
	Last       string      `json:"last,omitempty"`       // the key of the one that had begun last when it was taken
}

// original is the id of the snapshot that was recorded.
func (r *record) original() oid.ID {
	if r.Of.IsZero() {
		return r.Snapshot.ID
	}
	return r.Of
}

const recordFormat = 2

// named are the contents that a record names, each once.
func named(s *records.Snapshot) (ids []oid.ID) {
	seen := map[oid.ID]bool{{}: true}
	add := func(id oid.ID) {
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	for _, id := range s.Rules.Ignore {
		add(id)
	}
	add(s.Rules.Exclude)
	add(s.SkippedIn)
	for _, n := range s.Nested {
		add(n.Exclude)
	}
	return ids
}

// modeOf turns a mode into that of a node.
func modeOf(m tree.Mode) fs.FileMode {
	out := fs.FileMode(m & 0o777)
	for bit, is := range map[tree.Mode]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if m&bit != 0 {
			out |= is
		}
	}
	switch m.Type() {
	case tree.Dir, tree.Nested:
		out |= fs.ModeDir
	case tree.Symlink:
		out = fs.ModeSymlink | 0o777
	}
	return out
}

// encode makes the record of a snapshot.
func encode(s *records.Snapshot, r record) ([]byte, error) {
	r.Format, r.Snapshot = recordFormat, plain(s)
	return json.Marshal(r)
}

// plain is a snapshot without what a store says of it for itself.
func plain(s *records.Snapshot) *records.Snapshot {
	n := *s
	n.Held, n.Changed = "", nil
	if !n.SkippedIn.IsZero() {
		n.Skipped = nil
	}
	return &n
}

// hashOf is by what a snapshot that says something new is told from one that was pushed, on whatever machine. Of
// operations count those that were begun on this one.
func hashOf(s *records.Snapshot, pins []string, began []operation) (restic.ID, error) {
	n := plain(s)
	n.Where = ""
	text, err := json.Marshal(n)
	for _, name := range pins {
		text = append(append(text, 0), name...)
	}
	for _, op := range began {
		if !op.brought {
			text = append(append(text, 0, 0), op.Key...)
		}
	}
	return sha256.Sum256(text), err
}

// tagsOf are what a snapshot is found by there.
func tagsOf(s *records.Snapshot, r record) []string {
	tags := []string{oursTag, idTag + s.ID.String(), historyTag + r.History, algorithmTag + r.Algorithm, worktreeTag + s.Where}
	if s.OfRestore() {
		tags = append(tags, undoTag)
	}
	seen := map[string]bool{}
	add := func(prefix, text string) {
		if text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " "); text == "" || seen[prefix+text] {
			return
		}
		if cut := []rune(text); len(cut) > tagMost {
			text = string(cut[:tagMost])
		}
		seen[prefix+text] = true
		tags = append(tags, prefix+text)
	}
	for _, name := range r.Pins {
		add(pinTag, name)
	}
	if !r.Of.IsZero() {
		add(ofTag, r.Of.String())
	}
	if n := len(r.Operations); n > 0 {
		add(operationsTag, strconv.Itoa(n))
	}
	for _, p := range s.Points {
		add(labelTag, p.Label)
		add(sessionTag, p.Session)
		add(agentTag, p.Agent)
		add(triggerTag, p.Trigger)
		add(promptTag, p.Prompt)
	}
	return tags
}

// The beginnings of tags.
const (
	oursTag      = "rewind"
	idTag        = "id:"
	historyTag   = "history:"
	labelTag     = "label:"
	sessionTag   = "session:"
	pinTag       = "pin:"
	agentTag     = "agent:"
	triggerTag   = "trigger:"
	promptTag    = "prompt:"
	undoTag      = "undo"
	worktreeTag  = "worktree:"
	algorithmTag = "algorithm:"
	tagMost      = 120

	operationsTag = "operations:"
	ofTag         = "of:"
)

// isOurTag reports whether a tag is one that a push gives, and not one that somebody has given there.
func isOurTag(tag string) bool {
	return tag == oursTag || tag == undoTag || slices.ContainsFunc([]string{idTag, historyTag, algorithmTag, worktreeTag, labelTag, pinTag, sessionTag, agentTag, triggerTag, promptTag, operationsTag, ofTag},
		func(word string) bool { return strings.HasPrefix(tag, word) })
}
