package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/locate"
)

// somebody is the number of a user who is neither us nor root.
const somebody = 12345

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: it takes root to make files of two users")
	}
}

// give gives everything at and below a path to somebody.
func give(t *testing.T, path string) {
	t.Helper()
	err := filepath.WalkDir(path, func(at string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(at, somebody, somebody))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// everything is what is at and below a path: modes, times and contents.
func everything(t *testing.T, path string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(path, func(at string, _ fs.DirEntry, err error) error {
		info, err2 := os.Lstat(at)
		if err = errors.Join(err, err2); err != nil {
			return err
		}
		fmt.Fprintln(&out, at, info.Mode(), info.ModTime().UnixNano(), info.Size(), info.Sys().(*syscall.Stat_t).Ino)
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(at)
			fmt.Fprintf(&out, "%q\n", data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// tripwired puts a git into PATH that leaves a file behind if it is started.
func tripwired(t *testing.T, p *place) (wire string) {
	t.Helper()
	bin := t.TempDir()
	wire = filepath.Join(bin, "started")
	p.must(os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\necho \"$@\" >>"+wire+"\nexit 1\n"), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return wire
}

func TestARepositoryOfSomebodyElseIsRecordedWithoutIt(t *testing.T) {
	needRoot(t)
	p := newPlace(t, true)
	ctx := context.Background()
	p.snap(p.open(), "one", nil) // a store, a stat table and a ref are there
	p.write("sub/file", "deep")
	wire := tripwired(t, p)
	for name, value := range map[string]string{"core.fsmonitor": "touch " + wire, "filter.f.clean": "touch " + wire, "extensions.refStorage": "reftable", "core.worktree": p.home, "rewind.force": "true", "broken": ""} {
		section, key, _ := strings.Cut(name, ".")
		text := fmt.Sprintf("[%s]\n\t%s = %q\n", section, key, value)
		if name == "broken" {
			text = "[nonsense"
		} else if name == "filter.f.clean" {
			text = fmt.Sprintf("[filter \"f\"]\n\tclean = %q\n", value)
		}
		f, err := os.OpenFile(filepath.Join(p.dir, ".git", "config"), os.O_APPEND|os.O_WRONLY, 0)
		p.must(err)
		_, err = f.WriteString(text)
		p.must(errors.Join(err, f.Close()))
	}
	p.write(".gitattributes", "* filter=f\n")
	give(t, p.dir)
	before := everything(t, filepath.Join(p.dir, ".git"))
	for _, dir := range []string{p.dir, filepath.Join(p.dir, "sub")} { // as in a container: all of one owner
		e := p.openAt(dir)
		if e.Root() != p.dir || e.repo != nil || !locate.Within(p.home, e.dir) {
			t.Fatalf("root %s, store in %s", e.Root(), e.dir)
		}
		w := e.Warnings()
		if len(w) != 1 || !strings.Contains(w[0], "belongs to user 12345, not to you") || !strings.Contains(w[0], "git config --global --add safe.directory "+p.dir+"\"") {
			t.Errorf("warnings %q", w)
		}
		r := p.take(e)
		p.write("sub/file", "changed in "+dir)
		p.do(e, Op{To: r.ID})
		_, err := e.Verify(ctx)
		p.must(err)
		if p.read("sub/file") != "deep" || len(r.Skipped) > 0 {
			t.Errorf("restored %q, skipped %v", p.read("sub/file"), r.Skipped)
		}
	}
	if after := everything(t, filepath.Join(p.dir, ".git")); after != before {
		t.Errorf("the git directory was written:\n%s\n%s", before, after)
	}
	if data, err := os.ReadFile(wire); err == nil {
		t.Errorf("started: %s", data)
	}
}

func TestTheUsersOwnSettingAllowsARepositoryAndItsStore(t *testing.T) {
	needRoot(t)
	p := newPlace(t, true)
	one := p.snap(p.open(), "one", nil)
	give(t, filepath.Join(p.dir, ".git"))
	p.must(os.WriteFile(filepath.Join(p.home, ".gitconfig"), []byte("[safe]\n\tdirectory = "+p.dir+"\n"), 0o644))
	e := p.open()
	if e.repo == nil || len(e.Warnings()) > 0 {
		t.Fatalf("git is left out: %q", e.Warnings())
	}
	if list, err := e.List(context.Background(), nil); err != nil || len(list) != 1 || list[0].ID != one.ID {
		t.Errorf("%v, %v", list, err)
	}
}

func TestAGitDirectoryPlantedAboveTakesNothing(t *testing.T) {
	needRoot(t)
	p := newPlace(t, true)
	p.snap(p.open(), "one", nil)
	p.must(os.Chmod(filepath.Join(p.dir, ".git", "rewind"), 0o777))
	give(t, p.dir)
	private := filepath.Join(p.dir, "private")
	p.must(os.Mkdir(private, 0o700))
	p.must(os.WriteFile(filepath.Join(private, "key"), []byte("secret"), 0o600))
	before := everything(t, filepath.Join(p.dir, ".git"))
	e := p.openAt(private)
	r := p.take(e)
	if e.Root() != private || r.Changed == 0 || !locate.Within(p.home, e.dir) {
		t.Errorf("root %s, %d recorded, store in %s", e.Root(), r.Changed, e.dir)
	}
	if after := everything(t, filepath.Join(p.dir, ".git")); after != before {
		t.Error("the planted git directory was written")
	}
}

func TestAStoreOfSomebodyElseInOurRepositoryIsLeftAlone(t *testing.T) {
	needRoot(t)
	for _, what := range []string{"", storeFile, statTableFile, lockFile, storeFile + ".lock"} {
		p := newPlace(t, true)
		e := p.open()
		p.snap(e, "one", nil)
		lock, err := e.lockOperations(context.Background())
		p.must(errors.Join(err, lock.Unlock(), e.Close()))
		place := filepath.Join(p.dir, ".git", "rewind")
		p.must(os.Lchown(filepath.Join(place, what), somebody, somebody))
		before := everything(t, place)
		e = p.open()
		w := e.Warnings()
		if len(w) != 1 || !strings.Contains(w[0], "sudo chown -R root "+filepath.Join(place, what)+"\"") {
			t.Errorf("%q: warnings %q", what, w)
		}
		p.take(e)
		if !locate.Within(p.home, e.dir) || everything(t, place) != before {
			t.Errorf("%q: the store is in %s", what, e.dir)
		}
	}
}

func TestAStateDirectoryOfSomebodyElseIsRefused(t *testing.T) {
	needRoot(t)
	for _, below := range []bool{false, true} {
		p := newPlace(t, false)
		e := p.open()
		p.snap(e, "one", nil)
		dir := filepath.Dir(e.dir)
		if below {
			dir = e.dir
		}
		p.must(os.Lchown(dir, somebody, somebody))
		_, err := p.tryOpen(p.dir)
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), dir+" belongs to user 12345, not to you: set XDG_STATE_HOME") {
			t.Errorf("%v", err)
		}
		p.env["SUDO_UID"] = fmt.Sprint(somebody)
		t.Setenv("SUDO_UID", p.env["SUDO_UID"])
		p.open()
		p.must(os.Unsetenv("SUDO_UID"))
	}
}

func TestANestedRepositoryOfSomebodyElseIsNotAsked(t *testing.T) {
	needRoot(t)
	for _, git := range []bool{true, false} {
		t.Run(fmt.Sprint("git ", git), func(t *testing.T) { nestedOfSomebodyElse(t, git) })
	}
}

func nestedOfSomebodyElse(t *testing.T, git bool) {
	p := newPlace(t, git)
	if out, err := exec.Command("git", "init", "-q", filepath.Join(p.dir, "sub")).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no git program to make a nested repository: %v %s", err, out)
	}
	p.write("sub/file", "nested")
	p.write("sub/.git/config", "[nonsense")
	give(t, filepath.Join(p.dir, "sub", ".git"))
	wire := tripwired(t, p)
	e := p.open()
	r := p.take(e)
	if git != (len(r.Skipped) == 1) || git && !strings.Contains(r.Skipped[0].Reason, "belongs to user 12345") {
		t.Errorf("skipped %v", r.Skipped)
	}
	p.must(os.Remove(filepath.Join(p.dir, "sub", "file")))
	p.do(e, Op{To: r.ID})
	if _, err := os.Stat(wire); err == nil || p.read("sub/file") != "nested" {
		t.Errorf("%v, %q", err, p.read("sub/file"))
	}
}

// TestHelperNobody is no test: it is what the tests run as another user.
func TestHelperNobody(t *testing.T) {
	dir := os.Getenv("REWIND_TEST_NOBODY")
	if dir == "" {
		return
	}
	e, err := Open(context.Background(), dir, nil)
	if err == nil {
		defer e.Close()
		fmt.Printf("warnings %q\n", e.Warnings())
		_, err = e.Snapshot(context.Background(), nil)
	}
	fmt.Printf("error %v\n", err)
}

func TestTheStoreOfRootIsNoRiddleForAUser(t *testing.T) {
	needRoot(t)
	const nobody = 65534
	p := newPlace(t, true)
	p.snap(p.open(), "one", nil) // as by sudo: the store is root's, 0700
	base := filepath.Dir(p.dir)
	self, err := os.Executable()
	p.must(err)
	program := filepath.Join(base, "program")
	if out, err := exec.Command("cp", self, program).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for at := base; at != filepath.Dir(at); at = filepath.Dir(at) {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm()&0o005 != 0o005 {
			if err = os.Chmod(at, 0o755); err != nil {
				t.Skipf("SKIPPED: another user cannot come to %s", at)
			}
		}
	}
	run := func(home string) string {
		cmd := exec.Command(program, "-test.run", "^TestHelperNobody$")
		cmd.Dir, cmd.Env = "/", []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "REWIND_TEST_NOBODY=" + p.dir}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	chown := func(path string) { p.must(os.Lchown(filepath.Join(p.dir, path), nobody, nobody)) }
	for _, path := range []string{"", ".git", ".git/objects", "file"} {
		chown(path)
	}
	home := filepath.Join(base, "nobody")
	p.must(errors.Join(os.Mkdir(home, 0o755), os.Lchown(home, nobody, nobody)))
	if out := run(home); !strings.Contains(out, "belongs to root, not to you; \\\"sudo chown -R nobody ") || !strings.Contains(out, "error <nil>") {
		t.Errorf("the store of root: %s", out)
	}
	p.must(errors.Join(os.RemoveAll(filepath.Join(p.dir, ".git")), os.MkdirAll(filepath.Join(p.home, ".local", "state", "rewind"), 0o755)))
	if out := run(p.home); !strings.Contains(out, "belongs to root, not to you: set XDG_STATE_HOME") {
		t.Errorf("the state directory of root: %s", out)
	}
	p.must(os.Chmod(p.home, 0o700))
	if out := run(p.home); !strings.Contains(out, "may not be looked at") || !strings.Contains(out, "set XDG_STATE_HOME") {
		t.Errorf("the closed home of root: %s", out)
	}
	if out := run(filepath.Join(base, "nowhere")); !strings.Contains(out, "permission denied: set XDG_STATE_HOME") {
		t.Errorf("a home that cannot be made: %s", out)
	}
}

// In a directory where everybody may write, the first who makes a name has it.
func TestAStateDirectoryThatSomebodyElseMakesMeanwhileIsRefused(t *testing.T) {
	needRoot(t)
	p := newPlace(t, false)
	e := p.open()
	state := filepath.Dir(e.dir)
	p.must(os.MkdirAll(state, 0o777))
	p.must(os.Lchown(state, somebody, somebody))
	r, err := e.Snapshot(context.Background(), nil)
	if !errors.Is(err, ErrRefused) {
		t.Errorf("%+v, %v", r, err)
	}
	if found, _ := filepath.Glob(filepath.Join(state, "*", "*")); len(found) > 0 {
		t.Errorf("written into somebody else's directory: %v", found)
	}
}
