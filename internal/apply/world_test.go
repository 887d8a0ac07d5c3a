package apply_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A world is what a directory holds, by path: permissions and content.
type world map[string]item

type item struct {
	mode tree.Mode
	data string // of a file, or the target of a link
}

func file(data string) item               { return fileMode(0o644, data) }
func fileMode(p tree.Mode, d string) item { return item{dirfd.Storable(tree.File | p), d} }
func dir(perm tree.Mode) item             { return item{dirfd.Storable(tree.Dir | perm), ""} }

// link is a file where no links can be made.
func link(target string) item {
	if !gittest.HasLinks() {
		return file(target)
	}
	return item{tree.Symlink, target}
}

func makeLink(target, path string) error {
	if !gittest.HasLinks() {
		return os.WriteFile(path, []byte(target), 0o644)
	}
	return os.Symlink(target, path)
}

// odd is a name that this system can hold, the one that is wanted or another.
func odd(name, other string) string {
	if !gittest.Nameable(name) {
		return other
	}
	return name
}

func (i item) node() apply.Node {
	n := apply.Node{Mode: i.mode}
	if !i.mode.IsDir() && i.mode != 0 {
		n.ID = oid.SHA1.Sum(oid.Blob, []byte(i.data))
	}
	return n
}

// make writes the world below root. Directories must be in it.
func (w world) make(t testing.TB, root string) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(w)) {
		i, at := w[path], filepath.Join(root, path)
		switch i.mode.Type() {
		case tree.File:
			must(t, os.WriteFile(at, []byte(i.data), 0o600))
			must(t, os.Chmod(at, os.FileMode(i.mode.Perm())))
		case tree.Symlink:
			must(t, makeLink(i.data, at))
		default:
			must(t, os.Mkdir(at, 0o755))
		}
	}
	for path, i := range w {
		if i.mode.IsDir() {
			must(t, os.Chmod(filepath.Join(root, path), os.FileMode(i.mode.Perm())))
		}
	}
}

// read returns the world below root and the stat of each path. Temporary
// names of apply are in it like any other.
func read(t testing.TB, root string) (world, map[string]dirfd.Stat) {
	t.Helper()
	w, stats := world{}, map[string]dirfd.Stat{}
	d, err := dirfd.Open(root)
	must(t, err)
	defer d.Close()
	readDir(t, d, root, "", w, stats)
	return w, stats
}

func readDir(t testing.TB, d *dirfd.Dir, root, path string, w world, stats map[string]dirfd.Stat) {
	list, err := d.List()
	must(t, err)
	for _, n := range list {
		at := strings.TrimPrefix(path+"/"+n.Name, "/")
		st, err := d.Lstat(n.Name)
		must(t, err)
		stats[at] = st
		switch st.Mode.Type() {
		case tree.Symlink:
			target, err := d.Readlink(n.Name)
			must(t, err)
			w[at] = link(target)
		case tree.Dir:
			w[at] = dir(st.Mode.Perm())
			sub, err := d.OpenDir(n.Name)
			must(t, err)
			readDir(t, sub, root, at, w, stats)
			sub.Close()
		default:
			p, err := os.ReadFile(filepath.Join(root, at))
			must(t, err)
			w[at] = item{st.Mode, string(p)}
		}
	}
}

// plan returns the steps from what lies below root to a world. Paths for which
// ignored reports true are as if they were not there.
func plan(t testing.TB, root string, to world, ignored func(string) bool) []apply.Step {
	t.Helper()
	from, stats := read(t, root)
	var steps []apply.Step
	for path, i := range from {
		if ignored != nil && ignored(path) || to[path] == i {
			continue
		}
		s := apply.Step{Path: path, Have: i.node(), Expect: apply.Seen(stats[path])}
		if j, ok := to[path]; ok {
			s.Want = j.node()
		}
		steps = append(steps, s)
	}
	for path, i := range to {
		if _, ok := from[path]; !ok || ignored != nil && ignored(path) {
			steps = append(steps, apply.Step{Path: path, Want: i.node()})
		}
	}
	slices.SortFunc(steps, func(a, b apply.Step) int { return strings.Compare(a.Path, b.Path) })
	return steps
}

// A shelf holds contents by id: what the store is to the engine.
type shelf struct {
	mu sync.Mutex
	m  map[oid.ID]string
}

func shelve(worlds ...world) *shelf {
	s := &shelf{m: map[oid.ID]string{}}
	for _, w := range worlds {
		for _, i := range w {
			s.m[i.node().ID] = i.data
		}
	}
	return s
}

func (s *shelf) source(_ context.Context, id oid.ID, w io.Writer) (checked bool, err error) {
	s.mu.Lock()
	data, ok := s.m[id]
	s.mu.Unlock()
	if !ok {
		return false, fmt.Errorf("no content %v", id)
	}
	for len(data) > 0 { // in pieces, as a store gives it
		n, err := io.WriteString(w, data[:min(len(data), 64<<10)])
		if err != nil {
			return false, err
		}
		data = data[n:]
	}
	return false, nil
}

// run applies the steps and fails on an error.
func run(t testing.TB, root string, steps []apply.Step, to world) apply.Outcome {
	t.Helper()
	return carry(t, root, steps, to, &apply.Options{Alg: oid.SHA1})
}

// carry is run with options.
func carry(t testing.TB, root string, steps []apply.Step, to world, opt *apply.Options) apply.Outcome {
	t.Helper()
	out, err := apply.Apply(t.Context(), root, steps, shelve(to).source, opt)
	must(t, err)
	return out
}

func same(t testing.TB, root string, want world) {
	t.Helper()
	if got, _ := read(t, root); !maps.Equal(got, want) {
		t.Errorf("below the root:\n%s", difference(got, want))
	}
}

func difference(got, want world) string {
	var b strings.Builder
	all := maps.Clone(got)
	maps.Copy(all, want)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		g, inGot := got[path]
		w, inWant := want[path]
		if g != w || inGot != inWant {
			fmt.Fprintf(&b, "  %q: got %v %o %.40q, want %v %o %.40q\n", path, inGot, g.mode, g.data, inWant, w.mode, w.data)
		}
	}
	return b.String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// named checks which paths there are notes of.
func named(t testing.TB, what string, notes []apply.Note, want ...string) {
	t.Helper()
	var got []string
	for _, n := range notes {
		got = append(got, n.Path)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Fatalf("%s: %q, want %q", what, got, want)
	}
}
