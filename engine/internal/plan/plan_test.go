package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// memory has objects, and is a disk on which a state lies.
type memory struct {
	objects map[oid.ID][]byte
	lying   map[string]tree.Mode
}

const alg = oid.BLAKE3

func newMemory() *memory {
	return &memory{objects: map[oid.ID][]byte{}, lying: map[string]tree.Mode{}}
}

func (m *memory) from() Objects {
	get := func(id oid.ID, _ ...oid.ID) ([]byte, error) {
		if p, ok := m.objects[id]; ok || id == alg.Sum(oid.Tree, nil) {
			return p, nil
		}
		return nil, fmt.Errorf("no object %v", id)
	}
	return Objects{Algorithm: alg, Tree: get, Blob: func(id oid.ID) ([]byte, error) { return get(id) }}
}

func (m *memory) put(kind oid.Kind, p []byte) oid.ID {
	id := alg.Sum(kind, p)
	m.objects[id] = p
	return id
}

// state makes a state of files with their texts.
func (m *memory) state(files map[string]string) tree.State {
	below := map[string]map[string]string{}
	var entries []tree.Entry
	for name, text := range files {
		if dir, rest, ok := strings.Cut(name, "/"); ok {
			if below[dir] == nil {
				below[dir] = map[string]string{}
			}
			below[dir][rest] = text
			continue
		}
		entries = append(entries, tree.Entry{Name: name, Mode: tree.GitFile, ID: m.put(oid.Blob, []byte(text))})
	}
	for dir, files := range below {
		entries = append(entries, tree.Entry{Name: dir, Mode: tree.GitDir, ID: m.state(files).Tree})
	}
	slices.SortFunc(entries, func(a, b tree.Entry) int {
		return strings.Compare(a.Name, b.Name) // as git orders them: no name here begins another
	})
	return tree.State{Tree: m.put(oid.Tree, tree.Encode(entries, alg)), Umask: 022}
}

func (m *memory) Mode(path string) tree.Mode                 { return m.lying[path] }
func (m *memory) Entries(string) int                         { return 0 }
func (m *memory) Class(string) (_, _, _ bool)                { return }
func (m *memory) Holds(string, apply.Node) bool              { return false }
func (m *memory) Fingerprint(string, bool) apply.Fingerprint { return apply.Fingerprint{Ino: 7} }

func steps(p *Plan) (out []string) {
	for _, s := range p.Steps {
		out = append(out, s.Path)
	}
	slices.Sort(out)
	return out
}

func notes(list []apply.Note) (out []string) {
	for _, n := range list {
		out = append(out, n.Path+": "+n.Reason)
	}
	return out
}

func TestOnlyWhatTheTargetCouldHaveHeldIsDeleted(t *testing.T) {
	m := newMemory()
	target := &Target{
		State:   m.state(map[string]string{".gitignore": "*.log\n", "same": "1", "old": "1", "gone/x": "1", "d/.gitignore": "!b.log\n"}),
		Skipped: map[string]string{"skipped": ""},
		Ignore:  []oid.ID{m.put(oid.Blob, []byte("cache/\n"))},
	}
	now := &Present{Disk: m, State: m.state(map[string]string{
		".gitignore": "*.log\n", "same": "1", "old": "2", "new": "1", "a.log": "1", "cache/y": "1", "skipped/z": "1",
		"d/.gitignore": "!b.log\n", "d/a.log": "1", "d/b.log": "1", // the inner rules count more
	})}
	p, err := New(now, Goal{Target: target, Paths: &Selection{}}, m.from())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := steps(p), []string{"d/b.log", "gone", "gone/x", "new", "old"}; !slices.Equal(got, want) {
		t.Errorf("steps at %q, want %q", got, want)
	}
	want := []string{"a.log: " + keptIgnored, "cache: " + keptIgnored, "d/a.log: " + keptIgnored, "skipped: " + keptSkipped}
	if got := notes(p.Kept); !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
	for _, s := range p.Steps {
		if there := s.Have.Mode != tree.Absent; there != (s.Expect.Ino == 7) {
			t.Errorf("the step at %s expects %+v", s.Path, s.Expect)
		}
	}
	again, err := New(now, Goal{Target: target, Paths: &Selection{}}, m.from())
	if err != nil || !slices.Equal(p.Steps, again.Steps) {
		t.Errorf("equal inputs made other steps: %v", err)
	}
}

func TestADirectoryStaysWithWhatStaysInIt(t *testing.T) {
	m := newMemory()
	target := &Target{State: m.state(map[string]string{"same": "1"}), Skipped: map[string]string{"d/deep/a": "elsewhere", "e/a": "elsewhere"}, Above: map[string]string{"d": "elsewhere", "d/deep": "elsewhere", "e": "elsewhere"}}
	before := &Target{State: m.state(map[string]string{"same": "1", "d/deep/a": "1", "d/deep/b": "1", "d/gone/c": "1"})}
	p, err := New(&Present{Disk: m, State: before.State}, Goal{Target: target, Paths: &Selection{}}, m.from())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"d/deep/b", "d/gone", "d/gone/c"}
	if got := steps(p); !slices.Equal(got, want) || p.Told != len(want) {
		t.Errorf("steps at %q and %d changes, want %q", got, p.Told, want)
	}
	if got := notes(p.Kept); !slices.Equal(got, []string{"d/deep/a: elsewhere"}) {
		t.Errorf("kept %q", got)
	}
	for _, way := range [][2]*Target{{before, target}, {target, before}} { // nobody knows of d/deep either
		var got []string
		list, err := Compare(way[0], way[1], &Selection{}, m.from())
		for _, c := range list {
			got = append(got, c.Path)
		}
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("differences at %q, want %q: %v", got, want, err)
		}
	}
}

func TestARepositoryStaysForTheReasonThatTheTargetKnows(t *testing.T) {
	m := newMemory()
	c := newCoverage(&Target{
		State:   m.state(map[string]string{".gitignore": "out/\n"}),
		Skipped: map[string]string{"home/f": "elsewhere", "shut": ""}, Above: map[string]string{"home": "elsewhere"},
	}, m.from())
	for path, want := range map[string]string{"home": "elsewhere", "shut": keptSkipped, "shut/in": keptSkipped, "out": keptIgnored, "new": keptNested} {
		if why, err := c.keeps(path, tree.Node{Mode: tree.Nested | 0o755}); why != want || err != nil {
			t.Errorf("%s stays: %q, want %q: %v", path, why, want, err)
		}
	}
}

func TestWhatSurroundsADeletedFileIsReadOncePerDirectory(t *testing.T) {
	loads := func(dirs int) int {
		m := newMemory()
		now, then := map[string]string{}, map[string]string{}
		for i := range dirs {
			dir := fmt.Sprintf("d%04d/", i)
			now[dir+"kept"], then[dir+"kept"] = "1", "1"
			now[dir+"deep/new"] = fmt.Sprint(i)
		}
		o, n := m.from(), atomic.Int64{}
		load := o.Tree
		o.Tree = func(id oid.ID, _ ...oid.ID) ([]byte, error) { n.Add(1); return load(id) }
		p, err := New(&Present{State: m.state(now), Disk: m}, Goal{Target: &Target{State: m.state(then)}, Paths: &Selection{}}, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Steps) != 2*dirs {
			t.Errorf("%d steps for %d directories and files", len(p.Steps), 2*dirs)
		}
		return int(n.Load())
	}
	if few, many := loads(20), loads(200); many > 11*few {
		t.Errorf("%d trees were read for 20 directories, %d for 200", few, many)
	}
}

func TestTheRulesAboveAPathAreAskedOncePerDirectory(t *testing.T) {
	m := newMemory()
	deep := strings.Repeat("d/", 300)
	then := m.state(map[string]string{".gitignore": "x\n", "d/d/.gitignore": "*.o\n", deep + "kept": "1"})
	p, err := New(&Present{Disk: m, State: m.state(map[string]string{".gitignore": "x\n", "d/d/.gitignore": "*.o\n", deep + "kept": "1",
		deep + "new": "2", deep + "x/below": "3", deep + "a.o": "4"})}, Goal{Target: &Target{State: then}, Paths: &Selection{}}, m.from())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := steps(p), []string{deep + "new"}; !slices.Equal(got, want) {
		t.Errorf("steps %.400q", got)
	}
	if got := len(p.Kept); got != 2 {
		t.Errorf("%d paths are kept, want the two that are ignored: %.900q", got, notes(p.Kept))
	}
	c := newCoverage(&Target{State: then}, m.from())
	for range 100 {
		if why, err := c.keeps(deep+"new", tree.Node{Mode: tree.File | 0o644}); why != "" || err != nil {
			t.Fatal(why, err)
		}
	}
	if len(c.inside) != 301 { // the root, and each directory once
		t.Errorf("%d directories were asked about", len(c.inside))
	}
}

// Directories may be there that the scan left out, because they are ignored.
func TestADirectoryThatIsThereIsNotMade(t *testing.T) {
	m := newMemory()
	m.lying["same"], m.lying["closed"] = tree.Dir|0o755, tree.Dir|0o700
	target := &Target{State: m.state(map[string]string{"same/f": "1", "closed/f": "1", "new/f": "1"})}
	p, err := New(&Present{Disk: m, State: m.state(nil)}, Goal{Target: target, Paths: &Selection{}}, m.from())
	if err != nil {
		t.Fatal(err)
	}
	was := map[string]tree.Mode{"closed": tree.Dir | 0o700, "closed/f": 0, "new": 0, "new/f": 0, "same/f": 0}
	if len(p.Steps) != len(was) || p.Told != len(was) {
		t.Errorf("steps at %q, of which %d are told", steps(p), p.Told)
	}
	for _, s := range p.Steps {
		if from, known := was[s.Path]; !known || s.Have.Mode != from {
			t.Errorf("%s was %o, want %o", s.Path, s.Have.Mode, from)
		}
	}
}

func TestAPipeInPlaceOfAFileIsADifference(t *testing.T) {
	m := newMemory()
	from := &Target{State: m.state(map[string]string{"p": "1", "d/x": "1", "kept": "1"})}
	m.lying["p"], m.lying["d"], m.lying["kept"] = 0010644, 0010644, tree.File|0644
	changes, hidden, err := CompareWith(from, &Present{State: m.state(nil), Disk: m}, &Selection{}, m.from())
	var gone []string
	for _, c := range changes {
		gone = append(gone, c.Path)
	}
	if err != nil || !slices.Equal(gone, []string{"d", "d/x", "p"}) || !slices.Equal(hidden, []string{"kept"}) {
		t.Errorf("%v: %q, hidden %q", err, gone, hidden)
	}
}

// The scan saw nothing in d, and names it; of e it says nothing, as it is ignored.
func TestNothingIsPutWhereNobodyCanTellWhatIsThere(t *testing.T) {
	m := newMemory()
	m.lying["d"], m.lying["e"], m.lying["e/f"], m.lying["e/sub"], m.lying["e/sub/f"] = tree.Dir, tree.Dir|0o755, dirfd.Unseen, dirfd.Unseen, dirfd.Unseen
	m.lying["f"] = tree.File | 0o644
	target := &Target{State: m.state(map[string]string{"d/f": "1", "d/sub/f": "1", "e/f": "1", "e/sub/f": "1", "f": "1", "new/f": "1"})}
	now := &Present{Disk: m, State: m.state(nil), Unrecorded: []apply.Note{{Path: "d", Reason: "closed"}, {Path: "gone", Reason: "closed"}}}
	for _, c := range []struct{ paths, steps, conflicts []string }{
		{nil, []string{"f", "new", "new/f"}, []string{"d: " + conflictUnrecorded + "closed", "e/f: " + unseenHere, "e/sub: " + unseenHere}},
		{[]string{"d/sub/f", "e/sub/f"}, nil, []string{"d/sub/f: " + conflictUnrecorded + "closed", "e/sub/f: " + unseenHere}},
	} {
		sel, err := Select(c.paths, func(string) (bool, error) { return true, nil })
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(now, Goal{Target: target, Paths: sel}, m.from())
		if err != nil {
			t.Fatal(err)
		}
		if got := notes(p.Conflicts); !slices.Equal(steps(p), c.steps) || !slices.Equal(got, c.conflicts) {
			t.Errorf("of %q: steps at %q, conflicts %q", c.paths, steps(p), got)
		}
	}
	p, err := New(now, Goal{Target: &Target{State: m.state(nil)}, Paths: &Selection{}, Made: MadeBy([]apply.Step{
		{Path: "d/f", Want: apply.Node{Mode: tree.GitFile}}, {Path: "e/f", Want: apply.Node{Mode: tree.GitFile}},
	}, nil)}, m.from())
	if got := notes(p.Kept); err != nil || len(p.Force) > 0 || !slices.Equal(got, []string{"e/f: " + unseenHere, "d: " + keptUnrecorded + "closed", "gone: " + keptUnrecorded + "closed"}) {
		t.Errorf("an undo keeps %q, and looks at %q: %v", got, p.Force, err)
	}
	if changes, hidden, err := CompareWith(target, now, &Selection{}, m.from()); err != nil || !slices.Contains(hidden, "e/f") || !slices.ContainsFunc(changes, func(c Change) bool { return c.Path == "new/f" }) {
		t.Errorf("hidden %q, changes %v, %v", hidden, changes, err)
	}
}

func TestADirectoryThatARestoreOpensHasAStepThatChangesNothing(t *testing.T) {
	m := newMemory()
	m.lying["ro"], m.lying["ro/in"], m.lying["rw"] = tree.Dir|0o555, tree.Dir|0o755, tree.Dir|0o755
	target := &Target{State: m.state(map[string]string{"ro/in/f": "1", "rw/f": "1", "new/f": "1"})}
	now := &Present{Disk: m, State: m.state(map[string]string{"ro/in/f": "2", "rw/f": "2"})}
	p, err := New(now, Goal{Target: target, Paths: &Selection{}}, m.from())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := steps(p), []string{"new", "new/f", "ro", "ro/in/f", "rw/f"}; !slices.Equal(got, want) {
		t.Fatalf("steps at %q, want %q", got, want)
	}
	i := slices.IndexFunc(p.Steps, func(s apply.Step) bool { return s.Path == "ro" })
	if s := p.Steps[i]; s.Have != s.Want || s.Have.Mode != tree.Dir|0o555 || p.Told != 4 {
		t.Errorf("%+v, and %d changes", s, p.Told)
	}
	file := func(text string) apply.Node {
		return apply.Node{Mode: tree.File | 0o644, ID: m.put(oid.Blob, []byte(text))}
	}
	edits := map[string]Edit{}
	for _, path := range []string{"new", "new/f", "ro/in/f", "rw/f"} {
		edits[path] = Edit{Have: file("another"), Want: file("edited")}
	}
	if p.Edit(edits); len(p.Steps) != 0 {
		t.Errorf("steps %q are left, of which none changes anything", steps(p))
	}
}

func TestAListHasRoomForTheLargestRepositoriesAndNoMore(t *testing.T) {
	var r listBound
	for range 1_200_000 { // a million files and their directories
		if err := r.count(strings.Repeat("x", 100)); err != nil {
			t.Fatal(err)
		}
	}
	for n := 0; ; n++ {
		if err := r.count("x"); errors.Is(err, tree.ErrLarge) {
			break
		}
		if n == pathsMax {
			t.Fatal("any number is taken")
		}
	}
	long := listBound{}
	for n := 0; long.count(strings.Repeat("x", 1<<20)) == nil; n++ {
		if n == 1<<20 {
			t.Fatal("paths of any length are taken")
		}
	}
}

func TestAListThatGrowsIsCopiedOnce(t *testing.T) {
	for _, n := range []int{0, 1, 16, 17, 100_000} {
		var list pieces
		moved := 0
		for i := range n {
			var first *apply.Step
			if len(list) > 0 {
				first = &list[0][0]
			}
			list.add(apply.Step{Path: fmt.Sprint(i)})
			if first != nil && first != &list[0][0] {
				moved++
			}
		}
		most := 0
		for _, p := range list {
			most = max(most, cap(p))
		}
		all := list.take()
		if len(all) != n || moved > 0 || most > pieceSteps || len(list) > 0 {
			t.Errorf("of %d steps there are %d, %d moves, pieces of %d", n, len(all), moved, most)
		}
		for i := range all {
			if all[i].Path != fmt.Sprint(i) {
				t.Fatalf("step %d is %q", i, all[i].Path)
			}
		}
	}
}
