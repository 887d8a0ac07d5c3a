package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/blame"
	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// arrange makes the worktree consist of these: "file=text", "file!=text" for one that
// can be executed, "link->target", "directory/", "directory/=0700" with permissions.
func (p *place) arrange(list []string) {
	p.t.Helper()
	names, err := os.ReadDir(p.dir)
	p.must(err)
	for _, n := range names {
		if n.Name() != ".git" {
			p.must(os.RemoveAll(filepath.Join(p.dir, n.Name())))
		}
	}
	for _, item := range list {
		if name, target, ok := strings.Cut(item, "->"); ok {
			p.must(os.MkdirAll(filepath.Dir(filepath.Join(p.dir, name)), 0o755))
			p.must(os.Symlink(target, filepath.Join(p.dir, name)))
			continue
		}
		name, text, _ := strings.Cut(item, "=")
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			perm := fs.FileMode(0o755)
			if text != "" {
				_, err := fmt.Sscanf(text, "%o", &perm)
				p.must(err)
			}
			p.must(os.MkdirAll(filepath.Join(p.dir, dir), 0o755))
			p.must(os.Chmod(filepath.Join(p.dir, dir), perm))
			continue
		}
		name, exec := strings.CutSuffix(name, "!")
		p.write(name, text)
		if exec {
			p.must(os.Chmod(filepath.Join(p.dir, name), 0o755))
		}
	}
}

// arranged lists the worktree as arrange reads it: directories only where they are
// empty, or have permissions of their own.
func (p *place) arranged() []string {
	p.t.Helper()
	var list []string
	p.must(filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == p.dir {
			return err
		}
		name := p.rel(path)
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			inside, err := os.ReadDir(path)
			if perm := info.Mode().Perm(); perm != 0o755 && runtime.GOOS != "windows" {
				list = append(list, fmt.Sprintf("%s/=%#o", name, perm))
			} else if len(inside) == 0 {
				list = append(list, name+"/")
			}
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			list = append(list, name+"->"+target)
			return err
		case info.Mode().Perm()&0o100 != 0:
			name += "!"
		}
		text, err := os.ReadFile(path)
		list = append(list, name+"="+string(text))
		return err
	}))
	slices.Sort(list)
	return list
}

// A mergeCase is a range, a present, and what is to come of both.
type mergeCase struct {
	name                     string
	base, theirs, ours, want []string
	left                     []string // conflicts, by path
	kept                     []string
	opt                      Op
}

func (c *mergeCase) run(t *testing.T, git bool) {
	p := newPlace(t, git)
	e := p.open()
	p.arrange(c.base)
	base := p.take(e)
	p.arrange(c.theirs)
	theirs := p.take(e)
	p.arrange(c.ours)
	c.opt.Label = "before"
	op := c.opt
	op.Verb, op.Ranges = "revert", []Range{{From: base.ID, To: theirs.ID}}
	plan := p.plan(e, op)
	if now := p.arranged(); !slices.Equal(now, sorted(c.ours)) {
		t.Errorf("the plan changed files: %q", now)
	}
	r := p.do(e, op)
	want := sorted(c.want)
	if now := p.arranged(); !slices.Equal(now, want) {
		t.Errorf("merged: %q\nwant    %q", now, want)
	}
	if got := pathsOf(r.Conflicts); !slices.Equal(got, c.left) {
		t.Errorf("conflicts %v, want %q", r.Conflicts, c.left)
	}
	if got := pathsOf(r.Kept); !slices.Equal(got, c.kept) {
		t.Errorf("kept %v, want %q", r.Kept, c.kept)
	}
	if len(plan.Changes) != r.Written+r.Deleted || !slices.Equal(pathsOf(plan.Conflicts), c.left) {
		t.Errorf("the plan has %d changes and %v; %d were written, %d deleted", len(plan.Changes), plan.Conflicts, r.Written, r.Deleted)
	}
	if r.Undo.IsZero() {
		if !slices.Equal(want, sorted(c.ours)) {
			t.Error("files were changed, and there is no undo")
		}
		return
	}
	for _, step := range []struct {
		verb string
		want []string
	}{{Undo, sorted(c.ours)}, {Redo, want}, {Undo, sorted(c.ours)}} {
		p.do(e, Op{Verb: step.verb})
		if now := p.arranged(); !slices.Equal(now, step.want) {
			t.Errorf("after undo or redo: %q\nwant               %q", now, step.want)
		}
	}
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

func pathsOf(notes []Note) (list []string) {
	for _, n := range notes {
		list = append(list, string(n.Path))
	}
	return list
}

// l makes a list.
func l(items ...string) []string { return items }

func TestWhatAMergeDoes(t *testing.T) {
	t.Parallel()
	text := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	first, last := strings.Replace(text, "1", "one", 1), strings.Replace(text, "9", "nine", 1)
	both := strings.Replace(first, "9", "nine", 1)
	other := strings.Replace(text, "1", "uno", 1)
	marked := "<<<<<<< now\nuno\n=======\none\n>>>>>>> before\n2\n3\n4\n5\n6\n7\n8\n9\n"
	for _, c := range []mergeCase{
		{name: "texts that were changed in different places", base: l("a=" + text), theirs: l("a=" + first), ours: l("a=" + last), want: l("a=" + both)},
		{name: "texts that were changed in the same place", base: l("a="+text, "b=1"), theirs: l("a="+first, "b=2"), ours: l("a="+other, "b=1"), want: l("a="+other, "b=2"), left: l("a")},
		{name: "the same with markers", base: l("a=" + text), theirs: l("a=" + first), ours: l("a=" + other), want: l("a=" + marked), opt: Op{Markers: true}},
		{name: "what is done already", base: l("a=1", "b=1", "c=1"), theirs: l("a=2", "c=1", "d=1"), ours: l("a=2", "c=3", "d=1"), want: l("a=2", "c=3", "d=1")},
		{name: "files that come and go", base: l("a=1", "d/b=1"), theirs: l("a=1", "e/f/c=1"), ours: l("a=2", "d/b=1", "d/x=1"), want: l("a=2", "d/x=1", "e/f/c=1")},
		{name: "a file that goes with its directory", base: l("a=1", "d/e/b=1"), theirs: l("a=1"), ours: l("a=2", "d/e/b=1"), want: l("a=2")},
		{name: "an edited file that was deleted", base: l("a=1", "b=1"), theirs: l("b=1"), ours: l("a=2", "b=1"), want: l("a=2", "b=1"), left: l("a")},
		{name: "a deleted file that was edited", base: l("a=1", "b=1"), theirs: l("a=2", "b=1"), ours: l("b=1"), want: l("b=1"), left: l("a")},
		{name: "files that both sides added", base: l("b=1"), theirs: l("a=1", "b=1"), ours: l("a=2", "b=1"), want: l("a=2", "b=1"), left: l("a")},
		{name: "binary files", base: l("a=\x001\n2\n"), theirs: l("a=\x003\n2\n"), ours: l("a=\x001\n4\n"), want: l("a=\x001\n4\n"), left: l("a")},
		{name: "a binary file that one side changed", base: l("a=\x001"), theirs: l("a=\x003"), ours: l("a=\x001", "b="), want: l("a=\x003", "b=")},
		{name: "permissions and texts", base: l("a=" + text), theirs: l("a!=" + text), ours: l("a=" + last), want: l("a!=" + last)},
		{name: "permissions of directories", base: l("d/", "e/"), theirs: l("d/=0700", "e/"), ours: l("d/", "e/=0750"), want: l("d/=0700", "e/=0750")},
		{name: "links", base: l("a->1", "b->1", "c->1"), theirs: l("a->2", "b->1", "c->2"), ours: l("a->1", "b->3", "c->3"), want: l("a->2", "b->3", "c->3"), left: l("c")},
		{name: "a link in the place of a file", base: l("a=1", "b=1"), theirs: l("a->1", "b->1"), ours: l("a=1", "b=2"), want: l("a->1", "b=2"), left: l("b")},
		{name: "a file in the place of a directory", base: l("d/a=1", "d/b=1"), theirs: l("d=1"), ours: l("c=", "d/a=1", "d/b=1"), want: l("c=", "d=1")},
		{name: "the same where an edit is in the way", base: l("d/a=1", "d/b=1"), theirs: l("d=1"), ours: l("d/a=2", "d/b=1"), want: l("d/a=2", "d/b=1"), left: l("d")},
		{name: "the same where something new is in the way", base: l("d/a=1"), theirs: l("d=1"), ours: l("d/a=1", "d/x=1"), want: l("d/a=1", "d/x=1"), left: l("d")},
		{name: "a directory in the place of a file", base: l("d=1"), theirs: l("d/a=1", "d/b=1"), ours: l("c=", "d=1"), want: l("c=", "d/a=1", "d/b=1")},
		{name: "the same where the file was edited", base: l("d=1"), theirs: l("d/a=1", "d/b=1"), ours: l("d=2"), want: l("d=2"), left: l("d")},
		{name: "a file where its directory is a file now", base: l("x="), theirs: l("d/a=1", "x="), ours: l("d=2", "x="), want: l("d=2", "x="), left: l("d")},
		{name: "a new file in a directory that is gone", base: l("d/a=1"), theirs: l("d/a=1", "d/b=1"), ours: l("x="), want: l("d/b=1", "x=")},
		{name: "a moved file that was edited", base: l("a=" + text), theirs: l("d/b=" + text), ours: l("a=" + last), want: l("d/b=" + last)},
		{name: "a moved file where something else is", base: l("a=1"), theirs: l("b=1"), ours: l("a=1", "b=2"), want: l("a=1", "b=2"), left: l("a", "b")},
		{name: "a moved file that is gone", base: l("a=1", "c="), theirs: l("b=1", "c="), ours: l("c="), want: l("c="), left: l("b")},
		{name: "an edited file that was moved", base: l("a=" + text), theirs: l("a=" + first), ours: l("d/b=" + text), want: l("d/b=" + first)},
		{name: "an edited file that was moved and edited", base: l("a=" + text), theirs: l("a=" + first), ours: l("d/b=" + last), want: l("d/b=" + last), left: l("a")},
		{name: "two files that change places", base: l("a=1", "b=2"), theirs: l("a=2", "b=1"), ours: l("a=1", "b=2", "c="), want: l("a=2", "b=1", "c=")},
		{name: "some paths", base: l("a=1", "b=1"), theirs: l("a=2", "b=2"), ours: l("a=1", "b=1", "c="), want: l("a=2", "b=1", "c="), opt: Op{Paths: l("a")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if slices.ContainsFunc(c.theirs, func(item string) bool { return strings.Contains(item, "->") }) {
				gittest.Links(t)
			}
			if slices.ContainsFunc(c.theirs, func(item string) bool { return strings.Contains(item, "!=") || strings.Contains(item, "/=") }) {
				gittest.Modes(t)
			}
			c.run(t, false)
			c.run(t, true)
		})
	}
}

func TestARevertThatIsSaidTwiceDeletesNoIgnoredFile(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.write("f", "1")
		e := p.open()
		one := p.snap(e, "one", nil)
		p.write("env/.gitignore", "*\n")
		p.write("env/made", "1")
		p.write("goes/.gitignore", "*\n")
		two := p.snap(e, "two", nil)
		for range 2 {
			r := p.do(e, Op{Verb: "revert", Ranges: []Range{{From: two.ID, To: one.ID}}})
			if !p.exists("env/.gitignore") || !p.exists("env/made") || p.exists("goes") || !slices.Equal(keptPaths(r), []string{"env/.gitignore", "env/made"}) {
				t.Errorf("kept %v, conflicts %v", r.Kept, r.Conflicts)
			}
		}
	})
}

func TestAFileThatChangesWhileItIsMergedIsAConflict(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	lines := func(first, last string) string { return first + "\n2\n3\n4\n5\n6\n" + last + "\n" }
	var ids []Range
	for _, text := range []string{lines("1", "7"), lines("one", "7")} {
		p.write("f", text)
		ids = append(ids, Range{From: p.take(e).ID})
	}
	p.write("f", lines("1", "seven"))
	e.seen = func() { p.write("f", lines("1", "since then")) }
	r := p.do(e, Op{Verb: "revert", Ranges: []Range{{From: ids[0].From, To: ids[1].From}}, Label: "before"})
	if len(r.Conflicts) != 1 || !strings.Contains(r.Conflicts[0].Reason, "once more meanwhile") {
		t.Errorf("conflicts %v", r.Conflicts)
	}
	p.want("f", lines("1", "since then"))
}

// A file of 31 MiB may have 31 million lines, of which each takes memory: some four
// GiB for a merge, and three to tell where they came from.
func TestATextOfTooManyLinesIsNeitherMergedNorBlamed(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	many := strings.Repeat("\n", 1<<20)
	var ids []*Snapshot
	for _, text := range []string{"x\n" + many, "x\n" + many + "y\n"} {
		p.write("many", text)
		p.write("most", text[2:]) // as many as there may be, and one
		s := p.take(e)
		ids = append(ids, s.Snapshot)
	}
	p.write("many", "z\nx\n"+many+"y\n")
	p.write("few", "x")
	r := p.do(e, Op{Verb: "revert", Ranges: []Range{{From: ids[1].ID, To: ids[0].ID}}, Label: "before"})
	if len(r.Conflicts) != 1 || r.Conflicts[0].Path != "many" || !strings.Contains(r.Conflicts[0].Reason, "too large") {
		t.Errorf("conflicts: %v", r.Conflicts)
	}
	text, err := os.ReadFile(filepath.Join(p.dir, "many"))
	p.must(err)
	if !bytes.HasPrefix(text, []byte("z\n")) || !bytes.HasSuffix(text, []byte("y\n")) {
		t.Error("the present was changed")
	}
	if text, err := os.ReadFile(filepath.Join(p.dir, "most")); err != nil || string(text) != many {
		t.Errorf("a file that only one side changed was not taken over: %d bytes, %v", len(text), err)
	}
	if err := blame.Text("many", text, true); !errors.Is(err, blame.ErrNoLines) {
		t.Errorf("blame: %v", err)
	}
	if err := blame.Text("most", []byte(many), true); err != nil {
		t.Errorf("blame of as many as there may be: %v", err)
	}
}
