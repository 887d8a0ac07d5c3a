package engine

import (
	"context"
	"testing"
)

// Where the snapshot has a file, and there is a directory with ignored files now,
// these stay: they are in the way of the file, which is a conflict.
func TestIgnoredFilesStayInADirectoryWhereTheSnapshotHasAFile(t *testing.T) {
	for _, name := range []string{"d/x.local", "d/out/x", "d/deep/x.local"} {
		bothKinds(t, func(t *testing.T, p *place) {
			p.write("d", "a file")
			e := p.open()
			s := p.snap(e, "one", nil)
			p.write(".gitignore", "*.local\nout/\n")
			p.remove("d")
			p.write("d/f", "recorded")
			p.write(name, "ignored")
			before := p.picture()
			for _, ignored := range []bool{false, true} {
				r, err := e.Do(context.Background(), Op{To: s.ID, Ignored: ignored})
				p.must(err)
				if p.read(name) != "ignored" || len(r.Conflicts) != 1 || r.Conflicts[0].Path != "d" {
					t.Errorf("conflicts %v", r.Conflicts)
				}
				p.undo(e)
				p.wantPicture("undo", before)
			}
		})
	}
}

// A directory that is ignored as a whole now is not replaced by a file either.
func TestAnIgnoredDirectoryStaysWhereTheSnapshotHasAFile(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.write("d", "a file")
		e := p.open()
		s := p.snap(e, "one", nil)
		p.write(".gitignore", "/d/\n")
		p.remove("d")
		p.write("d/x", "ignored")
		p.write("d/deep/y", "ignored")
		before := p.picture()
		r, err := e.Do(context.Background(), Op{To: s.ID, Ignored: true})
		p.must(err)
		if p.read("d/x") != "ignored" || p.read("d/deep/y") != "ignored" || len(r.Conflicts) != 1 {
			t.Errorf("conflicts %v", r.Conflicts)
		}
		p.undo(e)
		p.wantPicture("undo", before)
	})
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
