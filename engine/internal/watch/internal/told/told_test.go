package told_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"

	"github.com/seed-82afce7a/rewind/engine/internal/watch/internal/told"
	"github.com/seed-82afce7a/rewind/internal/seed"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// of is a tree with these directories, of which nothing is told yet.
func of(dirs ...string) *told.Tree {
	t := &told.Tree{}
	for _, dir := range append([]string{""}, dirs...) {
		t.Add(dir)
	}
	t.Take()
	return t
}

func take(t *testing.T, tree *told.Tree) *worktree.Changes {
	t.Helper()
	changes, doubt := tree.Take()
	if doubt != "" {
		t.Fatal(doubt)
	}
	return changes
}

func TestWhatIsToldOfAPathIsChangedByTheNameOfItsDirectory(t *testing.T) {
	nfd := norm.NFD.String("größe")
	for _, c := range []struct {
		path  string
		kind  told.Kind
		wants []string // a slash behind it means all below
		not   []string
	}{
		{"a/b/f", told.Touched, []string{"a/b"}, []string{"", "a", "C"}},
		{"A/B/F", told.Touched, []string{"a/b"}, []string{"a"}},
		{"c/f", told.Moved, []string{"C", "C/f/"}, []string{"a"}},
		{"größe/f", told.Touched, []string{"größe"}, []string{"a"}},
		{nfd + "/f", told.Touched, []string{"größe"}, []string{"a"}},
		{"a/b", told.Moved, []string{"a", "a/b/"}, []string{"C"}},
		{"a/B", told.Moved, []string{"a", "a/b/", "a/B/"}, []string{"C"}},
		{"a/b", told.Touched, []string{"a", "a/b"}, []string{"C"}}, // it may be a file by now
		{"a", told.Below, []string{"", "a/"}, []string{"C"}},
		{"", told.Below, []string{"/"}, nil},
		{"", told.Touched, []string{""}, []string{"a", "C"}},
		{"node_modules/x/f", told.Moved, nil, []string{"", "a", "node_modules"}},
		{"a/node_modules", told.Moved, []string{"a", "a/node_modules/"}, []string{"C"}},
		{"a/ſ/f", told.Touched, []string{"a/"}, []string{"C"}}, // which may be a spelling of a/s
		{"x/İ/f", told.Touched, []string{"/"}, nil},
	} {
		tree := of("a", "a/b", "C", "größe", "a/s")
		tree.Tell(c.path, c.kind)
		got := take(t, tree)
		below := slices.Collect(got.Below())
		for _, want := range c.wants {
			if dir, all := strings.CutSuffix(want, "/"); all && !slices.Contains(below, dir) || !got.Has(dir, "any") {
				t.Errorf("%q, %v: %q is not told: %+v", c.path, c.kind, want, got)
			}
		}
		for _, not := range c.not {
			if got.Has(not, "any") {
				t.Errorf("%q, %v: %q is told: %+v", c.path, c.kind, not, got)
			}
		}
		if tree.Last().IsZero() != (len(c.wants) == 0) {
			t.Errorf("%q: last told %v", c.path, tree.Last())
		}
	}
}

func TestTwoDirectoriesWhoseNamesAreAlikeAreBothTold(t *testing.T) {
	tree := of("Doc", "doc")
	tree.Tell("doc/f", told.Touched)
	if got := take(t, tree); !got.Has("doc", "f") || !got.Has("Doc", "f") {
		t.Errorf("%+v", got)
	}
	tree.Remove("doc")
	tree.Tell("doc/f", told.Touched)
	if got := take(t, tree); !got.Has("Doc", "f") || tree.Watches("doc") || !tree.Watches("Doc") {
		t.Errorf("%+v", got)
	}
	tree.Remove("Doc")
	tree.Tell("doc/f", told.Touched)
	if got := take(t, tree); got.Len() != 0 {
		t.Errorf("%+v", got)
	}
}

func TestAFileThatIsSaidToBeOpenStays(t *testing.T) {
	tree := of("a")
	tree.Open("a/f")
	for range 2 {
		if got := take(t, tree); !got.Has("a", "f") || got.Has("a", "g") {
			t.Errorf("%+v", got)
		}
	}
	for i := range 5000 {
		tree.Open(fmt.Sprint("a/", i))
	}
	if _, doubt := tree.Take(); !strings.Contains(doubt, "too much") {
		t.Errorf("doubt %q", doubt)
	}
	tree.Fail("something else")
	if _, doubt := tree.Take(); !strings.Contains(doubt, "too much") || doubt != tree.Doubt() {
		t.Errorf("doubt %q", doubt)
	}
}

// record is one of FILE_NOTIFY_INFORMATION.
func record(action uint32, name string) []byte {
	units := utf16.Encode([]rune(name))
	p := binary.LittleEndian.AppendUint32(make([]byte, 4), action)
	p = binary.LittleEndian.AppendUint32(p, uint32(2*len(units)))
	for _, u := range units {
		p = binary.LittleEndian.AppendUint16(p, u)
	}
	return append(p, make([]byte, -len(p)&3)...)
}

// records are several, one after the other.
func records(all ...[]byte) (p []byte) {
	for i, r := range all {
		if i < len(all)-1 {
			binary.LittleEndian.PutUint32(r, uint32(len(r)))
		}
		p = append(p, r...)
	}
	return p
}

func TestTheRecordsOfWindowsAreRead(t *testing.T) {
	p := records(record(1, `a\b c\ü.txt`), record(3, "odd"), record(4, "𝄞"), record(5, ""), record(2, "x"))
	var got []string
	if !told.Records(p, func(path string, kind told.Kind) { got = append(got, fmt.Sprint(path, " ", kind)) }) {
		t.Error("refused")
	}
	if want := "a/b c/ü.txt 1|odd 0|𝄞 1| 1|x 1"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", got, want)
	}
	far, odd, long := record(1, "a"), record(1, "a"), record(1, "a")
	binary.LittleEndian.PutUint32(far, 1<<20)
	binary.LittleEndian.PutUint32(odd[8:], 1)
	binary.LittleEndian.PutUint32(long[8:], 100)
	loop := records(record(1, "a"), record(1, "b"))
	binary.LittleEndian.PutUint32(loop, 4)
	for _, bad := range [][]byte{nil, make([]byte, 11), record(6, "a"), record(0, "a"), far, odd, long, loop, p[:len(p)-4]} {
		if told.Records(bad, func(string, told.Kind) {}) {
			t.Errorf("%v is taken for records", bad)
		}
	}
	r := rand.New(rand.NewPCG(seed.Of(t), 5))
	for range 20_000 {
		bad := slices.Clone(p)
		for range 1 + r.IntN(4) {
			bad[r.IntN(len(bad))] = byte(r.Uint32())
		}
		told.Records(bad[:r.IntN(len(bad)+1)], func(string, told.Kind) {})
	}
}

func TestAShortNameIsMadeALongOne(t *testing.T) {
	there := map[string]string{"LONGDI~1": "long directory", "a/PROGR~12.TXT": "program of mine.text", "x~1": "x~1"}
	long := func(path string) string { return there[path] }
	for _, c := range []struct {
		path, want string
		exact      bool
	}{
		{"a/b/f", "a/b/f", true},
		{"LONGDI~1/f", "long directory/f", true},
		{"a/PROGR~12.TXT", "a/program of mine.text", true},
		{"a/GONE~1.TXT", "a/GONE~1.TXT", true}, // what it lies in is told
		{"a/GONE~1/f", "a", false},
		{"GONE~1/f", "", false},
		{"x~1/a~b/c~", "x~1/a~b/c~", true},
		{"a long name~1.text/f", "a long name~1.text/f", true},
	} {
		if got, exact := told.Long(c.path, long); got != c.want || exact != c.exact {
			t.Errorf("%q: %q, %v, want %q, %v", c.path, got, exact, c.want, c.exact)
		}
	}
}

func TestTheFlagsOfMacOSAreRead(t *testing.T) {
	const file, dir = 1 << 16, 1 << 17
	for _, c := range []struct {
		flags uint32
		kind  told.Kind
		doubt bool
	}{
		{0x1000 | file, told.Touched, false},
		{0x0400 | file, told.Touched, false},
		{0x8000 | dir, told.Touched, false},
		{0x4000 | 0x2000 | file | 0x100000, told.Touched, false},
		{0x0100 | file, told.Moved, false},
		{0x0200 | dir, told.Moved, false},
		{0x0800 | dir | 0x80000, told.Moved, false},
		{0x0100 | 0x0200 | 0x0800 | 0x1000 | file, told.Moved, false},
		{0x400000 | file, told.Moved, false},
		{1, told.Below, false},
		{1 | 0x1000 | file, told.Below, false},
		{0, told.Below, false},
		{file, told.Below, false},
		{0x1000 | 1<<23, told.Below, false},
		{1 | 2, 0, true},
		{1 | 4, 0, true},
		{8, 0, true},
		{16, told.Touched, false},
		{32, 0, true},
		{64, 0, true},
		{128 | dir, 0, true},
	} {
		if kind, doubt := told.Flags(c.flags); doubt != "" != c.doubt || kind != c.kind {
			t.Errorf("%#x: %v, %q, want %v, %v", c.flags, kind, doubt, c.kind, c.doubt)
		}
	}
}

func TestAPathOfMacOSIsBelowTheRoot(t *testing.T) {
	nfd := norm.NFD.String("/Users/jö/P")
	for _, c := range []struct{ root, path, want string }{
		{"/Users/u/p", "/Users/u/p/a/b", "a/b"},
		{"/Users/u/p", "/Users/u/p/a/", "a"},
		{"/Users/u/p", "/Users/u/p", ""},
		{"/Users/u/p", "/Users/u/p/", ""},
		{"/Users/u/p", "/users/U/P/A", "A"},
		{"/Users/u/p", "/System/Volumes/Data/Users/u/p/a", "a"},
		{"/Users/jö/P", nfd + "/ä", "ä"},
		{"/Users/u/p", "/Users/u/p2/a", "-"},
		{"/Users/u/p", "/Users/u", "-"},
		{"/Users/u/p", "/System/Volumes/Data/Users/u", "-"},
		{"/Users/u/p", "/x/y/z/Users/u/p/a", "-"},
		{"/Users/u/p", "", "-"},
		{"/", "/a/b", "a/b"},
		{"/System/Volumes/Data/p", "/System/Volumes/Data/p/a", "a"},
	} {
		got, ok := told.Rel(c.root, c.path)
		if !ok {
			got = "-"
		}
		if got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.path, c.root, got, c.want)
		}
	}
}
