package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
)

// brokenGits are ways in which a .git can be none that git would use.
var brokenGits = map[string]func(dotGit string) error{
	"garbage": func(at string) error { return os.WriteFile(at, []byte("garbage"), 0o644) },
	"nowhere": func(at string) error { return os.WriteFile(at, []byte("gitdir: /nowhere\n"), 0o644) },
	"pipe as HEAD": func(at string) error {
		return errors.Join(os.Mkdir(at, 0o755), syscall.Mkfifo(filepath.Join(at, "HEAD"), 0o644))
	},
	"pipe as commondir": func(at string) error {
		head := os.MkdirAll(at, 0o755)
		head = errors.Join(head, os.WriteFile(filepath.Join(at, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
		return errors.Join(head, syscall.Mkfifo(filepath.Join(at, "commondir"), 0o644))
	},
}

func TestABrokenGitOfSomebodyElseAboveTakesNoProtection(t *testing.T) {
	needRoot(t)
	for name, plant := range brokenGits {
		p := newPlace(t, false)
		mine := filepath.Join(p.dir, "mine")
		dotGit := filepath.Join(p.dir, ".git")
		p.must(errors.Join(os.Mkdir(mine, 0o755), os.Chmod(p.dir, 0o777|os.ModeSticky), plant(dotGit)))
		_, err := p.tryOpen(mine)
		if !errors.Is(err, gitconf.ErrBroken) || !strings.Contains(err.Error(), "rewind --no-git") {
			t.Errorf("%s, of one's own: %v", name, err)
		}
		give(t, dotGit)
		p.must(os.Lchown(p.dir, somebody, somebody))
		e := p.openAt(mine)
		w := e.Warnings()
		if e.repo != nil || e.Root() != mine || len(w) != 1 || !strings.Contains(w[0], dotGit+" belongs to user 12345, not to you") {
			t.Errorf("%s: root %s, warnings %q", name, e.Root(), w)
		}
		r := p.snap(e, "one", nil)
		p.snap(e, "two", nil)
		p.do(e, Op{To: r.ID})
		if p.read("mine/file") != "one" {
			t.Errorf("%s: restored %q", name, p.read("mine/file"))
		}
	}
}

func TestAWorktreeAroundItsRepositoryIsNotObeyed(t *testing.T) {
	p := newPlace(t, true)
	p.write("sub/deep/file", "inner")
	for _, value := range []string{"../..", "../../..", filepath.Dir(p.dir)} {
		p.git("config", "core.worktree", value)
		for _, dir := range []string{p.dir, filepath.Join(p.dir, "sub", "deep")} {
			e := p.openAt(dir)
			w := e.Warnings()
			if e.repo != nil || e.Root() != dir || len(w) != 1 || !strings.Contains(w[0], "above the directory that it stands in") {
				t.Errorf("%s: root %s, warnings %q", value, e.Root(), w)
			}
		}
	}
	p.git("config", "core.worktree", "..")
	if e := p.open(); e.repo == nil || e.Root() != p.dir {
		t.Errorf("its own directory: %s, %q", e.Root(), e.Warnings())
	}
	// What git makes: a git directory that lies below the worktree whose .git
	// leads to it, as those of submodules do.
	p.must(os.Rename(filepath.Join(p.dir, ".git"), filepath.Join(p.dir, "sub", ".git")))
	p.write(".git", "gitdir: sub/.git\n")
	for _, value := range []string{"../..", p.dir} {
		config := filepath.Join(p.dir, "sub", ".git", "config")
		p.git("config", "--file", config, "core.worktree", value)
		for _, dir := range []string{p.dir, filepath.Join(p.dir, "sub", "deep")} {
			if e := p.openAt(dir); e.repo == nil || e.Root() != p.dir {
				t.Errorf("%s, in %s: %s, %q", value, dir, e.Root(), e.Warnings())
			}
		}
	}
}

// The notes beside the ref say what to put back into git if a collection took it.
// An archive brings notes that name the ids of private files by guessing them.
func TestNotesOfAnArchivePutNothingIntoGit(t *testing.T) {
	p := newOpenPlace(t)
	p.must(os.WriteFile(filepath.Join(p.dir, "key"), []byte("secret"), 0o600))
	p.snap(p.open(), "one", nil)
	guess, err := p.tryGit("hash-object", "key")
	p.must(err)
	guess = strings.TrimSpace(guess)
	if _, err := p.tryGit("cat-file", "-e", guess); err == nil {
		t.Fatal("the private file is in git from the start")
	}
	notes := filepath.Join(p.dir, ".git", "rewind", "ref.loose")
	for _, job := range []string{"x", "x.y", "x.y."} {
		p.must(os.WriteFile(notes, []byte("wrote "+job+" "+guess+"\nfound "+job+" "+guess+"\n"), 0o600))
		e := p.open()
		p.snap(e, "two"+job, nil)
		p.sync(e)
		if _, err := p.tryGit("cat-file", "-e", guess); err == nil {
			t.Errorf("%s: a private file was put into git", job)
		}
	}
}

// filesBelow is the names in a directory.
func filesBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// An archive may have links in the place of the directories of objects. One to another
// user's is refused: the snapshot stands in the store, and says what to do.
func TestALinkAmongTheObjectsToSomebodyElseTakesNothing(t *testing.T) {
	needRoot(t)
	for _, name := range []string{"pack", "info", "all"} {
		for _, closed := range []bool{false, true} {
			t.Run(name, func(t *testing.T) { linkedToSomebody(t, name, closed) })
		}
	}
}

func linkedToSomebody(t *testing.T, name string, closed bool) {
	p := newOpenPlace(t)
	if closed {
		p.must(os.Chmod(filepath.Dir(p.dir), 0o700))
	}
	theirs := filepath.Join(filepath.Dir(filepath.Dir(p.dir)), "theirs")
	p.must(errors.Join(os.Mkdir(theirs, 0o777), os.Chmod(theirs, 0o777), os.Chown(theirs, somebody, somebody)))
	names := []string{name}
	if name == "all" {
		names = nil
		for i := range 256 {
			names = append(names, string("0123456789abcdef"[i>>4])+string("0123456789abcdef"[i&15]))
		}
	}
	for _, name := range names {
		at := filepath.Join(p.dir, ".git", "objects", name)
		p.must(errors.Join(os.RemoveAll(at), os.Symlink(theirs, at)))
	}
	for i := range 40 { // a pack, or files
		p.put("secret"+string(rune('a'+i%26))+string(rune('a'+i/26)), "private "+string(rune('a'+i)), 0o600)
	}
	e := p.open()
	r := p.take(e)
	if r.Bridge == nil || !strings.Contains(r.Bridge.Error(), "belongs to another user") || !strings.Contains(r.Bridge.Error(), "move it away") ||
		!strings.Contains(r.Bridge.Error(), names[0]) {
		t.Errorf("%s: the bridge says %v", name, r.Bridge)
	}
	if got := filesBelow(t, theirs); len(got) > 0 {
		t.Errorf("%s: the other user has %q", name, got)
	}
	p.must(os.Remove(filepath.Join(p.dir, "secretaa")))
	_, err := e.Do(t.Context(), Op{To: r.ID})
	if p.must(err); p.read("secretaa") != "private a" {
		t.Errorf("%s: it came back as %q", name, p.read("secretaa"))
	}
}

// A link among the objects to what is the user's works as ever. What it leads to is not
// where the readers of the other objects were looked for, so everybody may be one.
func TestALinkAmongTheObjectsOfTheUserMayBeReadByAll(t *testing.T) {
	p := newOpenPlace(t)
	p.must(os.Chmod(filepath.Dir(p.dir), 0o700))
	public := filepath.Join(filepath.Dir(filepath.Dir(p.dir)), "public")
	p.must(os.Mkdir(public, 0o755))
	at := filepath.Join(p.dir, ".git", "objects", "pack")
	p.must(errors.Join(os.RemoveAll(at), os.Symlink(public, at)))
	p.write("file", "one")
	p.git("add", "-A")
	p.put("secret", "private", 0o600)
	e := p.open()
	r := p.take(e)
	if p.inTree(e, r, "secret") || !p.inTree(e, r, "file") || p.gitHas(e, "private") {
		t.Error("what is 0600 is where others may read it, or what git tracks is missing")
	}
	if kept := p.inRef(e); len(kept) != 1 || kept[0] != r.ID {
		t.Errorf("the ref keeps %v, want %v", kept, r.ID)
	}
}
