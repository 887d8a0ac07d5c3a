package engine

import (
	"testing"
)

// Where the snapshot has a file, and there is a directory with ignored files now,
// or one that is ignored as a whole, these stay: they are in the way of the file,
// which is a conflict.
func TestIgnoredFilesStayInADirectoryWhereTheSnapshotHasAFile(t *testing.T) {
	for _, c := range []struct {
		rules   string
		ignored []string
		others  []string
	}{
		{"*.local\nout/\n", []string{"d/x.local"}, []string{"d/f"}},
		{"*.local\nout/\n", []string{"d/out/x"}, []string{"d/f"}},
		{"*.local\nout/\n", []string{"d/deep/x.local"}, []string{"d/f"}},
		{"/d/\n", []string{"d/x", "d/deep/y"}, nil},
	} {
		bothKinds(t, func(t *testing.T, p *place) {
			p.write("d", "a file")
			e := p.open()
			s := p.snap(e, "one", nil)
			p.write(".gitignore", c.rules)
			p.remove("d")
			for _, name := range append(c.others, c.ignored...) {
				p.write(name, "of "+name)
			}
			before := p.picture()
			for _, ignored := range []bool{false, true} {
				r := p.do(e, Op{To: s.ID, Ignored: ignored})
				for _, name := range c.ignored {
					p.want(name, "of "+name)
				}
				if len(r.Conflicts) != 1 || r.Conflicts[0].Path != "d" {
					t.Errorf("conflicts %v", r.Conflicts)
				}
				p.undo(e)
				p.wantPicture("undo", before)
			}
		})
	}
}

// What the snapshot has by the name of a file that is ignored now takes its place,
// and its bytes are in the undo.
func TestAnIgnoredFileGivesWayToADirectoryOfTheSnapshot(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.write("d/f", "recorded")
		e := p.open()
		s := p.snap(e, "one", nil)
		p.remove("d")
		p.write("d", "ignored, and in the way")
		p.write(".gitignore", "/d\n")
		before := p.picture()
		p.putBack(e, s, Op{})
		if p.read("d/f") != "recorded" {
			t.Error("d/f is not back")
		}
		p.wantThereAndBack(e, before)
	})
}
