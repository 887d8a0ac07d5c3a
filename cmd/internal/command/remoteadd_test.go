package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
)

func TestARemoteThatIsAddedSaysHowManySnapshotsWait(t *testing.T) {
	g := newGround(t)
	for i := range 2 {
		if err := os.WriteFile(filepath.Join(g.dir, "f"), fmt.Append(nil, i), 0o644); err != nil {
			t.Fatal(err)
		}
		g.json("snapshot")
	}
	told := func(want string, args ...string) {
		t.Helper()
		m := g.json(args...)
		list, _ := m["remotes"].([]any)
		if len(list) != 1 {
			t.Fatalf("%v: %v", args, m)
		}
		one := list[0].(map[string]any)
		if got := fmt.Sprint(one["there"], " there, ", one["waiting"], " wait"); got != want {
			t.Errorf("%v: %s, and should be %s", args, got, want)
		}
	}
	told("0 there, 2 wait", "remote", "add", "disk", filepath.Join(t.TempDir(), "repo"))
	g.json("push")
	told("2 there, 0 wait", "remote", "remove", "disk")
}

// Of what was misspelt nothing is made, and the answer says what to do.
func TestWhatIsNoPlaceForARepositoryIsRefused(t *testing.T) {
	g := newGround(t)
	g.json("snapshot")
	other := t.TempDir()
	put(t, other, "mine", "")
	gittest.Lead(t, g.dir, filepath.Join(other, "link"))
	before := g.json("status")["store_bytes"]
	for url, want := range map[string]string{
		"":                                 "names no place",
		"nosuchorigin":                     `no directory "nosuchorigin"`,
		"s3.example.com/bucket":            "lies in the worktree",
		g.dir:                              "lies in the worktree",
		filepath.Join(other, "link", "x"):  "lies in the worktree",
		other:                              `has other files`,
		filepath.Join(other, "no", "disk"): "is its disk mounted?",
		filepath.Join(g.dir, ".git"):       "lies in the worktree",
	} {
		if _, errs, exit := g.does("remote", "add", "x", url); exit == 0 || !strings.Contains(errs, want) {
			t.Errorf("%q: exit %d, %s", url, exit, errs)
		}
	}
	for _, dir := range []string{g.dir, other} {
		for _, made := range []string{"config", "keys", "nosuchorigin", "s3.example.com", "x", "no"} {
			if _, err := os.Lstat(filepath.Join(dir, made)); err == nil {
				t.Errorf("%s was made", filepath.Join(dir, made))
			}
		}
	}
	if now := g.json("status")["store_bytes"]; now != before {
		t.Errorf("the store has %v, before %v", now, before)
	}
}

// Each of them would be recorded, or would go with what it lies in. A link on the way there hides nothing.
func TestARemoteIsNotAddedWhereItWouldBeRecordedOrLost(t *testing.T) {
	g, top := newGround(t), t.TempDir()
	g.json("snapshot")
	linked, work := filepath.Join(top, "linked"), filepath.Join(top, "parent", "work")
	must(t, exec.Command("git", "worktree", "add", "-q", linked), g.dir, g.env)
	if err := errors.Join(os.MkdirAll(filepath.Join(g.dir, "sub"), 0o755), os.MkdirAll(work, 0o755), os.WriteFile(filepath.Join(work, "f"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	gittest.Lead(t, filepath.Join(g.dir, "sub"), filepath.Join(top, "link"))
	in := func(dir string) *ground {
		o := *g
		o.dir = dir
		return &o
	}
	in(linked).json("snapshot")
	in(work).json("snapshot")
	state := filepath.Join(homeOf(g.env), "state", "rewind")
	folders, err := filepath.Glob(filepath.Join(state, "work-*"))
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	for _, one := range []struct{ from, url, want string }{
		{g.dir, filepath.Join(top, "link", "history"), "lies in the worktree, so that"},
		{g.dir, filepath.Join(top, "link"), "lies in the worktree, so that"},
		{g.dir, filepath.Join(linked, "history"), "lies in another worktree of this history, "},
		{linked, filepath.Join(g.dir, ".git", "mine"), "lies in the directory in which the store is"},
		{g.dir, filepath.Join(state, "mine"), "lies in the directory of rewind's stores"},
		{work, filepath.Join(folders[0], "remotes", "mine"), "lies in the directory in which the store is"},
		{work, filepath.Dir(work), "has the worktree in it"},
	} {
		if _, errs, exit := in(one.from).does("remote", "add", "x", one.url); exit != 2 || !strings.Contains(errs, one.want) {
			t.Errorf("%s from %s: exit %d, %s", one.url, one.from, exit, errs)
		}
	}
}

// A home directory may have nothing else, and is no place for a repository; a disk is.
func TestNamesThatBeginWithADotAreOtherFilesButWhereASystemMakesThem(t *testing.T) {
	g, home, disk := newGround(t), t.TempDir(), t.TempDir()
	g.json("snapshot")
	put(t, home, ".bashrc", "")
	for _, name := range []string{".Trash-1000", ".Trashes", ".fseventsd", "lost+found", "System Volume Information"} {
		if err := os.Mkdir(filepath.Join(disk, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, errs, exit := g.does("remote", "add", "home", home); exit != 2 || !strings.Contains(errs, `has other files, such as ".bashrc"`) {
		t.Errorf("exit %d, %s", exit, errs)
	}
	if out, errs, exit := g.does("remote", "add", "disk", disk); exit != 0 {
		t.Errorf("exit %d, %s%s", exit, out, errs)
	}
	if _, errs, exit := g.does("remote", "add", "again", disk); exit != 0 { // a repository by now, whatever lies beside it
		t.Errorf("exit %d, %s", exit, errs)
	}
}

func TestWhoNamesNoRemoteIsToldWhichThereAre(t *testing.T) {
	g := newGround(t)
	g.json("snapshot")
	says := func(want string, args ...string) {
		t.Helper()
		out, errs, _ := g.does(args...)
		if !strings.Contains(out+errs, want) {
			t.Errorf("%v says %q, without %q", args, out+errs, want)
		}
	}
	repo := filepath.Join(t.TempDir(), "repo")
	says(`"rewind remote add NAME URL" adds one`, "push")
	g.json("remote", "add", "disk", repo)
	says("disk: "+repo+" (", "status")
	says(`"dsk" is not among disk`, "push", "dsk")
	says(repo, "remote", "add", "disk", repo+"2")
	says(`"rm" is none of add, list`, "remote", "rm", "disk")
	g.json("remote", "add", "other", repo)
	says("say which, disk or other", "push")

	// A resume of which nothing comes leaves no directory.
	nothing := filepath.Join(t.TempDir(), "work")
	says("there is none of rewind yet", "resume", repo, nothing)
	g.json("push", "disk")
	says("there is none like", "resume", repo+":nosuch", nothing)
	says("there is no repository", "resume", repo+"2", nothing)
	own := g.env
	g.env = append(slices.Clone(own), "RESTIC_PASSWORD=wrong")
	says("no key of the repository opens", "resume", repo, nothing)
	g.env = own
	if _, err := os.Lstat(nothing); err == nil {
		t.Error("a resume of nothing leaves a directory")
	}

	// A prune of which nothing goes says why.
	if err := os.WriteFile(filepath.Join(g.dir, "more"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	g.json("snapshot")
	g.json("push", "disk")
	says("no limit is set", "remote", "prune", "disk")
	says("kept: 1 that are recorded here", "remote", "prune", "disk", "--max-snapshots", "1")

	// Where nothing was added, a URL lists what is there.
	g.dir = t.TempDir()
	if list, _ := g.json("list", "--remote", repo)["snapshots"].([]any); len(list) != 2 {
		t.Errorf("a URL lists %v", list)
	}
}

func TestAResumeOfNoFilesLeavesItsDirectory(t *testing.T) {
	g := newGround(t)
	g.dir = t.TempDir()
	g.json("snapshot")
	repo, work := filepath.Join(t.TempDir(), "repo"), filepath.Join(t.TempDir(), "work")
	g.json("remote", "add", "disk", repo)
	g.json("push")
	if m := g.json("resume", repo, work); m["written"] != 0.0 {
		t.Fatalf("%v", m)
	}
	if list, err := os.ReadDir(work); err != nil || len(list) > 0 {
		t.Errorf("the directory that was resumed has %v: %v", list, err)
	}
}
