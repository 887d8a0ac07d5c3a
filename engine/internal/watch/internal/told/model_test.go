package told_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/seed-82afce7a/rewind/engine/internal/watch/internal/told"
	"github.com/seed-82afce7a/rewind/internal/seed"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// A disk is a file system in memory, and a system that tells what is done there: what is
// at each path, and the events since the last turn.
type disk struct {
	r     *rand.Rand
	macos bool
	at    map[string]string // a number for a file's content, "dir" and a number for a directory
	said  []event
	count int
}

type event struct {
	path string
	kind told.Kind
}

// spelt is a path as the system may tell it.
func (d *disk) spelt(path string) string {
	if d.r.IntN(4) == 0 {
		path = strings.ToUpper(path)
	}
	if d.macos && d.r.IntN(2) == 0 {
		path = norm.NFD.String(path)
	}
	return path
}

func (d *disk) tell(path string, kind told.Kind) { d.said = append(d.said, event{d.spelt(path), kind}) }

func (d *disk) new() int {
	d.count++
	return d.count
}

// path is one whose directory is there.
func (d *disk) path() string {
	dirs := []string{""}
	for path, what := range d.at {
		if path != "" && strings.HasPrefix(what, "dir") {
			dirs = append(dirs, path)
		}
	}
	slices.Sort(dirs)
	names := []string{"a", "b", "größe", "out", "ﬁ"}
	return tree.Join(dirs[d.r.IntN(len(dirs))], names[d.r.IntN(len(names))])
}

// remove removes a path with all below it. Of what lay below a directory that was moved
// nothing is told.
func (d *disk) remove(path string) (what map[string]string) {
	what = map[string]string{}
	for other, is := range d.at {
		if rest, ok := strings.CutPrefix(other, path); ok && (rest == "" || rest[0] == '/') {
			what[rest] = is
			delete(d.at, other)
		}
	}
	return what
}

// deed does something, and tells.
func (d *disk) deed() {
	path := d.path()
	is, there := d.at[path]
	isDir := strings.HasPrefix(is, "dir")
	switch kind := d.r.IntN(6); {
	case kind < 3 && !isDir:
		d.at[path] = fmt.Sprint(d.new())
		if !there || d.r.IntN(3) == 0 {
			d.tell(path, told.Moved) // macOS says again and again that a file was made
		} else {
			d.tell(path, told.Touched)
		}
	case kind == 3 && !there:
		d.at[path] = fmt.Sprint("dir", d.new())
		d.tell(path, told.Moved)
	case kind == 4 && there:
		to := d.path()
		if _, taken := d.at[to]; taken || strings.HasPrefix(to, path) {
			return
		}
		for rest, what := range d.remove(path) {
			d.at[to+rest] = what
		}
		d.tell(path, told.Moved)
		d.tell(to, told.Moved)
	case kind == 5 && there:
		d.remove(path)
		d.tell(path, told.Moved)
	}
}

// events are what is told until now. macOS joins events of a path, has them in no order,
// and says of a part of the tree that all of it has to be looked at.
func (d *disk) events() []event {
	all := d.said
	d.said = nil
	if !d.macos {
		return all
	}
	d.r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	if len(all) > 0 && d.r.IntN(5) == 0 {
		all[0] = event{tree.Parent(all[0].path), told.Below}
	}
	return all
}

// TestAModelOfADiskIsKnownByWhatIsTold keeps what a scan would: it enters directories and
// looks at files only where something was told, and must know the disk as it is.
// REWIND_SEED repeats it.
func TestAModelOfADiskIsKnownByWhatIsTold(t *testing.T) {
	first := seed.Of(t)
	looked, all := 0, 0
	for i := range uint64(seed.Times(300)) {
		d := &disk{r: rand.New(rand.NewPCG(first+i, 33)), macos: i%2 == 0, at: map[string]string{"": "dir0"}}
		top := of()
		s := &scan{at: d.at, known: map[string]string{"": "dir0"}}
		for range 40 {
			for range d.r.IntN(4) {
				d.deed()
			}
			d.tellAll(top)
			s.changes = take(t, top)
			was := maps.Clone(s.known)
			s.enter("")
			if !maps.Equal(s.known, d.at) {
				t.Fatalf("seed %d, macOS %v: known is %v\nthere is %v\ntold was %+v", first+i, d.macos, s.known, d.at, s.changes)
			}
			all += len(d.at)
			for range d.r.IntN(3) {
				d.deed() // while the scan comes to its end
			}
			d.tellAll(top)
			follow(top, was, s)
		}
		looked += s.looked
	}
	if looked > all/2 {
		t.Errorf("%d looks at %d paths: the test says little", looked, all)
	}
}

func (d *disk) tellAll(t *told.Tree) {
	for _, e := range d.events() {
		t.Tell(e.path, e.kind)
	}
}

// A scan is what is known of a disk from one turn to the next.
type scan struct {
	at, known map[string]string
	changes   *worktree.Changes
	looked    int
}

// enter brings a directory in line with the disk: names that came and went, as its time
// tells of them; files of which something was told, or all if it is another directory;
// directories below that may have changed.
func (s *scan) enter(dir string) {
	another := s.known[dir] != s.at[dir]
	s.known[dir] = s.at[dir]
	for path := range s.here(dir) {
		was, is := s.known[path], s.at[path]
		both := strings.HasPrefix(was, "dir") && strings.HasPrefix(is, "dir")
		_, name := tree.Split(path)
		switch {
		case is == "":
			s.forget(path)
		case was == "":
			s.known[path] = is
			s.looked++
			s.enterNew(path)
		case both && s.changes.Reaches(path):
			s.enter(path)
		case !both && (another || s.changes.Has(dir, name)):
			s.looked++
			s.forget(path)
			s.known[path] = is
			s.enterNew(path)
		}
	}
}

// here are the paths in a directory that are known or there.
func (s *scan) here(dir string) map[string]bool {
	out := map[string]bool{}
	for _, paths := range []map[string]string{s.known, s.at} {
		for path := range paths {
			if path != "" && tree.Parent(path) == dir {
				out[path] = true
			}
		}
	}
	return out
}

// enterNew takes in all below a directory of which nothing is known.
func (s *scan) enterNew(dir string) {
	for path, is := range s.at {
		if strings.HasPrefix(path, dir+"/") {
			s.known[path] = is
			s.looked++
		}
	}
}

func (s *scan) forget(path string) {
	for other := range s.known {
		if other == path || strings.HasPrefix(other, path+"/") {
			delete(s.known, other)
		}
	}
}

// follow adds and removes directories as it is done after a scan.
func follow(t *told.Tree, was map[string]string, s *scan) {
	for top := range s.changes.Below() {
		for path, what := range s.known {
			if strings.HasPrefix(what, "dir") && (top == "" || path == top || strings.HasPrefix(path, top+"/")) {
				t.Add(path)
			}
		}
	}
	for path, what := range s.known {
		if strings.HasPrefix(what, "dir") && !t.Watches(path) {
			t.Add(path)
		}
	}
	for path := range was {
		if !strings.HasPrefix(s.known[path], "dir") {
			t.Remove(path)
		}
	}
}
