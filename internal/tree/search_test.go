package tree

import (
	"fmt"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// wants checks what a search yields, by path.
func wants(t *testing.T, s *Search, root oid.ID, known []oid.ID, want ...string) {
	t.Helper()
	var got []string
	for n, err := range s.Beyond(root, known...) {
		if err != nil {
			got = append(got, n.Path+": "+err.Error())
			continue
		}
		got = append(got, n.Path)
	}
	if !slices.Equal(got, want) {
		t.Errorf("yielded %q, want %q", got, want)
	}
}

func TestASearchYieldsWhatKnownTreesLackAndChildrenFirst(t *testing.T) {
	o := objects{}
	sub := o.put(Entry{"x", GitFile, blob("x")})
	first := o.put(Entry{"a", GitFile, blob("a")}, Entry{"d", Dir, sub}, Entry{"link", GitLink, blob("elsewhere")})
	changed := o.put(Entry{"x", GitFile, blob("x")}, Entry{"y", GitFile, blob("y")})
	second := o.put(Entry{"b", GitFile, blob("a")}, Entry{"d", Dir, changed}, Entry{"e", Dir, sub}, Entry{"link", GitLink, blob("elsewhere")})
	wants(t, &Search{Algorithm: alg, Load: o.load}, first, nil, "a", "d/x", "d", "")
	wants(t, &Search{Algorithm: alg, Load: o.load}, first, []oid.ID{first})
	wants(t, &Search{Algorithm: alg, Load: o.load}, second, []oid.ID{first}, "d/y", "d", "")
	wants(t, &Search{Algorithm: alg, Load: o.load}, second, []oid.ID{first, o.put(Entry{"d", Dir, changed})}, "")
	// A known tree that cannot be loaded says nothing.
	wants(t, &Search{Algorithm: alg, Load: o.load}, second, []oid.ID{blob("no tree")}, "b", "d/x", "d/y", "d", "e", "")
	// A second root of the same search yields only what is new.
	s := &Search{Algorithm: alg, Load: o.load}
	wants(t, s, first, nil, "a", "d/x", "d", "")
	wants(t, s, second, nil, "d/y", "d", "")
}

// Of one known tree, which nearly all have, only what is not in the directory any more is
// remembered, and copies and moves are found all the same.
func TestASearchRemembersOfOneKnownTreeWhatChanged(t *testing.T) {
	o := objects{}
	many := func(more ...Entry) oid.ID {
		for i := range 1000 {
			more = append(more, Entry{fmt.Sprintf("f%03d", i), GitFile, blob(fmt.Sprint(i))})
		}
		slices.SortFunc(more, func(a, b Entry) int { return compare(&a, &b) })
		return o.put(more...)
	}
	empty := o.put()
	first := o.put(Entry{"a", Dir, many(Entry{"moved", GitFile, blob("m")})}, Entry{"b", Dir, empty})
	second := o.put(Entry{"a", Dir, many(Entry{"copy", GitFile, blob("7")}, Entry{"new", GitFile, blob("n")})}, Entry{"b", Dir, o.put(Entry{"moved", GitFile, blob("m")})})
	s := &Search{Algorithm: alg, Load: o.load}
	wants(t, s, second, []oid.ID{first}, "a/new", "a", "b", "")
	if n := s.seen.Len(); n > 12 {
		t.Errorf("%d objects are remembered", n)
	}
}

func TestASearchRemembersNothingOfWhatItSkips(t *testing.T) {
	o := objects{}
	sub := o.put(Entry{"x", GitFile, blob("x")}, Entry{"y", GitFile, blob("y")})
	root := o.put(Entry{"a", GitFile, blob("x")}, Entry{"d", Dir, sub})
	s := &Search{Algorithm: alg, Load: o.load, Skip: func(id oid.ID) bool { return id == blob("x") || id == sub }}
	wants(t, s, root, nil, "d/y", "d", "")
	if s.seen.Len() != 3 || s.met(blob("x")) {
		t.Errorf("%d objects are remembered", s.seen.Len())
	}
}

func TestASearchOfAnOverlayEntersNestedRepositories(t *testing.T) {
	o := objects{}
	inside := o.put(Entry{"f", File | 0600, blob("f")})
	over := o.put(Entry{"gone", Absent, oid.ID{}}, Entry{"n", Nested | 0755, inside})
	wants(t, &Search{Algorithm: alg, Load: o.load, Overlay: true}, over, nil, "n/f", "n", "")
}

func TestASearchEndsAtATreeThatIsMissing(t *testing.T) {
	o := objects{}
	root := o.put(Entry{"a", GitFile, blob("a")}, Entry{"b", Dir, blob("nowhere")}, Entry{"c", GitFile, blob("c")})
	wants(t, &Search{Algorithm: alg, Load: o.load}, root, nil, "a", "b: no tree "+blob("nowhere").String())
}

func TestAKnownTreeThatIsMalformedSaysNothing(t *testing.T) {
	o := objects{}
	a, b := Entry{"a", GitFile, blob("a")}, Entry{"b", GitFile, blob("b")}
	root := o.put(a, b)
	bad := append(Encode([]Entry{a, b}, alg), "x"...)
	id := alg.Sum(oid.Tree, bad)
	o[id] = bad
	wants(t, &Search{Algorithm: alg, Load: o.load}, root, []oid.ID{id}, "a", "b", "")
	wants(t, &Search{Algorithm: alg, Load: o.load}, id, []oid.ID{root}, ": tree "+id.String()+": "+decodeError(bad).Error())
}

func decodeError(payload []byte) error {
	_, err := Decode(payload, alg)
	return err
}
