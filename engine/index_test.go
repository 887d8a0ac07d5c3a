package engine

import (
	"context"
	"crypto/sha1"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newerIndex puts an extension that a reader must understand into git's index,
// as only a newer git would.
func (p *place) newerIndex() {
	p.t.Helper()
	file := filepath.Join(p.dir, ".git", "index")
	data, err := os.ReadFile(file)
	p.must(err)
	data = append(data[:len(data)-sha1.Size], "zzzz\x00\x00\x00\x00"...)
	sum := sha1.Sum(data)
	p.must(os.WriteFile(file, append(data, sum[:]...), 0o644))
	if out, err := p.tryGit("status"); err == nil || !strings.Contains(out, "zzzz") {
		p.t.Fatalf("git reads it: %v, %s", err, out)
	}
}

func TestAnIndexThatNoGitHereReadsHindersNoSnapshotAndLosesNothing(t *testing.T) {
	p := newPlace(t, true)
	p.write(".gitignore", "*.o\n")
	p.write("plain", "one")
	p.write("tracked.o", "object")
	p.git("add", "-f", ".")
	p.git("commit", "-q", "-m", "m")
	ctx, e := context.Background(), p.open()
	whole := p.take(e)

	index := filepath.Join(p.dir, ".git", "index")
	good, err := os.ReadFile(index)
	p.must(err)
	p.newerIndex()
	p.write("plain", "two")
	r := p.take(e)
	if r.Bridge != nil || len(r.Skipped) != 1 || r.Skipped[0].Path != ".git" || !strings.Contains(r.Skipped[0].Reason, `extension "zzzz"`) {
		t.Errorf("%+v, %v", r.Skipped, r.Bridge)
	}
	if got := p.git("show", r.Tree.String()+":plain"); got != "two" {
		t.Errorf("recorded %q", got)
	}

	// There and back, with the index as it is and repaired: what the snapshot
	// without it could not know of is neither lost nor deleted.
	for _, repaired := range []bool{false, true} {
		if repaired {
			p.must(os.WriteFile(index, good, 0o644))
		}
		for _, to := range []*Recorded{whole, r} {
			if _, err := e.Do(ctx, Op{To: to.ID}); err != nil {
				t.Fatal(err)
			}
			want := map[bool]string{true: "one", false: "two"}[to == whole]
			if got := p.read("plain"); got != want || p.read("tracked.o") != "object" {
				t.Errorf("repaired %v: plain is %q, tracked.o %q", repaired, got, p.read("tracked.o"))
			}
		}
	}
	again := p.take(e)
	if len(again.Skipped) != 0 || p.git("show", again.Tree.String()+":tracked.o") != "object" {
		t.Errorf("repaired: %+v", again.Skipped)
	}
}

func TestABrokenIndexOfANestedRepositoryHindersNoSnapshot(t *testing.T) {
	for _, inGit := range []bool{true, false} {
		t.Run(fmt.Sprint("in git ", inGit), func(t *testing.T) {
			p := newPlace(t, inGit)
			p.write(".gitignore", "*.o\n")
			p.write("plain", "one")
			p.write("tracked.o", "object")
			if inGit {
				p.git("add", "-f", "plain", "tracked.o")
			}
			if out, err := p.tryGit("init", "-q", "inner/deep"); err != nil {
				t.Fatal(out)
			}
			p.write("inner/deep/file", "inside")
			p.write("inner/deep/.git/index", "no index")
			ctx, e := context.Background(), p.open()
			r := p.take(e)
			if len(r.Skipped) == 0 || !slices.ContainsFunc(r.Skipped, func(n Note) bool {
				return n.Path == "inner/deep/.git" && strings.Contains(n.Reason, "malformed index")
			}) {
				t.Errorf("skipped %+v", r.Skipped)
			}
			again := p.take(e)
			if again.ID != r.ID || !again.Reused {
				t.Errorf("%v after %v: %+v", again.ID, r.ID, again.Skipped)
			}
			if inGit { // its own index is not to blame
				if got := p.git("show", r.Tree.String()+":tracked.o"); got != "object" {
					t.Errorf("recorded %q", got)
				}
			}
			p.write("plain", "two")
			p.write("inner/deep/file", "changed")
			if _, err := e.Do(ctx, Op{To: r.ID}); err != nil {
				t.Fatal(err)
			}
			if p.read("plain") != "one" || p.read("inner/deep/file") != "inside" {
				t.Errorf("%q, %q", p.read("plain"), p.read("inner/deep/file"))
			}
		})
	}
}

func TestAnIndexThatIsNoFileHindersNoSnapshot(t *testing.T) {
	p := newPlace(t, true)
	p.write("plain", "one")
	p.git("add", ".")
	index := filepath.Join(p.dir, ".git", "index")
	p.must(os.Remove(index))
	p.must(os.Mkdir(index, 0o755)) // as what may not be read, also where root runs the test
	r := p.take(p.open())
	if len(r.Skipped) != 1 || r.Skipped[0].Path != ".git" || !strings.Contains(r.Skipped[0].Reason, "is a directory") {
		t.Errorf("%+v", r.Skipped)
	}
	if got := p.git("show", r.Tree.String()+":plain"); got != "one" {
		t.Errorf("recorded %q", got)
	}
}
