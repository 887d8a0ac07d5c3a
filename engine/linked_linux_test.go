package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// filesBelow is the names in a directory.
func filesBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// An archive may have links in the place of the directories of objects. One to another
// user's is refused: the snapshot stands in the store, and says what to do.
func TestALinkAmongTheObjectsToSomebodyElseTakesNothing(t *testing.T) {
	needRoot(t)
	for _, name := range []string{"pack", "info", "all"} {
		for _, closed := range []bool{false, true} {
			t.Run(name, func(t *testing.T) { linkedToSomebody(t, name, closed) })
		}
	}
}

func linkedToSomebody(t *testing.T, name string, closed bool) {
	p := newOpenPlace(t)
	if closed {
		p.must(os.Chmod(filepath.Dir(p.dir), 0o700))
	}
	theirs := filepath.Join(filepath.Dir(filepath.Dir(p.dir)), "theirs")
	p.must(errors.Join(os.Mkdir(theirs, 0o777), os.Chmod(theirs, 0o777), os.Chown(theirs, somebody, somebody)))
	names := []string{name}
	if name == "all" {
		names = nil
		for i := range 256 {
			names = append(names, string("0123456789abcdef"[i>>4])+string("0123456789abcdef"[i&15]))
		}
	}
	for _, name := range names {
		at := filepath.Join(p.dir, ".git", "objects", name)
		p.must(errors.Join(os.RemoveAll(at), os.Symlink(theirs, at)))
	}
	for i := range 40 { // a pack, or files
		p.put("secret"+string(rune('a'+i%26))+string(rune('a'+i/26)), "private "+string(rune('a'+i)), 0o600)
	}
	e := p.open()
	r := p.take(e)
	if r.Bridge == nil || !strings.Contains(r.Bridge.Error(), "belongs to another user") || !strings.Contains(r.Bridge.Error(), "move it away") ||
		!strings.Contains(r.Bridge.Error(), names[0]) {
		t.Errorf("%s: the bridge says %v", name, r.Bridge)
	}
	if got := filesBelow(t, theirs); len(got) > 0 {
		t.Errorf("%s: the other user has %q", name, got)
	}
	p.must(os.Remove(filepath.Join(p.dir, "secretaa")))
	_, err := e.Do(t.Context(), Op{To: r.ID})
	if p.must(err); p.read("secretaa") != "private a" {
		t.Errorf("%s: it came back as %q", name, p.read("secretaa"))
	}
}

// A link among the objects to what is the user's works as ever. What it leads to is not
// where the readers of the other objects were looked for, so everybody may be one.
func TestALinkAmongTheObjectsOfTheUserMayBeReadByAll(t *testing.T) {
	p := newOpenPlace(t)
	p.must(os.Chmod(filepath.Dir(p.dir), 0o700))
	public := filepath.Join(filepath.Dir(filepath.Dir(p.dir)), "public")
	p.must(os.Mkdir(public, 0o755))
	at := filepath.Join(p.dir, ".git", "objects", "pack")
	p.must(errors.Join(os.RemoveAll(at), os.Symlink(public, at)))
	p.write("file", "one")
	p.git("add", "-A")
	p.put("secret", "private", 0o600)
	e := p.open()
	r := p.take(e)
	if p.inTree(e, r, "secret") || !p.inTree(e, r, "file") || p.gitHas(e, "private") {
		t.Error("what is 0600 is where others may read it, or what git tracks is missing")
	}
	if kept := p.inRef(e); len(kept) != 1 || kept[0] != r.ID {
		t.Errorf("the ref keeps %v, want %v", kept, r.ID)
	}
}
