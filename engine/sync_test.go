package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
)

func TestASnapshotKeepsWhatSomebodyElsePutIntoTheRef(t *testing.T) {
	p := newPlace(t, true)
	p.snap(p.open(), "one", nil)
	other := p.git("commit-tree", p.git("write-tree"), "-m", "no link of our chain")
	p.git("update-ref", gitbridge.StoreRef, other)
	two := p.snap(p.open(), "two", nil)
	kept := strings.Fields(p.git("rev-list", gitbridge.StoreRef))
	for _, want := range []string{other, two.ID.String()} {
		if !slices.Contains(kept, want) {
			t.Errorf("the ref keeps %v, but not %v", kept, want)
		}
	}
}

func TestSyncPutsBackWhatGitLost(t *testing.T) {
	t.Parallel()
	losses := map[string]func(p *place){
		"the ref, and a collection": func(p *place) {
			p.git("update-ref", "-d", gitbridge.StoreRef)
			p.git("gc", "-q", "--prune=now")
		},
		"the ref's text": func(p *place) { p.write(".git/"+gitbridge.StoreRef, "") },
		"the ref, which names a tree": func(p *place) {
			p.write(".git/"+gitbridge.StoreRef, p.git("hash-object", "-w", "-t", "tree", "/dev/null")+"\n")
		},
		"the ref, which names nothing": func(p *place) { p.write(".git/"+gitbridge.StoreRef, strings.Repeat("12", 20)+"\n") },
		"loose objects": func(p *place) {
			for _, dir := range []string{"0", "1", "2", "3", "4", "5", "6", "7"} {
				found, err := filepath.Glob(filepath.Join(p.dir, ".git", "objects", dir+"?", "*"))
				p.must(err)
				for _, path := range found {
					p.must(os.Remove(path))
				}
			}
		},
		"all objects":              func(p *place) { p.must(os.RemoveAll(filepath.Join(p.dir, ".git", "objects", "pack"))); removeLoose(p) },
		"a bit of each object":     func(p *place) { damageLoose(p, func(data, _ []byte) []byte { data[len(data)/2] ^= 4; return data }) },
		"half of each object":      func(p *place) { damageLoose(p, func(data, _ []byte) []byte { return data[:len(data)/2] }) },
		"the bytes of each object": func(p *place) { damageLoose(p, func([]byte, []byte) []byte { return nil }) },
		"which object is which":    func(p *place) { damageLoose(p, func(_, other []byte) []byte { return other }) },
	}
	for name, lose := range losses {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, true)
			e := p.open()
			var want []oid.ID
			for _, text := range []string{"one", "two", "three", "four", "five", "six"} {
				p.write("d/"+text, text)
				want = append(want, p.snap(e, text, nil).ID)
			}
			lose(p)
			e = p.open()
			p.sync(e)
			p.sync(e) // nothing is left to do
			got := p.inRef(e)
			if len(got) != len(want) || slices.ContainsFunc(want, func(id oid.ID) bool { return !has(got, id) }) {
				t.Errorf("the ref keeps %v, want %v", got, want)
			}
			p.wantClean(e)
			p.git("gc", "-q", "--prune=now")
			p.wantClean(e)
		})
	}
}

// damageLoose does something to each object that has a file of its own, but for one.
func damageLoose(p *place, damage func(data, other []byte) []byte) {
	files, err := filepath.Glob(filepath.Join(p.dir, ".git", "objects", "??", "*"))
	p.must(err)
	other, err := os.ReadFile(files[0])
	p.must(err)
	for _, path := range files[1:] {
		data, err := os.ReadFile(path)
		p.must(err)
		p.must(errors.Join(os.Remove(path), os.WriteFile(path, damage(data, slices.Clone(other)), 0o444)))
	}
}

func removeLoose(p *place) {
	found, err := filepath.Glob(filepath.Join(p.dir, ".git", "objects", "??"))
	p.must(err)
	for _, dir := range found {
		p.must(os.RemoveAll(dir))
	}
}

func TestABrokenHeadDoesNotBlockSnapshots(t *testing.T) {
	p := newPlace(t, true)
	e := p.open()
	p.snap(e, "one", nil)
	p.write(".git/refs/heads/main", "garbage\n")
	two := p.snap(p.open(), "two", nil)
	p.write(".git/refs/heads/main", strings.Repeat("ab", 20)+"\n")
	three := p.snap(p.open(), "three", nil)
	if got := p.inRef(e); !has(got, two.ID) || !has(got, three.ID) {
		t.Errorf("the ref keeps %v", got)
	}
}

func TestARepositoryThatOnlyGitKnowsLeavesSnapshotsPending(t *testing.T) {
	p := newPlace(t, true)
	p.snap(p.open(), "one", nil)
	config := p.read(".git/config")
	p.write(".git/config", strings.Replace(config, "repositoryformatversion = 0", "repositoryformatversion = 1", 1)+"[extensions]\n\tfutureThing = true\n")
	p.write("file", "two")
	r := p.take(p.open())
	if !errors.Is(r.Bridge, gitbridge.ErrUnsupportedRepository) || !strings.Contains(strings.ToLower(r.Bridge.Error()), "futurething") {
		t.Errorf("%v does not name the extension", r.Bridge)
	}
	p.write("file", "three")
	if _, err := p.open().Do(context.Background(), Op{To: r.ID}); err != nil || p.read("file") != "two" {
		t.Errorf("%v, %q", err, p.read("file"))
	}
	p.write(".git/config", config)
	e := p.open()
	p.sync(e)
	if len(p.inRef(e)) != 3 {
		t.Errorf("%d snapshots in the ref, want 3", len(p.inRef(e)))
	}
	p.wantClean(e)
}

// TestRefsThatAreElsewhereLeaveSnapshotsPending: in an environment whose git
// commands keep refs elsewhere, ours would keep nothing from a gc. The store
// keeps all of it, what was only in git's index too.
func TestRefsThatAreElsewhereLeaveSnapshotsPending(t *testing.T) {
	p := newPlace(t, true)
	p.write("indexed", "in git's index alone")
	p.git("add", "indexed")
	p.env["GIT_REFERENCE_BACKEND"] = "files://" + t.TempDir()
	p.write("file", "one")
	r := p.take(p.open())
	if !errors.Is(r.Bridge, gitbridge.ErrUnsupportedRepository) || !strings.Contains(r.Bridge.Error(), "GIT_REFERENCE_BACKEND") {
		t.Errorf("%v does not name the variable", r.Bridge)
	}
	p.must(os.Remove(filepath.Join(p.dir, "indexed")))
	p.git("rm", "-q", "--cached", "indexed")
	p.git("gc", "-q", "--prune=now")
	if _, err := p.open().Do(context.Background(), Op{To: r.ID}); err != nil || p.read("indexed") != "in git's index alone" {
		t.Errorf("%v, %q", err, p.read("indexed"))
	}
	delete(p.env, "GIT_REFERENCE_BACKEND")
	e := p.open()
	p.sync(e)
	if got := p.inRef(e); !has(got, r.ID) {
		t.Errorf("the ref keeps %v", got)
	}
	p.wantClean(e)
}

func TestObjectsThatGitWasAboutToPruneAreFreshened(t *testing.T) {
	// The content is in git, unreferenced and old; the next gc would take it.
	p := newPlace(t, true)
	p.write("file", "old")
	blob := p.git("hash-object", "-w", "file")
	path := filepath.Join(p.dir, ".git", "objects", blob[:2], blob[2:])
	old := time.Now().Add(-1000 * time.Hour)
	p.must(os.Chtimes(path, old, old))
	e := p.open()
	p.snap(e, "old", nil)
	info, err := os.Stat(path)
	p.must(err)
	if time.Since(info.ModTime()) > time.Hour {
		t.Errorf("the object is still as old as %v", info.ModTime())
	}
	p.wantClean(e)
}

func TestALinkedWorktreeHasAStatTable(t *testing.T) {
	p := newPlace(t, true)
	p.write("file", "1")
	p.git("add", "-A")
	p.git("commit", "-qm", "1")
	linked := filepath.Join(filepath.Dir(p.dir), "linked")
	p.git("worktree", "add", "-q", linked)
	e := p.openAt(linked)
	p.snap(e, "2", nil)
	if stattable.Load(filepath.Join(e.ownDir, statTableFile)).Len() == 0 {
		t.Error("the first snapshot left no rows: every one is a first one")
	}
}

func TestAChainThatKeepsASnapshotTwiceGivesItOneRecord(t *testing.T) {
	p := newPlace(t, true)
	one := p.snap(p.open(), "one", nil)
	empty := p.git("hash-object", "-w", "-t", "tree", "/dev/null")
	p.git("update-ref", gitbridge.StoreRef, p.git("commit-tree", empty, "-p", gitbridge.StoreRef, "-p", one.ID.String(), "-m", "pi rewind store"))
	p.must(os.RemoveAll(filepath.Join(p.dir, ".git", "rewind")))
	e := p.open()
	two := p.snap(e, "two", nil)
	if got := p.records(e); !slices.Equal(got, []oid.ID{two.ID, one.ID}) {
		t.Errorf("the store has records of %v", got)
	}
}
