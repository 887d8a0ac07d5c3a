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
