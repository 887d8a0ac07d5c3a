package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// The main job on Windows, by the program itself: what it records is what git would add,
// what it restores is what was there, and what stands in its way is named.

// A desk is a directory in which the program works.
type desk struct {
	t   *testing.T
	dir string
	env []string
}

func (d desk) rewind(args ...string) (out string, code int) {
	d.t.Helper()
	cmd := exec.Command("rewind", args...)
	cmd.Dir, cmd.Env = d.dir, append(os.Environ(), d.env...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		d.t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

func (d desk) must(args ...string) string {
	d.t.Helper()
	out, code := d.rewind(args...)
	if code != 0 {
		d.t.Fatalf("rewind %q: exit %d: %s", args, code, out)
	}
	return out
}

// snapshot takes one, and returns what it says of itself.
func (d desk) snapshot() (s struct{ ID, Tree, Overlay string }) {
	d.t.Helper()
	if err := json.Unmarshal([]byte(d.must("snapshot", "--json")), &s); err != nil {
		d.t.Fatal(err)
	}
	return s
}

// put writes a file under a name that need not be one for other programs.
func (d desk) put(name, text string) {
	d.t.Helper()
	path := `\\?\` + filepath.Join(d.dir, filepath.Dir(name)) + `\` + filepath.Base(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// picture is every path with its bytes, as the system has them.
func (d desk) picture() string {
	d.t.Helper()
	var all strings.Builder
	root := `\\?\` + d.dir
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".git":
			return filepath.SkipDir
		case e.IsDir():
			fmt.Fprintf(&all, "%q/\n", path[len(root):])
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%q %v %q\n", path[len(root):], info.Mode(), data)
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return all.String()
}

// there compares the directory with a picture.
func (d desk) there(when, want string) {
	d.t.Helper()
	if got := d.picture(); got != want {
		d.t.Errorf("%s there is\n%swant\n%s", when, got, want)
	}
}

func TestOnWindowsASnapshotIsWhatGitWouldAdd(t *testing.T) {
	r := gittest.New(t)
	for name, value := range map[string]string{"core.autocrlf": "true", "core.filemode": "false", "core.ignorecase": "true", "core.safecrlf": "false"} {
		r.Git("config", name, value)
	}
	d := desk{t, r.Dir, home(t)}
	d.put(`src\lines.txt`, "one\r\ntwo\r\n")
	d.put("bytes.bin", "\x00\r\n")
	d.put("run.sh", "#!/bin/sh\n")
	r.Git("add", "-A")
	r.Git("update-index", "--chmod=+x", "run.sh")
	r.Git("commit", "-qm", "one")
	if s := d.snapshot(); s.Tree != r.Git("rev-parse", "HEAD^{tree}") {
		t.Errorf("the clean checkout: %+v", s)
	}
	d.put(`src\lines.txt`, "one\r\nthree\r\n")
	d.put("run.sh", "#!/bin/sh\r\nexit\r\n")
	d.put("new.txt", "mixed\r\nlines\n")
	s, want := d.snapshot(), d.picture()
	r.Env = append(r.Env, "GIT_INDEX_FILE="+filepath.Join(t.TempDir(), "index"))
	r.Git("read-tree", "HEAD")
	r.Git("add", "-A")
	if tree := r.Git("write-tree"); tree != s.Tree {
		t.Errorf("git would add %s, and the snapshot has %s: %s", tree, s.Tree, r.Git("diff", "--raw", tree, s.Tree))
	}
	r.Env = nil
	d.must("restore", "@~1", "--yes")
	has(t, d.dir, "src/lines.txt", "one\r\ntwo\r\n")
	has(t, d.dir, "run.sh", "#!/bin/sh\n")
	if out := r.Git("status", "--porcelain"); out != "" {
		t.Errorf("after a restore of what was committed git says %q", out)
	}
	d.must("undo", "--yes")
	d.there("after undo", want)
	d.must("verify")
	r.Git("fsck", "--strict")
}

func TestOnWindowsOddNamesComeBack(t *testing.T) {
	d := desk{t, t.TempDir(), home(t)}
	for _, name := range []string{"con", "aux.txt", "nul", "dot.", "blank ", "plain", `Dir\File`, strings.Repeat(strings.Repeat("x", 60)+`\`, 6) + "long"} {
		d.put(name, "is "+name)
	}
	d.put("readonly", "may not be written")
	if err := os.Chmod(filepath.Join(d.dir, "readonly"), 0o444); err != nil {
		t.Fatal(err)
	}
	first, a := d.snapshot(), d.picture()
	if err := os.Chmod(filepath.Join(d.dir, "readonly"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"con", "aux.txt", "dot.", "blank ", "readonly"} {
		d.put(name, "edited")
	}
	if err := os.RemoveAll(filepath.Join(d.dir, "Dir")); err != nil {
		t.Fatal(err)
	}
	d.put(`dir\file`, "in other case")
	if err := os.RemoveAll(`\\?\` + filepath.Join(d.dir, strings.Repeat("x", 60))); err != nil {
		t.Fatal(err)
	}
	b := d.picture()
	d.must("restore", first.ID, "--yes")
	d.there("after the restore", a)
	d.must("undo", "--yes")
	d.there("after undo", b)
	d.must("redo", "--yes")
	d.there("after redo", a)
}

func TestOnWindowsAFileThatAnotherProgramHoldsOpenIsAConflictAndStays(t *testing.T) {
	d := desk{t, t.TempDir(), home(t)}
	d.put("held", "one")
	d.put("free", "one")
	first := d.snapshot()
	for _, share := range []uint32{0, windows.FILE_SHARE_READ, windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE} {
		d.put("held", "two")
		d.put("free", "two")
		closed := d.holding("held", share)
		out, code := d.rewind("restore", first.ID, "--yes")
		if code != 5 || !strings.Contains(out, "conflict: held: ") {
			t.Errorf("shared %d: exit %d: %s", share, code, out)
		}
		closed()
		has(t, d.dir, "held", "two")
		has(t, d.dir, "free", "one")
		d.must("restore", first.ID, "--yes")
		has(t, d.dir, "held", "one")
		if list, err := os.ReadDir(d.dir); err != nil || len(list) != 2 {
			t.Errorf("left: %v, %v", list, err)
		}
	}
}

// holding opens a file as a program does that shares it with others so far.
func (d desk) holding(name string, share uint32) (closed func()) {
	d.t.Helper()
	p, err := windows.UTF16PtrFromString(filepath.Join(d.dir, name))
	if err != nil {
		d.t.Fatal(err)
	}
	h, err := windows.CreateFile(p, windows.GENERIC_READ|windows.GENERIC_WRITE, share, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	return func() { _ = windows.CloseHandle(h) }
}

func TestOnWindowsAFileThatNobodyElseMayReadIsNamedAndItsPastStays(t *testing.T) {
	r := gittest.New(t)
	d := desk{t, r.Dir, home(t)}
	d.put("plain", "one")
	first := d.snapshot()
	d.put("held", "made later")
	d.put("plain", "two")
	closed := d.holding("held", 0)
	if out, code := d.rewind("snapshot"); code != 5 || !strings.Contains(out, "held") {
		t.Errorf("a snapshot of what nobody may read: exit %d: %s", code, out)
	}
	d.rewind("restore", first.ID, "--yes") // the target has no such file
	closed()
	has(t, d.dir, "held", "made later")
	has(t, d.dir, "plain", "one")
	last, want := d.snapshot(), d.picture()
	d.must("restore", first.ID, "--yes")
	d.must("undo", "--yes")
	d.there("after undo", want)
	if out := d.must("diff", last.ID); out != "" {
		t.Errorf("nothing changed, and diff says %s", out)
	}
}

func TestOnWindowsListAndDiffTellWhatChanged(t *testing.T) {
	r := gittest.New(t)
	d := desk{t, r.Dir, home(t)}
	d.put(`src\kept`, "one\r\n")
	d.put(`src\gone`, "one\r\n")
	first := d.snapshot()
	d.put(`src\kept`, "one\r\ntwo\r\n")
	d.put(`src\new file`, "x")
	if err := os.Remove(filepath.Join(d.dir, "src", "gone")); err != nil {
		t.Fatal(err)
	}
	const want = "M\tsrc/kept\nD\tsrc/gone\nA\tsrc/new file\n"
	sorted := func(text string) string { return strings.Join(slices.Sorted(strings.Lines(text)), "") }
	if got := d.must("diff", "--name-status"); sorted(got) != sorted(want) {
		t.Errorf("what changed since: %q", got)
	}
	second := d.snapshot()
	if got := d.must("diff", "--name-status", first.ID, second.ID); sorted(got) != sorted(want) {
		t.Errorf("between the two: %q", got)
	}
	if got := d.must("diff", "--patch", first.ID, second.ID, "--", "src/kept"); !strings.Contains(got, "+two\r\n") {
		t.Errorf("the patch: %q", got)
	}
	var list struct{ Snapshots []struct{ ID string } }
	if err := json.Unmarshal([]byte(d.must("list", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	if n := len(list.Snapshots); n != 2 || list.Snapshots[0].ID != second.ID || list.Snapshots[1].ID != first.ID {
		t.Errorf("the list: %+v", list)
	}
}

func TestOnWindowsWhoeverHoldsTheStoreOrTheRefIsWaitedForOrNamed(t *testing.T) {
	r := gittest.New(t)
	d := desk{t, r.Dir, home(t)}
	d.put("f", "one")
	first := d.snapshot()
	d.put("f", "two")
	closed := d.holding(`.git\rewind\store.db`, 0) // as a program that copies or scans the disk
	out, code := d.rewind("snapshot")
	if code == 0 || !strings.Contains(out, "store.db") {
		t.Errorf("with the store held: exit %d: %s", code, out)
	}
	closed()
	has(t, d.dir, "f", "two")

	d.put(`.git\refs\pi-rewind\store.lock`, "")
	closed = d.holding(`.git\refs\pi-rewind\store.lock`, windows.FILE_SHARE_READ)
	cmd := exec.Command("rewind", "snapshot")
	cmd.Dir, cmd.Env = d.dir, append(os.Environ(), d.env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	closed()
	if err := os.Remove(r.Path(".git", "refs", "pi-rewind", "store.lock")); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("with the ref held for two seconds: %v", err)
	}
	if refs := r.Git("rev-list", "--count", "refs/pi-rewind/store"); refs == "0" {
		t.Errorf("the ref has %s commits", refs)
	}
	r.Git("fsck", "--strict")
	d.must("verify")
	d.must("restore", first.ID, "--yes")
	has(t, d.dir, "f", "one")
	d.must("undo", "--yes")
	has(t, d.dir, "f", "two")
}

func TestOnWindowsAJunctionIsNeitherRecordedNorEnteredNorRemoved(t *testing.T) {
	outside := t.TempDir()
	d := desk{t, t.TempDir(), home(t)}
	if err := os.WriteFile(filepath.Join(outside, "theirs"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.put("f", "one")
	first := d.snapshot()
	junction := filepath.Join(d.dir, "j")
	out, err := exec.Command("cmd", "/c", "mklink", "/J", junction, outside).CombinedOutput()
	if _, missing := os.Lstat(junction); err != nil || missing != nil {
		t.Skipf("SKIPPED: no junction can be made here: %v %v %s", err, missing, out)
	}
	d.put("f", "two")
	second := d.snapshot()
	if out := d.must("diff", "--name-status", first.ID, second.ID); out != "M\tf\n" {
		t.Errorf("recorded: %q", out)
	}
	d.rewind("restore", first.ID, "--yes")
	has(t, d.dir, "f", "one")
	has(t, outside, "theirs", "theirs")
	if _, err := os.Lstat(junction); err != nil {
		t.Error(err)
	}
}

func TestOnWindowsManyProcessesRecordAtOnce(t *testing.T) {
	r := gittest.New(t)
	d := desk{t, r.Dir, home(t)}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for k := range 3 {
				name := fmt.Sprintf("f%d", i)
				_ = os.WriteFile(filepath.Join(d.dir, name), []byte{byte('0' + k)}, 0o644)
				if out, code := d.rewind("snapshot"); code != 0 {
					t.Errorf("exit %d: %s", code, out)
				}
			}
		})
	}
	all.Wait()
	want := d.picture()
	last := d.snapshot()
	if last.Overlay != "" {
		t.Errorf("files of the usual permissions are in an overlay: %s", last.Overlay)
	}
	d.must("verify")
	r.Git("fsck", "--strict")
	d.put("f0", "changed")
	d.must("restore", last.ID, "--yes")
	d.there("of the last snapshot", want)
}

func TestOnWindowsAKilledRestoreIsFinished(t *testing.T) {
	d := desk{t, t.TempDir(), home(t)}
	for i := range 200 {
		d.put(fmt.Sprintf(`d%d\f%d`, i%7, i), "one")
	}
	first, a := d.snapshot(), d.picture()
	for i := range 200 {
		d.put(fmt.Sprintf(`d%d\f%d`, i%7, i), "two")
	}
	second, b := d.snapshot(), d.picture()
	for _, after := range []time.Duration{300, 500, 700, 900} {
		cmd := exec.Command("rewind", "restore", first.ID, "--yes")
		var out bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = d.dir, append(os.Environ(), d.env...), &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		d.rewind("snapshot") // finishes it
		if got := d.picture(); got != a && got != b {
			t.Errorf("killed after %v there is neither: %s\n%s", after*time.Millisecond, out.String(), got)
		}
		d.must("restore", second.ID, "--yes")
		d.there("then", b)
	}
	d.must("verify")
}
