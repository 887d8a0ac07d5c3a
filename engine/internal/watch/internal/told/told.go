// Package told turns what a system tells of a directory with all below it into changes.
// It promises that what is told of a directory that was added is among what is taken, by
// the name that the directory was added under: systems tell names in other case, in
// another Unicode form, or long after they are another directory's. It may make more of
// an event than there was, and gives up where it cannot know what one means.
//
// It asks the system for nothing.
package told

import (
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

const (
	changesMax = 1 << 20 // directories with changes: more are a doubt
	openMax    = 1 << 12 // files that count as open for writing
)

// A Kind is what an event says of a path.
type Kind uint8

const (
	// Touched says that a file, or a directory itself, may be another than before.
	Touched Kind = iota

	// Moved says that a name came, went, or is that of something else now. What it
	// names may be a directory.
	Moved

	// Below says that anything in a directory and below it may have changed.
	Below
)

// A Tree keeps what was told of the directories that were added. It may be used by
// several goroutines. The zero Tree is ready.
type Tree struct {
	mu      sync.Mutex
	dirs    map[string][]string // as they were added, by what is alike in all spellings
	changes worktree.Changes
	open    map[string]bool // files that count as changed until the end
	doubt   string
	last    time.Time
	stirs   chan struct{} // nil: nobody waits
}

// alike is the same for names that a file system may take for one.
func alike(path string) string { return strings.ToLower(norm.NFC.String(path)) }

// Add adds a directory, and all names in it: something may have been told of it before.
func (t *Tree) Add(dir string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dirs == nil {
		t.dirs = map[string][]string{}
	}
	if key := alike(dir); !slices.Contains(t.dirs[key], dir) {
		t.dirs[key] = append(t.dirs[key], dir)
	}
	t.changes.Add(dir, "")
	t.bound()
}

// Watches reports whether a directory was added, and not removed since.
func (t *Tree) Watches(dir string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.dirs[alike(dir)], dir)
}

// Remove removes a directory.
func (t *Tree) Remove(dir string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := alike(dir)
	if t.dirs[key] = slices.DeleteFunc(t.dirs[key], func(other string) bool { return other == dir }); len(t.dirs[key]) == 0 {
		delete(t.dirs, key)
	}
}

// Open makes a file count as changed each time from now on: somebody writes to it, and
// nothing tells.
func (t *Tree) Open(file string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[string]bool{}
	}
	t.open[file] = true
	t.bound()
}

// Last returns when something was last told; the zero time if nothing was.
func (t *Tree) Last() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// Stirs is sent to when something was told, or nothing is known any more.
func (t *Tree) Stirs() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stirs == nil {
		t.stirs = make(chan struct{}, 1)
	}
	return t.stirs
}

func (t *Tree) stir() {
	select {
	case t.stirs <- struct{}{}:
	default: // nobody waits, or it is known already
	}
}

// Tell notes what the system says of a slash-separated path from the top; the empty one is
// the top itself.
func (t *Tree) Tell(path string, kind Kind) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.bound()
	if path == "" {
		t.heard("", kind)
		return
	}
	known := t.dirs[alike(tree.Parent(path))]
	if len(known) == 0 {
		t.strange(path)
		return
	}
	for _, dir := range known {
		if t.heard(dir, Touched); kind != Touched { // it need not be one that was added
			t.changes.AddBelow(tree.Join(dir, path[strings.LastIndexByte(path, '/')+1:]))
		}
	}
	for _, dir := range t.dirs[alike(path)] {
		t.heard(dir, kind)
	}
}

// heard notes something of a directory that was added.
func (t *Tree) heard(dir string, kind Kind) {
	t.last = time.Now()
	t.stir()
	if t.changes.Add(dir, ""); kind != Touched {
		t.changes.AddBelow(dir)
	}
}

// strange is told of what lies in a directory that was not added: it is ignored, or so
// new that no scan has seen it, which is told as well. But where it is spelt with other
// than plain letters this may be another spelling of one that was added.
func (t *Tree) strange(path string) {
	plain := strings.IndexFunc(path, func(r rune) bool { return r >= 0x80 }) < 0
	for dir := tree.Parent(path); !plain; dir = tree.Parent(dir) {
		for _, known := range t.dirs[alike(dir)] {
			t.heard(known, Below)
			plain = true
		}
		if dir == "" {
			return
		}
	}
}

// bound gives up where more changed than is kept.
func (t *Tree) bound() {
	if t.changes.Len() > changesMax || len(t.open) > openMax {
		t.fail("too much changed at once")
	}
}

// Fail says that nothing is known any more.
func (t *Tree) Fail(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fail(why)
}

func (t *Tree) fail(why string) {
	if t.doubt == "" {
		t.doubt = why
	}
	t.stir()
}

// Take returns what was told since the last Take, and forgets it; or why nothing is known.
func (t *Tree) Take() (changes *worktree.Changes, doubt string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.doubt != "" {
		return nil, t.doubt
	}
	taken := t.changes
	t.changes = worktree.Changes{}
	for file := range t.open {
		taken.AddPath(file)
	}
	return &taken, ""
}

// Doubt returns why nothing is known any more; "" if something is.
func (t *Tree) Doubt() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.doubt
}
