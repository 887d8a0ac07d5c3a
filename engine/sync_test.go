package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
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
			if strings.Contains(name, " of each object") || strings.HasPrefix(name, "which ") {
				p.needsBirth()
			}
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
	table := stattable.Load(filepath.Join(e.ownDir, statTableFile))
	defer table.Close()
	if table.Len() == 0 {
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

func TestSyncNamesADamagedCopyInAPack(t *testing.T) {
	p := newPlace(t, true)
	e := p.open()
	for i := range 200 {
		p.write(fmt.Sprint("d/", i), fmt.Sprint(rand.Uint64()))
	}
	p.snap(e, "one", nil)
	pack, err := filepath.Glob(filepath.Join(p.dir, ".git", "objects", "pack", "*.pack"))
	if err != nil || len(pack) != 1 {
		t.Fatal(pack, err)
	}
	data, err := os.ReadFile(pack[0])
	p.must(err)
	data[len(data)/2] ^= 0xff // a single bit may be one that the deflated stream only pads with
	p.must(os.Remove(pack[0]))
	p.must(os.WriteFile(pack[0], data, 0o444))
	e = p.open()
	if _, err := e.Sync(context.Background()); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v, want ErrDamaged", err)
	}
	p.write("d/0", "next")
	if r := p.take(p.open()); r.Bridge != nil {
		t.Error(r.Bridge)
	}
	if v, err := e.Verify(context.Background()); err != nil || len(v.Damaged) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestADamagedHeaderTakesNoSnapshotAway flips a bit where bbolt says which
// transaction was the last, and asks for the snapshot that it recorded.
func TestADamagedHeaderTakesNoSnapshotAway(t *testing.T) {
	p := newPlace(t, true)
	e := p.open()
	p.snap(e, "one", nil)
	last := p.snap(e, "two", nil)
	path := filepath.Join(e.dir, storeFile)
	file, err := os.ReadFile(path)
	p.must(err)
	const page, transaction = 4096, 16 + 48
	at := transaction
	if binary.NativeEndian.Uint64(file[page+transaction:]) > binary.NativeEndian.Uint64(file[transaction:]) {
		at += page
	}
	file[at+7] ^= 0x20
	p.must(os.WriteFile(path, file, 0o600))
	fresh := p.open()
	if !slices.Contains(fresh.Warnings(), mended) {
		t.Errorf("it is not said: %q", fresh.Warnings())
	}
	list := p.list(fresh, nil)
	if len(list) != 2 || list[0].ID != last.ID {
		t.Errorf("%d snapshots are listed", len(list))
	}
	if again := p.open(); len(again.Warnings()) != 0 {
		t.Errorf("it is said again: %q", again.Warnings())
	}
	p.wantClean(fresh)
}

// TestWhatASnapshotMayHaveHadInALostStoreStays records a file that is in the store
// alone, and loses the store. Then nobody knows whether the snapshot had the file.
func TestWhatASnapshotMayHaveHadInALostStoreStays(t *testing.T) {
	p := newPlace(t, true)
	p.git("config", "rewind.gitMaxFileSize", "1k")
	p.write("large", noise(1, 4<<10))
	one := p.snap(p.open(), "one", nil)
	p.write("large", "small now")
	p.snap(p.open(), "two", nil)
	p.sync(p.open())
	p.must(os.RemoveAll(filepath.Join(p.dir, ".git", "rewind")))
	r := p.do(p.open(), Op{To: one.ID})
	if p.read("file") != "one" || p.read("large") != "small now" || r.Deleted != 0 {
		t.Errorf("file %q, large %q, %+v", p.read("file"), p.read("large"), r)
	}
	if len(r.Kept) < 2 || r.Kept[0].Path != "large" && r.Kept[1].Path != "large" {
		t.Errorf("what stays is not named: %+v", r.Kept)
	}
}
