package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnEnvironmentThatDiffersIsNotServed(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	g.watch("--no-points")
	g.settled()
	before := g.served()
	usual := g.env
	for _, v := range []string{"REWIND_MAX_FILE_SIZE=1", "GIT_COMMITTER_NAME=x", "PATH=" + g.otherGit(), "REWIND_WATCH=false"} {
		g.env = append(usual[:len(usual):len(usual)], v)
		put(t, g.dir, "f0", v)
		if r := g.json("snapshot"); r["changed"] != 1.0 {
			t.Errorf("%s: %v", v, r)
		}
		out, _, _ := g.does("status")
		if name, _, _ := strings.Cut(v, "="); !strings.Contains(out, strings.Replace(name, "REWIND_WATCH", "rewind.watch", 1)) {
			t.Errorf("%s: %s", v, out)
		}
	}
	g.env = usual
	if n := g.served(); n != before {
		t.Errorf("%v were served", n-before)
	}
	if _, _, exit := g.does("--no-git", "snapshot"); exit != 0 || g.served() != before {
		t.Error("without git it is another snapshot")
	}
}

// otherGit is a PATH by which git is another program.
func (g *ground) otherGit() string {
	dir := g.t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		g.t.Fatal(err)
	}
	return dir + ":" + os.Getenv("PATH")
}

// TestAFilterIsFoundWhereTheCommandFindsIt needs a program that only the PATH of the
// command leads to.
func TestAFilterIsFoundWhereTheCommandFindsIt(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	for _, args := range [][]string{{"filter.upper.clean", "to-upper"}, {"filter.upper.required", "true"}} {
		if out, err := exec.Command("git", append([]string{"-C", g.dir, "config"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	put(t, g.dir, ".gitattributes", "*.up filter=upper\n")
	g.watch("--no-points")
	g.settled()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "to-upper"), []byte("#!/bin/sh\ntr a-z A-Z\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	g.env = append(g.env, "PATH="+dir+":"+os.Getenv("PATH"))
	put(t, g.dir, "a.up", "text\n")
	before := g.served()
	r := g.json("snapshot")
	if g.served() != before+1 || len(r["skipped"].([]any)) > 0 {
		t.Errorf("%v, served %v", r, g.served()-before)
	}
	out, err := exec.Command("git", "-C", g.dir, "show", r["id"].(string)+":a.up").CombinedOutput()
	if err != nil || string(out) != "TEXT\n" {
		t.Errorf("git has %q %v", out, err)
	}
}

func TestARepositoryInsideIsNotServed(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	g.watch("--no-points")
	g.settled()
	inner := filepath.Join(g.dir, "inner")
	if out, err := exec.Command("git", "init", "-q", inner).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	put(t, inner, "x", "x")
	if got := g.json("-C", "inner", "status")["root"]; got != inner {
		t.Errorf("root %v", got)
	}
	r := g.json("-C", "inner", "snapshot")
	if got := len(g.json("-C", "inner", "list", "--all")["snapshots"].([]any)); got != 1 {
		t.Errorf("%v: %d snapshots of the repository inside", r, got)
	}
}
