//go:build linux

package fuzz

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/fuzz/internal/script"
)

// TestFacts walks through the scenarios of testdata/facts: what rewind makes of states
// that a seed of TestDifferential once led to, or that somebody thought of. git is asked
// at each step that takes a snapshot.
func TestFacts(t *testing.T) {
	needGit(t)
	files, err := filepath.Glob("testdata/facts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no facts: %v", err)
	}
	known := map[string]string{"LONG": strings.Repeat("long", 64) + "1", "COMMIT": strings.Repeat("12", 20)}
	for _, file := range files {
		all := script.Read(t, file, known)
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			for _, f := range all {
				t.Run(f.Name, func(t *testing.T) {
					t.Parallel() // they wait for git and the clock
					needs(t, f.Needs)
					for _, s := range f.Scenarios {
						t.Run(s.Name, func(t *testing.T) { t.Parallel(); play(t, s) })
					}
				})
			}
		})
	}
}

// A player carries out a scenario in a world.
type player struct {
	*world
	s        *script.Scenario
	last     *engine.Recorded // the last snapshot
	kept     map[string]taken
	pictures map[string]picture
	mines    map[string]map[string]string
	restored *engine.Restored // by the last restore, undo or redo
	moment   time.Time        // that index-time and sleep-until go by
}

// A doing is what a step does.
type doing func(p *player, args []string)

func play(t *testing.T, s *script.Scenario) {
	p := &player{s: s, kept: map[string]taken{}, pictures: map[string]picture{}, mines: map[string]map[string]string{}}
	known := maps.Clone(doings)
	maps.Copy(known, holdings)
	s.Run(func(words []string, block func()) string {
		if p.world == nil {
			p.begin(t, words)
		}
		places := strings.NewReplacer("{GIT}", p.gitDir, "{DIRECTORY}", p.dir)
		for i := range words {
			words[i] = places.Replace(words[i])
		}
		p.note("%s: %.80q", s.At(), words)
		verb, args := words[0], words[1:]
		switch give := givings[verb]; {
		case give != nil:
			return give(p, args)
		case verb == "closed":
			p.closed(mode(args[0]), args[1], block)
		case known[verb] != nil:
			known[verb](p, args)
		default:
			t.Fatalf("%s: there is no step %q", s.At(), verb)
		}
		return ""
	})
}

// begin makes the world: a plain one, unless the first step says what kind.
func (p *player) begin(t *testing.T, words []string) {
	k := kind{}
	for _, what := range words[1:] {
		if words[0] != "world" {
			break
		}
		k.Filters = k.Filters || what == "Filters"
		k.Case = k.Case || what == "Case"
		k.Twins = k.Twins || what == "Twins"
		k.Sparse = k.Sparse || what == "Sparse"
		if layout, ok := strings.CutPrefix(what, "Layout="); ok {
			k.Layout = layout
		}
	}
	p.world = plain(t, k)
	if slices.Contains(words, "open") && words[0] == "world" {
		for p.seed = 0; !p.kind.Open && p.seed < 20; p.seed++ {
			p.beOpen()
		}
		if !p.kind.Open {
			t.Skip("NOT TESTED: what others may not read, for the temporary directory is closed to them")
		}
	}
}

// newest is the snapshot that was taken last and compared with the disk.
func (p *player) newest() taken { return p.taken[len(p.taken)-1] }

// tree is git's tree of the last snapshot.
func (p *player) tree() string { return p.last.Tree.String() }

// record takes a snapshot, and holds it to what git says.
func (p *player) record() {
	p.t.Helper()
	p.last = p.world.record()
}

// keep does so, holds it to what is on disk, and keeps it for a restore.
func (p *player) keep() {
	p.t.Helper()
	p.record()
	p.examine(p.long, p.last.Snapshot)
}

// closed carries out steps while nobody may read a path.
func (p *player) closed(mode os.FileMode, path string, block func()) {
	p.hidden = p.path(path)
	st, err := os.Lstat(p.hidden)
	p.must(err)
	p.must(os.Chmod(p.hidden, mode))
	block()
	p.must(os.Chmod(p.hidden, st.Mode().Perm()))
	p.hidden = ""
}

// travelTo restores one of some snapshots, and takes that back.
func (p *player) travelTo(names []string) {
	p.t.Helper()
	if len(names) > 0 {
		p.taken = nil
	}
	for _, name := range names {
		p.taken = append(p.taken, p.kept[name])
	}
	p.travel()
}
