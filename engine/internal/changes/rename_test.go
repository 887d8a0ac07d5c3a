package changes

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// TestWhatHasAnotherNameAndTheSameContentIsRenamed reads a list of what came and went:
// a letter, a path, and its content.
func TestWhatHasAnotherNameAndTheSameContentIsRenamed(t *testing.T) {
	for _, c := range []struct {
		list []string
		want string
	}{
		{[]string{"A b 1", "D a 1"}, "a>b"},
		{[]string{"A b 1", "D a 2"}, ""},
		{[]string{"A b ", "D a "}, ""},    // empty files
		{[]string{"A b 1", "D a @1"}, ""}, // a link is no file
		{[]string{"A b @1", "D a @1"}, "a>b"},
		{[]string{"M b 1", "D a 1"}, ""},
		{[]string{"A b/ ", "D a/ "}, ""},
		{[]string{"A n/f 1", "A n/g 1", "D o/f 1", "D o/g 1"}, "o/f>n/f o/g>n/g"}, // by the last name
		{[]string{"A c 1", "A n/f 1", "D a 1", "D o/f 1"}, "a>c o/f>n/f"},         // the last name first
		{[]string{"A c 1", "A d 1", "D a 1", "D b 1"}, "a>c b>d"},
		{[]string{"A c 1", "A d 1", "D a 1"}, "a>c a>d"},
		{[]string{"A d 1", "D a 1", "D b 1"}, "a>d"},
	} {
		var list []Change
		for _, text := range c.list {
			list = append(list, changeOf(text))
		}
		var got []string
		for i, from := range Renames(list) {
			got = append(got, list[from].Path+">"+list[i].Path)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: %v, want %s", c.list, got, c.want)
		}
	}
}

func changeOf(text string) Change {
	letter, text, _ := strings.Cut(text, " ")
	path, content, _ := strings.Cut(text, " ")
	side := Side{Mode: 0o100644, ID: oid.SHA1.Sum(oid.Blob, []byte(content))}
	if rest, ok := strings.CutPrefix(content, "@"); ok {
		side = Side{Mode: tree.Symlink | 0o777, ID: oid.SHA1.Sum(oid.Blob, []byte(rest))}
	}
	if strings.HasSuffix(path, "/") {
		side = Side{Mode: 0o40755}
	}
	c := Change{Path: path, Status: letter[0], From: side, To: side}
	switch letter {
	case "A":
		c.From = Side{}
	case "D":
		c.To = Side{}
	}
	return c
}

// TestARenamedFileIsToldAsOneAndCountedAsTwo: programs go on to see both changes.
func TestARenamedFileIsToldAsOneAndCountedAsTwo(t *testing.T) {
	read := func(id oid.ID, _ int64) ([]byte, bool) { return []byte("1\n2\n"), true }
	counter := Counter{Files: 9, Each: 99, All: 99, Read: read}
	c := counter.Sum(oid.SHA1.Sum(oid.Blob, []byte("base")), []Change{changeOf("D a 1"), changeOf("A b 1"), changeOf("A c 2")})
	got, err := Decode(c.Encode())
	if err != nil || !reflect.DeepEqual(got, c) || c.Names[1].From != "a" || c.Names[2].From != "" || c.Files != 3 || c.Added != 4 || c.Removed != 2 {
		t.Fatalf("%+v, %+v, %v", c, got, err)
	}
	if told := c.Told(); told.Files != 2 || told.Added != 2 || told.Removed != 0 || len(told.Names) != 2 {
		t.Errorf("%+v", told)
	}
	if told := c.Below("b").Told(); told.Files != 1 || told.Added != 0 { // its old name lies elsewhere
		t.Errorf("%+v", told)
	}
}

// TestARowFromBeforeRenamesIsFoundOutAgain keeps its base, which is not found out.
func TestARowFromBeforeRenamesIsFoundOutAgain(t *testing.T) {
	base := oid.SHA1.Sum(oid.Blob, []byte("base"))
	for list, settled := range map[string]bool{"AD": false, "AM": true, "D": true} {
		c := &Changed{Base: base, Known: true, Settled: true}
		for i, letter := range list {
			c.Names = append(c.Names, Name{Path: fmt.Sprint(i), Status: byte(letter)})
		}
		row := c.Encode()
		row[0] = 1
		if got, err := Decode(row); err != nil || got.Base != base || got.Settled != settled {
			t.Errorf("%s: %+v, %v", list, got, err)
		}
	}
}
