package worktree

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"
)

// A limit is a policy that leaves out what a directory holds if that is too
// much, and everything called "skip".
type limit int

func (l limit) Place(p string, isDir, ignored bool, size int64) (Place, string) {
	if path.Base(p) == "skip" {
		return Nowhere, "by name"
	}
	return Usual, ""
}

func (limit) Small() *Small { return nil }

func (l limit) Full(files int) string {
	if files < int(l) {
		return ""
	}
	return "full"
}

func (l limit) Digest() uint64 { return uint64(l) }

func upTo(n int) func(*Config) { return func(c *Config) { c.Policy = limit(n) } }

// fill writes n files into a directory.
func (p *place) fill(dir string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s/f%02d", dir, i))
		p.Write(names[i], "x")
	}
	return names
}

func TestAFullDirectoryIsNamedAndOnlyWhatTheIndexHasInItRecorded(t *testing.T) {
	p := newRepo(t)
	p.Write(".gitignore", "*.o\n")
	p.Write("mixed/tracked", "1")
	p.Write("mixed/deep/tracked", "1")
	p.Git("add", "-A")
	out := append(p.fill("mixed", 5), p.fill("new", 5)...)
	p.Write("mixed/deep/unknown", "2")
	p.Write("mixed/below/unknown", "3")
	p.Write("new/below/unknown", "4")
	p.fill("almost", 4)
	for i := range 6 { // what is ignored or left out by its name does not count
		p.Write(fmt.Sprintf("almost/%d.o", i), "5")
	}
	p.Write("almost/skip", "6")
	p.Write("almost/below/file", "7")
	for i := range 9 { // the root is not a directory that could be left out
		p.Write(fmt.Sprint("root", i), "8")
	}
	for i := range 6 {
		out = append(out, fmt.Sprintf("almost/%d.o", i))
	}
	out = append(out, "new", "mixed/deep/unknown", "mixed/below", "almost/skip")
	want := []Skip{{Path: "almost/skip", Reason: "by name"}, {Path: "mixed", Reason: "full"}, {Path: "new", Reason: "full"}}
	for range 2 {
		r := p.settled(upTo(5))
		p.checkDisk(r, out...)
		p.skips(r, want...)
	}
	p.Write("mixed/tracked", "changed")
	p.must(os.Remove(p.Path("new/f00")))
	r := p.settled(upTo(5))
	p.checkDisk(r, slices.DeleteFunc(out, func(f string) bool { return strings.HasPrefix(f, "new") })...)
	if len(r.Skipped) != 2 {
		t.Errorf("skipped %v after one file of new is gone", r.Skipped)
	}
	p.Git("add", "mixed/f00")
	p.checkDisk(p.settled(upTo(5)), "almost/0.o", "almost/1.o", "almost/2.o", "almost/3.o", "almost/4.o", "almost/5.o", "almost/skip")
}

func TestAnUnchangedFullDirectoryIsNotListedNorItsFilesLookedAt(t *testing.T) {
	p := newRepo(t)
	p.fill("new", 50)
	p.Write("file", "1")
	p.settled(upTo(20))
	p.now = time.Now().Add(time.Hour).UnixNano()
	p.scan(upTo(20))
	if r := p.scan(upTo(20)); r.Counters.Listed != 0 || r.Counters.Stats != 1 || len(r.Skipped) != 1 {
		t.Errorf("%+v, skipped %v", r.Counters, r.Skipped)
	}
}

func TestForcedFilesOfAFullDirectoryAreCaptured(t *testing.T) {
	p := newRepo(t)
	out := p.fill("new", 6)
	p.Write("new/below/a", "1")
	p.Write("new/below/b", "2")
	force := func(c *Config) { c.Policy, c.Force = limit(5), []string{"new/f03", "new/below/b"} }
	p.settled(upTo(5))
	p.checkDisk(p.scan(force), append(slices.Delete(out, 3, 4), "new/below/a")...)
	p.checkDisk(p.scan(upTo(5)), "new")
	p.checkDisk(p.scan(func(c *Config) { c.Policy, c.Force = limit(5), []string{"new"} }))
}

func TestARepositoryGoesByItsOwnIndexAndNotByAFullDirectoryAboveIt(t *testing.T) {
	p := newRepo(t)
	for _, sub := range []string{"full", "above/sub"} {
		p.Write(sub+"/known", "1")
		p.Try("-C", sub, "init", "-q", ".")
		p.Try("-C", sub, "add", "-A")
		p.Try("-C", sub, "commit", "-qm", "x")
		p.Git("add", sub)
	}
	out := append(p.fill("full", 5), p.fill("above", 5)...)
	p.Write("above/sub/unknown", "2")
	r := p.settled(upTo(5))
	p.checkDisk(r, out...)
	p.skips(r, Skip{Path: "above", Reason: "full"}, Skip{Path: "full", Reason: "full"})
}
