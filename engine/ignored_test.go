package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/seed"
)

// bothKinds runs a test in a repository and without git.
func bothKinds(t *testing.T, test func(t *testing.T, p *place)) {
	for _, git := range []bool{true, false} {
		t.Run(map[bool]string{true: "git", false: "no git"}[git], func(t *testing.T) { test(t, newPlace(t, git)) })
	}
}

func (p *place) remove(name string) {
	p.t.Helper()
	p.must(os.RemoveAll(filepath.Join(p.dir, name)))
}

// putBack restores, and wants no conflict.
func (p *place) putBack(e *Engine, s *Recorded, op Op) *Restored {
	p.t.Helper()
	op.To = s.ID
	r := p.do(e, op)
	if len(r.Conflicts) > 0 {
		p.t.Fatalf("conflicts %v", r.Conflicts)
	}
	return r
}

// wantThereAndBack takes a restore back, and does it again.
func (p *place) wantThereAndBack(e *Engine, before map[string]string) {
	p.t.Helper()
	after := p.picture()
	for _, turn := range []struct {
		what string
		verb string
		want map[string]string
	}{{"undo", Undo, before}, {"redo", Redo, after}, {"undo of the redo", Undo, before}} {
		r, err := e.Do(context.Background(), Op{Verb: turn.verb})
		if err != nil || len(r.Conflicts) > 0 {
			p.t.Fatalf("%s: %v %+v", turn.what, err, r)
		}
		p.wantPicture(turn.what, turn.want)
	}
}

func keptPaths(r *Restored) (paths []string) {
	for _, k := range r.Kept {
		paths = append(paths, string(k.Path))
	}
	slices.Sort(paths)
	return paths
}

// An ignored file that was made since is nobody's to delete, whatever the rules
// of the snapshot said.
func TestNoRestoreDeletesAnIgnoredFile(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.write("d/f", "1")
		e := p.open()
		s := p.snap(e, "one", nil)
		p.write(".gitignore", "*.log\n")
		p.write("a.log", "1")
		p.write("d/b.log", "1")
		p.write("new/c.log", "1")
		p.snap(e, "two", nil)
		before := p.picture()
		for _, ignored := range []bool{false, true} {
			r := p.putBack(e, s, Op{Ignored: ignored})
			for _, name := range []string{"a.log", "d/b.log", "new/c.log"} {
				if !p.exists(name) {
					t.Errorf("%s was deleted", name)
				}
			}
			if p.exists(".gitignore") || slices.ContainsFunc(r.Kept, func(n Note) bool { return strings.HasSuffix(string(n.Path), ".log") }) {
				t.Errorf("kept %v", r.Kept)
			}
			p.undo(e)
			p.wantPicture("undo", before)
		}
	})
}

// What is told of a restore or a revert beforehand is what it then does.
func TestAPlanNamesNoDirectoryInWhichAnIgnoredFileStays(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.write(".gitignore", "*.log\nout/\n")
		e := p.open()
		one := p.snap(e, "one", nil)
		p.write("small/deep/a.log", "1")
		p.write("large/a.log", strings.Repeat("1", 1<<20+1))
		p.write("whole/deep/out/f", "1")
		for _, dir := range []string{"small", "large", "whole", "goes"} {
			p.write(dir+"/f", "1")
		}
		two := p.snap(e, "one", nil)
		want := []string{"goes", "goes/f", "large/f", "small/f", "whole/f"}
		for _, op := range []Op{{To: one.ID}, {Verb: "revert", Ranges: []Range{{From: two.ID, To: one.ID}}}} {
			var told []string
			for _, c := range p.plan(e, op).Changes {
				told = append(told, string(c.Path))
			}
			if r := p.do(e, op); !slices.Equal(told, want) || r.Deleted != len(want) || !slices.Contains(keptPaths(r), "large") || !slices.Contains(keptPaths(r), "whole/deep") {
				t.Errorf("%s: told %q, want %q; %d were deleted, kept %v", op.Verb, told, want, r.Deleted, r.Kept)
			}
			p.undo(e)
		}
	})
}

// Rules such as ".*" ignore the files that they stand in. A scan records those all the
// same: a directory that was renamed and came back must not stay under both names.
func TestAFileOfRulesThatIsIgnoredGoesLikeAnyOther(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.write(".gitignore", ".*\nout/\n")
		p.write("d/.gitignore", "*.o\n")
		p.write("d/f", "1")
		e := p.open()
		s := p.snap(e, "one", nil)
		p.remove("d")
		p.write("d2/.gitignore", "*.o\n")
		p.write("d2/f", "1")
		p.write("out/.gitignore", "nobody records it") // for what lies above it is ignored
		p.snap(e, "two", nil)
		before := p.picture()
		r := p.putBack(e, s, Op{})
		if p.exists("d2") || !p.exists("d/.gitignore") || !p.exists("out/.gitignore") || len(r.Kept) > 0 {
			t.Errorf("kept %v; d2 is there: %v", r.Kept, p.exists("d2"))
		}
		p.undo(e)
		p.wantPicture("undo", before)
	})
}

// A program that makes an environment writes rules into it that ignore all of it, and
// themselves.
func TestARestoreThatIsSaidTwiceDeletesNoIgnoredFile(t *testing.T) {
	for _, rules := range []string{"", ".*\n"} {
		bothKinds(t, func(t *testing.T, p *place) {
			p.write(".gitignore", rules)
			p.write("old/f", "1")
			e := p.open()
			s := p.snap(e, "one", nil)
			for _, dir := range []string{"env", "old/env", "large", "old", "goes"} {
				p.write(dir+"/.gitignore", "*\n")
			}
			p.write("env/made", "1")
			p.write("old/env/lib/deep/made", "1")
			p.write("large/made", strings.Repeat("1", 1<<20+1))
			p.snap(e, "two", nil)
			want := p.picture()
			want["file"] = strings.Replace(want["file"], "two", "one", 1)
			delete(want, "goes")
			delete(want, "goes/.gitignore")
			for range 2 {
				r := p.putBack(e, s, Op{})
				p.wantPicture("restore", want)
				if got := keptPaths(r); !slices.Equal(got, []string{"env/.gitignore", "large/.gitignore", "old/.gitignore"}) {
					t.Errorf("kept %v", r.Kept)
				}
			}
		})
	}
}

func TestRulesThatIgnoreOnlyWhatTheSnapshotHasGo(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.write("d/f", "1")
		p.must(os.MkdirAll(filepath.Join(p.dir, "e/empty"), 0o755))
		e := p.open()
		s := p.snap(e, "one", nil)
		then := p.picture()
		p.write(".gitignore", "*\n")
		p.write("d/f", "2")
		before := p.picture()
		p.putBack(e, s, Op{})
		p.wantPicture("restore", then)
		p.wantThereAndBack(e, before)
	})
}

func TestUndoLeavesAnIgnoredFileThatWasEditedSince(t *testing.T) {
	p := newPlace(t, true)
	p.write(".gitignore", ".env\n")
	p.write(".env", "then")
	e := p.open()
	s := p.snap(e, "one", nil)
	p.remove(".env")
	p.putBack(e, s, Op{})
	p.write(".env", "edited since")
	r := p.do(e, Op{Verb: Undo})
	if p.read(".env") != "edited since" || !slices.Equal(keptPaths(r), []string{".env"}) {
		t.Errorf("%q, kept %v", p.read(".env"), r.Kept)
	}
}

func TestTheSettingSaysWhichIgnoredFilesAreRecorded(t *testing.T) {
	for _, c := range []struct {
		value    string
		recorded []string
	}{{"none", nil}, {"small", []string{"a.x"}}, {"all", []string{"a.x", "large.x", "out/deep/b"}}} {
		bothKinds(t, func(t *testing.T, p *place) {
			p.env["REWIND_IGNORED"] = c.value
			p.write(".gitignore", "*.x\nout/\n")
			all := []string{"a.x", "large.x", "out/deep/b"}
			p.write("a.x", "1")
			p.write("large.x", strings.Repeat("1", 1<<20+1))
			p.write("out/deep/b", "1")
			e := p.open()
			s := p.snap(e, "one", nil)
			for _, name := range []string{"a.x", "large.x", "out"} {
				p.remove(name)
			}
			p.putBack(e, s, Op{})
			for _, name := range all {
				if p.exists(name) != slices.Contains(c.recorded, name) {
					t.Errorf("%s: %s is back: %v", c.value, name, p.exists(name))
				}
			}
			if st, err := e.Status(context.Background()); err != nil || st.Ignored != c.value {
				t.Errorf("%v, status says %q", err, st.Ignored)
			}
		})
	}
}

func TestWhatIsMissingAndWasNotRecordedIsNamedAsIgnored(t *testing.T) {
	p := newPlace(t, false)
	p.write(".gitignore", "out/\n")
	p.write("out/x", "1")
	e := p.open()
	s := p.snap(e, "one", nil)
	p.remove("out")
	_, err := e.Do(context.Background(), Op{To: s.ID, Paths: []string{"out/x"}})
	if !errors.Is(err, ErrNoSnapshot) || !strings.Contains(err.Error(), `"out/x" (ignored by the rules of the snapshot, and not recorded)`) {
		t.Errorf("%v", err)
	}
}

// TestRandomIgnoredFilesAreLostByNoRestore writes and removes files, ignored and
// not, small and large, few and many, so that the limits are met and left again, and
// changes the rules. What a restore has to leave follows from two pictures, the rules of
// then and of now, and the name of a file.
func TestRandomIgnoredFilesAreLostByNoRestore(t *testing.T) {
	t.Parallel()
	from := seed.Of(t)
	for i := range uint64(seed.Times(1)) {
		bothKinds(t, func(t *testing.T, p *place) {
			m := &ignoredModel{place: p, rng: rand.New(rand.NewPCG(from, i)), e: p.open()}
			p.write(".gitignore", ruleSets[0])
			for range 16 {
				m.turn()
			}
			if m.e.repo != nil {
				if all := m.git("rev-list", "--objects", "--all"); strings.Contains(all, ".k") || strings.Contains(all, "out/") {
					t.Errorf("git has a file that was always ignored: %s", all)
				}
			}
		})
	}
}

// ruleSets are what stands in .gitignore: in all of them *.k and out/ are ignored.
var ruleSets = []string{"*.k\nout/\n*.i\n", "*.k\nout/\n", "*.k\nout/\n*.i\nf\n"}

// An ignoredModel knows of each snapshot what was on disk then.
type ignoredModel struct {
	*place
	rng  *rand.Rand
	e    *Engine
	then []ignoredThen
}

type ignoredThen struct {
	*Recorded
	picture map[string]string
}

func (m *ignoredModel) turn() {
	for range m.rng.IntN(7) {
		m.edit()
	}
	if len(m.then) == 0 || m.rng.IntN(2) == 0 {
		m.then = append(m.then, ignoredThen{m.snap(m.e, fmt.Sprint(len(m.then)), nil), m.picture()})
		return
	}
	to, ignored := m.then[m.rng.IntN(len(m.then))], m.rng.IntN(3) == 0
	before := m.picture()
	held := m.held(to)
	r, err := m.e.Do(context.Background(), Op{To: to.ID, Ignored: ignored})
	m.must(err)
	if len(r.Conflicts) > 0 {
		m.t.Fatalf("conflicts %v", r.Conflicts)
	}
	if got := m.picture(); !maps.Equal(files(got), m.want(files(before), held, to.rules(), ignored)) {
		m.t.Fatalf("ignored too: %v\nbefore %v\nsnapshot %v\nafter %v\nkept %v", ignored, shown(before), shown(held), shown(got), r.Kept)
	}
	if r.Undo.IsZero() {
		return
	}
	m.wantThereAndBack(m.e, before)
}

// edit writes or removes one of a few files, or fills a directory.
func (m *ignoredModel) edit() {
	if m.rng.IntN(6) == 0 {
		m.write(".gitignore", ruleSets[m.rng.IntN(len(ruleSets))])
		return
	}
	dir := []string{"", "d/", "d/", "out/"}[m.rng.IntN(4)]
	name := dir + []string{"f", "a.i", "b.k"}[m.rng.IntN(3)]
	switch m.rng.IntN(16) {
	case 0, 1, 2:
		m.remove(name)
	case 3:
		m.write(name, strings.Repeat("l", 1<<20+1+m.rng.IntN(3)))
	case 4:
		for i := range 33 {
			m.write(fmt.Sprintf("%s%d.i", dir, i), "one of many")
		}
	case 5:
		for i := range 33 {
			m.remove(fmt.Sprintf("%s%d.i", dir, i))
		}
	default:
		m.write(name, fmt.Sprint(m.rng.IntN(4)))
	}
}

// held is what a snapshot has of what was there when it was taken.
func (m *ignoredModel) held(s ignoredThen) map[string]string {
	out := map[string]string{}
	for name, what := range files(s.picture) {
		err := m.e.Cat(context.Background(), s.Snapshot, name, &strings.Builder{})
		switch {
		case err == nil:
			out[name] = what
		case !errors.Is(err, ErrNoSnapshot):
			m.t.Fatal(err)
		case !ignoredBy(s.rules(), name):
			m.t.Fatalf("%s is not in the snapshot", name)
		}
	}
	return out
}

// want is what a restore has to leave: nothing that the rules of then or of now ignore is
// deleted, and what those of then ignored is not overwritten either unless that is asked for.
func (m *ignoredModel) want(before, held map[string]string, then string, ignored bool) map[string]string {
	out := maps.Clone(held)
	now := rulesOf(before)
	for name, what := range before {
		_, has := held[name]
		if !has && (ignoredBy(then, name) || ignoredBy(now, name)) || has && ignoredBy(then, name) && !ignored {
			out[name] = what
		}
	}
	return out
}

func (s ignoredThen) rules() string { return rulesOf(s.picture) }

// rulesOf are the rules that a picture has.
func rulesOf(picture map[string]string) string {
	_, rules, _ := strings.Cut(picture[".gitignore"], " ")
	return rules
}

// ignoredBy reports whether a rule set means a name.
func ignoredBy(rules, name string) bool {
	return strings.HasPrefix(name, "out/") || strings.Contains(rules, "*"+path.Ext(name)+"\n") || strings.Contains(rules, "\n"+path.Base(name)+"\n")
}

// files leaves out directories.
func files(picture map[string]string) map[string]string {
	out := maps.Clone(picture)
	maps.DeleteFunc(out, func(_, what string) bool { return strings.HasPrefix(what, "d") })
	return out
}

func shown(picture map[string]string) map[string]string {
	out := map[string]string{}
	for name, what := range picture {
		out[name] = what[:min(len(what), 20)]
	}
	return out
}
