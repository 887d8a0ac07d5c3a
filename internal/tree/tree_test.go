package tree

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

const alg = oid.SHA1

// objects is a store of trees for tests.
type objects map[oid.ID][]byte

func (o objects) put(entries ...Entry) oid.ID {
	Sort(entries)
	p := Encode(entries, alg)
	id := alg.Sum(oid.Tree, p)
	o[id] = p
	return id
}

func (o objects) load(id oid.ID, _ ...oid.ID) ([]byte, error) {
	p, ok := o[id]
	if !ok {
		return nil, fmt.Errorf("no tree %v", id)
	}
	return p, nil
}

func blob(s string) oid.ID { return alg.Sum(oid.Blob, []byte(s)) }

func TestEntriesSortAsGitSortsThem(t *testing.T) {
	e := []Entry{{"a", Dir, blob("1")}, {"a.b", GitFile, blob("2")}, {"a0", GitFile, blob("3")}, {"a-b", GitFile, blob("4")}, {"ab", Nested, blob("5")}}
	Sort(e)
	var got []string
	for _, x := range e {
		got = append(got, x.Name)
	}
	if want := []string{"a-b", "a.b", "a", "a0", "ab"}; !slices.Equal(got, want) {
		t.Errorf("order %q, want %q", got, want)
	}
}

func TestWhatIsEncodedIsDecoded(t *testing.T) {
	e := []Entry{{"b", File | 0600, blob("1")}, {"a", Dir | 0700, blob("2")}, {"l", Symlink, blob("3")}, {"gone", Absent, oid.ID{}}, {"n\n\xff", Nested | 0755, blob("4")}}
	Sort(e)
	got, err := Decode(Encode(e, alg), alg)
	if err != nil || !slices.Equal(got, e) {
		t.Errorf("decoded %v, %v, want %v", got, err, e)
	}
}

func TestMalformedTreesAreRefused(t *testing.T) {
	good := Entry{"a", GitFile, blob("1")}
	enc := func(e ...Entry) []byte { return Encode(e, alg) }
	for name, p := range map[string][]byte{
		"cut short":        enc(good)[:20],
		"duplicate":        enc(good, good),
		"same name":        enc(Entry{"a", GitFile, blob("1")}, Entry{"a", Dir, blob("2")}),
		"same name, apart": enc(Entry{"a", GitSymlink, blob("1")}, Entry{"a-b", GitFile, blob("1")}, Entry{"a.c", GitFile, blob("1")}, Entry{"a", Dir, blob("2")}),
		"wrong order":      enc(Entry{"b", GitFile, blob("1")}, good),
		"slash":            enc(Entry{"a/b", GitFile, blob("1")}),
		"dot dot":          enc(Entry{"..", Dir, blob("1")}),
		"empty name":       enc(Entry{"", Dir, blob("1")}),
		"null id":          enc(Entry{"a", GitFile, oid.ID{}}),
		"a fifo":           enc(Entry{"a", 0010644, blob("1")}),
		"no mode":          []byte(" a\x00" + string(make([]byte, 20))),
		"not octal":        []byte("10x644 a\x00" + string(make([]byte, 20))),
		"only letters":     []byte("hello"),
	} {
		if got, err := Decode(p, alg); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v, %v, want ErrMalformed", name, got, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode([]Entry{{"a", GitFile, blob("1")}, {"b", Dir, blob("2")}}, alg))
	f.Fuzz(func(t *testing.T, p []byte) {
		if e, err := Decode(p, alg); err == nil {
			if back, err := Decode(Encode(e, alg), alg); err != nil || !slices.Equal(back, e) {
				t.Errorf("%q decodes to %v, which encodes to what decodes to %v, %v", p, e, back, err)
			}
		}
	})
}

// lines prints the changes of a difference, one a line.
func lines(t *testing.T, o objects, from, to State) []string {
	t.Helper()
	var out []string
	for c, err := range Diff(from, to, alg, o.load) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %o %o", c.Path, c.From.Mode, c.To.Mode))
	}
	return out
}

func TestTheOverlayWinsAndTheUmaskFillsIn(t *testing.T) {
	o := objects{}
	s := State{Umask: 022,
		Tree:    o.put(Entry{"f", GitFile, blob("clean")}, Entry{"x", GitExec, blob("x")}, Entry{"sub", GitLink, blob("c")}, Entry{"sparse", GitDir, o.put(Entry{"s", GitFile, blob("s")})}, Entry{"d", GitDir, o.put(Entry{"y", GitFile, blob("y")})}),
		Overlay: o.put(Entry{"f", File | 0600, blob("raw")}, Entry{"empty", Dir | 0755, o.put()}, Entry{"sub", Nested | 0750, o.put(Entry{"z", File | 0644, blob("z")})}, Entry{"sparse", Absent, oid.ID{}}, Entry{"d", Dir | 0755, o.put(Entry{"secret", File | 0400, blob("p")})}),
	}
	got := lines(t, o, State{}, s)
	want := []string{"d 0 40755", "d/secret 0 100400", "d/y 0 100644", "empty 0 40755", "f 0 100600", "sub 0 160750", "sub/z 0 100644", "x 0 100755"}
	if !slices.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	n, ok, err := Lookup(s, "f", alg, o.load)
	if err != nil || !ok || n.ID != blob("raw") || n.Git.ID != blob("clean") {
		t.Errorf("Lookup(f) = %+v, %v, %v", n, ok, err)
	}
	if n, ok, _ := Lookup(s, "sparse", alg, o.load); ok || n.Git.Name == "" {
		t.Errorf("Lookup(sparse) = %+v, %v, want an absent node of the git tree", n, ok)
	}
	if _, ok, _ := Lookup(s, "f/g", alg, o.load); ok {
		t.Error("a file has a child")
	}
}

func TestEqualDirectoriesAreNotRead(t *testing.T) {
	o := objects{}
	same := alg.Sum(oid.Tree, []byte("never stored"))
	a := State{Tree: o.put(Entry{"same", GitDir, same}, Entry{"f", GitFile, blob("1")})}
	b := State{Tree: o.put(Entry{"same", GitDir, same}, Entry{"f", GitFile, blob("2")})}
	if got := lines(t, o, a, b); !slices.Equal(got, []string{"f 100666 100666"}) {
		t.Errorf("got %q", got)
	}
}

func TestADirectoryThatBecomesAFileIsYieldedWithItsContents(t *testing.T) {
	o := objects{}
	a := State{Umask: 022, Tree: o.put(Entry{"p", GitDir, o.put(Entry{"f", GitFile, blob("1")})})}
	b := State{Umask: 022, Tree: o.put(Entry{"p", GitFile, blob("2")})}
	if got, want := lines(t, o, a, b), []string{"p 40755 100644", "p/f 100644 0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := lines(t, o, b, a), []string{"p 100644 40755", "p/f 0 100644"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAMissingTreeIsAnError(t *testing.T) {
	for _, err := range Diff(State{}, State{Tree: blob("nowhere")}, alg, objects{}.load) {
		if err != nil {
			return
		}
	}
	t.Error("no error")
}

// nest makes a chain of trees, each of which has ten entries that are all the
// tree below it; at the bottom is a file.
func (o objects) nest(levels int, file Entry) oid.ID {
	id := o.put(file)
	for range levels {
		var list []Entry
		for i := range 10 {
			list = append(list, Entry{fmt.Sprint(i), Dir, id})
		}
		id = o.put(list...)
	}
	return id
}

func TestAPairOfTreesIsComparedOnce(t *testing.T) {
	o, loads := objects{}, 0
	load := func(id oid.ID, _ ...oid.ID) ([]byte, error) { loads++; return o.load(id) }
	// Of a file's permissions git knows one bit: the trees have other ids, and the same files.
	a, b := o.nest(30, Entry{"f", GitFile, blob("1")}), o.nest(30, Entry{"f", File | 0664, blob("1")})
	for c, err := range Diff(State{Tree: a, Umask: 022}, State{Tree: b, Umask: 022}, alg, load) {
		t.Fatalf("a difference: %+v, %v", c, err)
	}
	if loads > 2*31 {
		t.Errorf("%d trees were loaded, of 62", loads)
	}
	// One that differs in a file is yielded at each path, and read once.
	loads = 0
	c, found := o.nest(3, Entry{"f", GitFile, blob("2")}), 0
	for _, err := range Diff(State{Tree: o.nest(3, Entry{"f", GitFile, blob("1")})}, State{Tree: c}, alg, load) {
		if err != nil {
			t.Fatal(err)
		}
		found++
	}
	if found != 1000 || loads != 2*4 {
		t.Errorf("%d differences with %d loads, want 1000 with 8", found, loads)
	}
}

// Who reads trees can read those that come next at the same time.
func TestTreesAreAnnouncedBeforeTheyAreCompared(t *testing.T) {
	o := objects{}
	var had, has []Entry
	for i := range 3 * soonMax {
		name := fmt.Sprintf("%03d", i)
		same := Entry{name, Dir, o.put(Entry{"f", GitFile, blob("same")})}
		edited := Entry{name, Dir, o.put(Entry{"f", GitFile, blob(name)})}
		switch i % 3 {
		case 0:
			had, has = append(had, same), append(has, same)
		case 1:
			had, has = append(had, same), append(has, edited)
		default:
			has = append(has, edited)
		}
	}
	from, to := State{Tree: o.put(had...)}, State{Tree: o.put(has...)}
	announced, loads := map[oid.ID]bool{from.Tree: true, to.Tree: true}, 0
	load := func(id oid.ID, soon ...oid.ID) ([]byte, error) {
		if len(soon) > soonMax+3 {
			t.Errorf("%d are announced at once", len(soon))
		}
		for _, id := range soon {
			announced[id] = true
		}
		if loads++; !announced[id] {
			t.Errorf("tree %v was not announced", id)
		}
		return o.load(id)
	}
	changes := 0
	for _, err := range Diff(from, to, alg, load) {
		if err != nil {
			t.Fatal(err)
		}
		changes++
	}
	if want := 2 + soonMax*2 + soonMax; changes != soonMax+2*soonMax || loads != want || len(announced) != 3+2*soonMax {
		t.Errorf("%d changes, %d loads, %d announced", changes, loads, len(announced))
	}
}

func TestWhatIsBeyondTheBoundsIsAnErrorThatNamesThem(t *testing.T) {
	o := objects{}
	d := differ{alg: alg, load: o.load, yield: func(Change, error) bool { return true }, looked: looksMax - 2000}
	if err := d.dir("", State{}, State{Tree: o.nest(30, Entry{"f", GitFile, blob("1")})}); !errors.Is(err, ErrLarge) {
		t.Errorf("ten of ten of ten: %v", err)
	}
	deep := o.put(Entry{"f", GitFile, blob("1")})
	for range pathBytesMax/2 + 1 {
		deep = o.put(Entry{"d", Dir, deep})
	}
	var last error
	for _, last = range Walk(State{Tree: deep}, alg, o.load) {
	}
	if !errors.Is(last, ErrLarge) {
		t.Errorf("a path that is too long: %v", last)
	}
	for _, last = range (&Search{Algorithm: alg, Load: o.load}).Beyond(deep) {
	}
	if !errors.Is(last, ErrLarge) {
		t.Errorf("a search along a path that is too long: %v", last)
	}
	var p []byte
	for i := range EntriesMax {
		p = Append(p, Entry{fmt.Sprintf("%08d", i), GitFile, blob("1")}, alg)
	}
	if list, err := Decode(p, alg); err != nil || len(list) != EntriesMax {
		t.Errorf("as many entries as may be: %d, %v", len(list), err)
	}
	if _, err := Decode(Append(p, Entry{"x", GitFile, blob("1")}, alg), alg); !errors.Is(err, ErrLarge) {
		t.Errorf("one entry more: %v", err)
	}
}

func TestAFileOverADirectoryOfGitsTreeIsNotInGit(t *testing.T) {
	o := objects{}
	s := State{
		Tree:    o.put(Entry{"d", GitDir, o.put(Entry{"f", GitFile, blob("f")})}, Entry{"x", GitFile, blob("x")}),
		Overlay: o.put(Entry{"d", File | 0o600, blob("d")}, Entry{"x", File | 0o600, blob("x")}),
		Umask:   0o022,
	}
	for path, want := range map[string]Node{
		"d": {Mode: File | 0o600, ID: blob("d")},
		"x": {Mode: File | 0o600, ID: blob("x"), Git: Entry{"x", GitFile, blob("x")}},
	} {
		if n, ok, err := Lookup(s, path, alg, o.load); err != nil || !ok || n != want {
			t.Errorf("%s: %v %v %v, want %v", path, n, ok, err, want)
		}
	}
	if n, ok, err := Lookup(s, "d/f", alg, o.load); err != nil || ok {
		t.Errorf("below a file: %v %v %v", n, ok, err)
	}
	var got []string
	for c, err := range Walk(s, alg, o.load) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.Path)
	}
	if !slices.Equal(got, []string{"d", "x"}) {
		t.Errorf("it holds %q", got)
	}
}

// TestADifferenceIsWhatTwoWalksDoNotShare compares random trees with what is listed of
// each by itself.
func TestADifferenceIsWhatTwoWalksDoNotShare(t *testing.T) {
	r, o := rand.New(rand.NewPCG(seed.Of(t), 0)), objects{}
	var grow func(levels int) []Entry
	grow = func(levels int) (list []Entry) {
		for _, name := range []string{"a", "a-", "a0", "b", "b.c", "c"} {
			e := Entry{Name: name, Mode: GitFile, ID: blob(fmt.Sprint(r.IntN(2)))}
			switch r.IntN(6) {
			case 0:
				continue
			case 1:
				e.Mode = Symlink
			case 2, 3:
				if levels > 0 {
					e.Mode, e.ID = GitDir, o.put(grow(levels-1)...)
				}
			}
			list = append(list, e)
		}
		return list
	}
	line := func(path string, from, to Node) string {
		return fmt.Sprintf("%s %o %v %o %v", path, from.Mode, from.ID, to.Mode, to.ID)
	}
	walked := func(s State) map[string]Node {
		all := map[string]Node{}
		for c, err := range Walk(s, alg, o.load) {
			if err != nil {
				t.Fatal(err)
			}
			all[c.Path] = c.To
		}
		return all
	}
	found := 0
	for range 300 {
		from, to := State{Tree: o.put(grow(3)...), Umask: 0o022}, State{Tree: o.put(grow(3)...), Umask: 0o022}
		var got, want []string
		for c, err := range Diff(from, to, alg, o.load) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, line(c.Path, c.From, c.To))
		}
		x, y := walked(from), walked(to)
		for path := range x {
			if n := y[path]; n.Mode != x[path].Mode || n.ID != x[path].ID {
				want = append(want, line(path, x[path], n))
			}
		}
		for path := range y {
			if _, both := x[path]; !both {
				want = append(want, line(path, Node{}, y[path]))
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%q instead of %q", got, want)
		}
		found += len(got)
	}
	if found < 1000 {
		t.Errorf("only %d differences", found)
	}
}

// What differs is known before the end; what comes behind it is checked all the same.
func TestATreeThatIsMalformedBehindWhatDiffersIsAnError(t *testing.T) {
	o := objects{}
	a, z := Entry{"a", GitFile, blob("a")}, Entry{"z", GitFile, blob("z")}
	good := o.put(a, z)
	for what, bad := range map[string][]byte{
		"out of order": append(Encode([]Entry{{"a", GitFile, blob("b")}, z}, alg), Encode([]Entry{a}, alg)...),
		"cut short":    Encode([]Entry{{"a", GitFile, blob("b")}, z}, alg)[:40],
		"a mode":       append(Encode([]Entry{a, z}, alg), "x"...),
	} {
		id := alg.Sum(oid.Tree, bad)
		o[id] = bad
		for _, pair := range [][2]oid.ID{{good, id}, {id, good}, {{}, id}, {id, {}}} {
			var err error
			for _, err = range Diff(State{Tree: pair[0]}, State{Tree: pair[1]}, alg, o.load) {
				continue
			}
			if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), id.String()) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}
