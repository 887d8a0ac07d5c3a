package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/seed"
)

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
