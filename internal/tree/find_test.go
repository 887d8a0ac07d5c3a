package tree

import (
	"fmt"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestAFinderSaysWhatALookupSaysAndReadsEachDirectoryOnce(t *testing.T) {
	o, loads := objects{}, 0
	load := func(id oid.ID, _ ...oid.ID) ([]byte, error) { loads++; return o.load(id) }
	var list []Entry
	for i := range 50 {
		below := o.put(Entry{"f", GitFile, blob(fmt.Sprint(i))}, Entry{"x", GitDir, o.put(Entry{"y", GitFile, blob(fmt.Sprint("y", i))})})
		list = append(list, Entry{fmt.Sprintf("d%02d", i), GitDir, below}, Entry{fmt.Sprintf("d%02d.txt", i), GitFile, blob("t")})
	}
	s := State{Tree: o.put(list...), Umask: 022, Overlay: o.put(Entry{"d01", Nested | 0755, o.put(Entry{"in", File | 0600, blob("in")})}, Entry{Name: "d02.txt"})}
	f := Finder{State: s, Algorithm: alg, Load: load}
	look := func(path string) {
		n, ok, err := f.Lookup(path)
		want, there, wantErr := Lookup(s, path, alg, o.load)
		if n != want || ok != there || err != nil || wantErr != nil {
			t.Errorf("%s: %+v, %v, %v; want %+v, %v, %v", path, n, ok, err, want, there, wantErr)
		}
	}
	for i := range 50 {
		for _, below := range []string{"", ".txt", ".txt/no", "/f", "/f/no", "/in", "/none", "/x", "/x/y", "/x/z", "0/none"} {
			look(fmt.Sprintf("d%02d%s", i, below))
		}
	}
	if loads > 2*(2+2*50) {
		t.Errorf("%d trees were read, of %d", loads, 2+2*50)
	}
	for _, path := range []string{"d40/x/y", "d03", "d40/f", "none", "d40/x"} {
		look(path)
	}
}

func TestAFinderNamesATreeThatIsMissing(t *testing.T) {
	o := objects{}
	f := Finder{State: State{Tree: o.put(Entry{"d", GitDir, blob("nowhere")}, Entry{"f", GitFile, blob("1")})}, Algorithm: alg, Load: o.load}
	if _, _, err := f.Lookup("d/x"); err == nil {
		t.Error("a tree that is missing has an entry")
	}
	if _, ok, err := f.Lookup("f"); !ok || err != nil {
		t.Errorf("the rest cannot be found: %v", err)
	}
	if _, _, err := (&Finder{State: State{Tree: blob("nowhere")}, Algorithm: alg, Load: o.load}).Lookup("x"); err == nil {
		t.Error("a root that is missing has an entry")
	}
}
