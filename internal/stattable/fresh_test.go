package stattable

import (
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

func TestAFreshEntryKeepsWhenItWasRead(t *testing.T) {
	for _, alg := range []oid.Algorithm{oid.SHA1, oid.SHA256} {
		a, b := alg.Sum(oid.Blob, []byte("a")), alg.Sum(oid.Blob, []byte("b"))
		items := []Item{
			{Name: "plain", Mode: tree.GitFile, GitMode: tree.GitFile, Git: a, Raw: a, Size: 1},
			{Name: "same", Mode: tree.GitFile, GitMode: tree.GitFile, Git: a, Raw: a, Flags: Fresh, ReadAt: 1 << 60},
			{Name: "converted", Mode: tree.GitFile, GitMode: tree.GitFile, Git: a, Raw: b, Flags: Fresh | Young, ReadAt: -1},
			{Name: "outside", Mode: tree.GitFile, GitMode: tree.GitFile, Raw: b, Flags: Fresh, ReadAt: 7},
			{Name: "none", Mode: tree.GitFile, GitMode: tree.GitFile, Flags: Fresh, ReadAt: 8},
			{Name: "last", Mode: tree.GitFile, GitMode: tree.GitFile, Git: b, Raw: b},
		}
		row, err := parseRow("d", Encode("d", &Head{}, items, nil).p)
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for rest := row.Entries(); !rest.Empty(); i++ {
			var e Entry
			if e, rest = rest.Cut(); e.Item() != items[i] || e.Name() != items[i].Name {
				t.Errorf("%v: %+v came back as %+v", alg, items[i], e.Item())
			}
		}
		if i != len(items) {
			t.Errorf("%v: %d entries of %d", alg, i, len(items))
		}
	}
}
