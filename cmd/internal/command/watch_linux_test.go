package command

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A process that watches.
type watcher struct {
	*exec.Cmd
	t     *testing.T
	lines *bufio.Reader
}

func (g *ground) watch(args ...string) *watcher {
	g.t.Helper()
	w := &watcher{Cmd: g.command(append([]string{"watch"}, args...)...), t: g.t}
	errs, err := w.StderrPipe()
	if err == nil {
		err = w.Start()
	}
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = w.Process.Kill(); _ = w.Wait() })
	w.lines = bufio.NewReader(errs)
	if line, _ := w.lines.ReadString('\n'); !strings.Contains(line, "watching "+g.dir) {
		g.t.Fatalf("it says %q", line)
	}
	return w
}

// ends waits until the process has ended by itself.
func (w *watcher) ends() (exit int) {
	w.t.Helper()
	done := make(chan struct{})
	go func() { _ = w.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		w.t.Fatal("it does not end")
	}
	return w.ProcessState.ExitCode()
}

// state is what status says of the process that watches.
func (g *ground) state() map[string]any {
	g.t.Helper()
	m, _ := g.json("status")["watcher"].(map[string]any)
	return m
}

func (g *ground) served() float64 {
	g.t.Helper()
	n, _ := g.state()["served"].(float64)
	return n
}

// until waits for something.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for range 1000 {
		if f() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("it never happens: %s", what)
}

// settled waits until snapshots look only where something changed.
func (g *ground) settled() {
	g.t.Helper()
	for range 500 {
		g.does("snapshot")
		st := g.state()
		if st["watched"] == true {
			return
		}
		if why := fmt.Sprint(st["why"]); strings.Contains(why, "not possible") {
			g.t.Skipf("SKIPPED: nothing can be watched here: %s", why)
		}
		time.Sleep(5 * time.Millisecond)
	}
	g.t.Fatalf("it is not watched: %v", g.state())
}

func (g *ground) sockets() (names []string) {
	list, _ := os.ReadDir(filepath.Join(g.run, "rewind"))
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

var changing = regexp.MustCompile(`"(id|undo|elapsed_ms)":("[0-9a-f]+"|[0-9.]+)|[0-9a-f]{12}|\d+ms|born [0-9a-f]+`)

// TestACommandSaysTheSameBesideAWatcher compares what commands print and how they exit.
func TestACommandSaysTheSameBesideAWatcher(t *testing.T) {
	t.Setenv("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
	t.Setenv("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
	one, two := newGround(t), newGround(t)
	two.watch("--no-points")
	two.settled()
	one.does("snapshot")
	if before := two.served(); before == 0 {
		t.Fatal("nothing was served")
	}
	steps := []struct {
		do   func(g *ground)
		args []string
	}{
		{func(g *ground) { put(t, g.dir, "f0", "new") }, []string{"snapshot", "-m", "a label", "--json"}},
		{func(g *ground) {}, []string{"snapshot"}},
		{func(g *ground) {}, []string{"snapshot", "--json"}},
		{func(g *ground) { os.Mkdir(filepath.Join(g.dir, "d"), 0o755); put(t, g.dir, "d/.GIT", "x") }, []string{"snapshot", "--json"}},
		{func(g *ground) { os.Mkdir(filepath.Join(g.dir, "e"), 0o755); put(t, g.dir, "e/.GIT", "x") }, []string{"snapshot"}},
		{func(g *ground) { put(t, g.dir, ".env", "secret") }, []string{"snapshot"}},
		{func(g *ground) { exec.Command("git", "-C", g.dir, "config", "rewind.nonsense", "1").Run() }, []string{"snapshot", "--json"}},
		{func(g *ground) { put(t, g.dir, "f1", "newer") }, []string{"run", "-m", "it", "--", "sh", "-c", "echo out; echo err >&2; exit 3"}},
		{func(g *ground) { put(t, g.dir, "f1", "newest") }, []string{"snapshot", "--deadline", "1m"}},
		{func(g *ground) { put(t, g.dir, "f2", "x") }, []string{"snapshot", "--layout", "tallow"}},
		{func(g *ground) { put(t, g.dir, "f2", "y") }, []string{"-C", "d", "snapshot"}},
		{func(g *ground) { put(t, g.dir, "f2", "w") }, []string{"diff"}},
		{func(g *ground) {}, []string{"-C", "d", "diff", "--stat", "--", "../f2"}},
		{func(g *ground) {}, []string{"restore", "@", "--dry-run", "--json"}},
		{func(g *ground) {}, []string{"restore", "@"}},
		{func(g *ground) {}, []string{"restore", "@", "--yes", "--", "nothing-there"}},
		{func(g *ground) {}, []string{"restore", "@~2", "--yes", "--json"}},
		{func(g *ground) {}, []string{"undo", "--dry-run"}},
		{func(g *ground) {}, []string{"undo", "--yes"}},
		{func(g *ground) {}, []string{"redo", "--yes", "--json"}},
		{func(g *ground) {}, []string{"undo", "--yes"}},
		{func(g *ground) {}, []string{"revert", "@", "--dry-run"}},
		{func(g *ground) {}, []string{"apply", "@~1", "--dry-run", "--json"}},
		{func(g *ground) {}, []string{"snapshot", "--trigger", "undo"}},
		{func(g *ground) {}, []string{"snapshot", "--deadline", "-1s"}},
		{func(g *ground) {}, []string{"snapshot", "--layout", "nonsense"}},
		{func(g *ground) { put(t, g.dir, "f2", "z") }, []string{"snapshot", "--deadline", "1ns", "--json"}},
	}
	for i, s := range steps {
		var said [2]string
		for k, g := range []*ground{one, two} {
			s.do(g)
			out, errs, exit := g.does(s.args...)
			text := fmt.Sprintf("%s\n%s\n%d", out, errs, exit)
			said[k] = changing.ReplaceAllString(strings.ReplaceAll(text, g.dir, "DIR"), "…")
		}
		if said[0] != said[1] {
			t.Errorf("%d: %v: without a watcher\n%s\nand beside one\n%s", i, s.args, said[0], said[1])
		}
	}
	if n, lent := two.served(), two.state()["lent"].(float64); n < 11 || lent < 11 {
		t.Errorf("%v were served, %v lent", n, lent)
	}
	if a, b := one.json("snapshot", "--dry-run")["tree"], two.json("snapshot", "--dry-run")["tree"]; a != b {
		t.Errorf("trees %v and %v", a, b)
	}
	if out, _, exit := two.does("verify"); exit != 0 {
		t.Errorf("verify: %s", out)
	}
}

func TestAStatusBesideAWatcherSaysWhatChanged(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	put(t, g.dir, "gone", "x")
	g.watch("--no-points")
	g.settled()
	if out, _, _ := g.does("status"); !strings.Contains(out, "\nchanged    nothing\n") {
		t.Errorf("%s", out)
	}
	put(t, g.dir, "f0", "new")
	put(t, g.dir, "added", "new")
	if err := os.Remove(filepath.Join(g.dir, "gone")); err != nil {
		t.Fatal(err)
	}
	want := "\nchanged    1 modified, 1 added, 1 deleted\n           A added\n           M f0\n           D gone\n"
	if out, _, _ := g.does("status"); !strings.Contains(out, want) {
		t.Errorf("%s", out)
	}
	if changed, ok := g.json("status")["changed"].([]any); !ok || len(changed) != 3 || changed[0].(map[string]any)["path"] != "added" {
		t.Errorf("%v", changed)
	}
}

func TestAWatchTakesAPointWhenTheFilesAreQuiet(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	g.watch("--quiet", "200ms")
	count := func() int { return len(g.json("list", "--all")["snapshots"].([]any)) }
	until(t, "the first point", func() bool { return count() == 1 })
	until(t, "it is watched", func() bool { return g.state()["watched"] == true })
	put(t, g.dir, "f0", "changed")
	until(t, "a point of the change", func() bool { return count() == 2 })
	newest := g.json("list", "--all")["snapshots"].([]any)[0]
	if !strings.Contains(fmt.Sprint(newest), "trigger:watch") {
		t.Errorf("%v", newest)
	}
	if reused := g.json("snapshot", "--dry-run")["reused"]; reused != true {
		t.Error("it is not of what is there")
	}
}

func TestAWatcherThatDoesNotAnswerIsNamed(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	w := g.watch("--no-points")
	until(t, "it answers", func() bool { return g.state()["command"] == "rewind watch" })
	_ = w.Process.Signal(syscall.SIGSTOP)
	until(t, "it is stopped", func() bool { return g.state()["command"] != "rewind watch" })
	if st := g.state(); st["pid"] != float64(w.Process.Pid) || st["watched"] != false || st["why"] != "it does not answer" {
		t.Errorf("%v", st)
	}
	want := fmt.Sprintf("\nwatched    by process %d: snapshots look at everything: it does not answer\n", w.Process.Pid)
	if out, _, exit := g.does("status"); exit != 0 || !strings.Contains(out, want) {
		t.Errorf("exit %d: %s", exit, out)
	}
	if _, errs, exit := g.does("uninstall", "--yes"); exit == 0 || !strings.Contains(errs, fmt.Sprintf("process %d watches", w.Process.Pid)) {
		t.Errorf("exit %d: %s", exit, errs)
	}
	_ = w.Process.Kill()
	_ = w.Wait()
	if out, _, _ := g.does("status"); !strings.Contains(out, "\nwatched    no: ") {
		t.Errorf("it is gone: %s", out)
	}
}

// TestAWatchOnAFullDiskSaysSoAndRecordsWhenThereIsRoom gives the store a disk of its own.
func TestAWatchOnAFullDiskSaysSoAndRecordsWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	g, disk := newGround(t), newDisk(t, "14m")
	g.env = append(g.env, "XDG_STATE_HOME="+disk.at)
	g.watch("--no-git", "--quiet", "100ms")
	state := func() map[string]any {
		m, _ := g.json("status", "--no-git")["watcher"].(map[string]any)
		return m
	}
	recorded := func() bool {
		r := g.json("snapshot", "--no-git", "--dry-run")
		return r["reused"] == true
	}
	until(t, "it records", recorded)
	until(t, "it is watched", func() bool { return state()["watched"] == true })
	free, _ := disk.space()
	noise(t, filepath.Join(disk.at, "fill"), free)
	noise(t, filepath.Join(g.dir, "precious"), 100_000)
	until(t, "it fails", func() bool { return state()["failing"] != nil })
	if why := fmt.Sprint(state()["failing"]); !strings.Contains(why, "no space left on device") || !strings.Contains(why, "since:20") {
		t.Errorf("%s", why)
	}
	if out, _, _ := g.does("status", "--no-git"); !strings.Contains(out, "(rewind watch): its own snapshots have failed since ") {
		t.Errorf("%s", out)
	}
	if err := os.Remove(filepath.Join(disk.at, "fill")); err != nil {
		t.Fatal(err)
	}
	until(t, "it records though nothing happens any more", func() bool { return state()["failing"] == nil && recorded() })
}

func TestAWatchEndsWithoutATrace(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(*ground, *watcher){
		"SIGTERM": func(g *ground, w *watcher) { _ = w.Process.Signal(syscall.SIGTERM) },
		"the directory goes": func(g *ground, w *watcher) {
			until(g.t, "the directory goes", func() bool { return os.RemoveAll(g.dir) == nil }) // files may be made in it meanwhile
		},
		"another one has its name":      func(g *ground, w *watcher) { os.Rename(g.dir, g.dir+"-2"); os.Mkdir(g.dir, 0o755) },
		"the runtime directory is gone": func(g *ground, w *watcher) { os.RemoveAll(filepath.Join(g.run, "rewind")) },
	} {
		g := newGround(t)
		w := g.watch("--quiet", "100ms")
		until(t, "it is at rest", func() bool { return len(g.json("list", "--all")["snapshots"].([]any)) == 1 })
		end(g, w)
		if exit := w.ends(); exit != 0 {
			t.Errorf("%s: exit %d", what, exit)
		}
		if left := g.sockets(); len(left) > 0 {
			t.Errorf("%s: it leaves %v", what, left)
		}
		if what == "the directory goes" {
			if _, err := os.Lstat(g.dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the directory is there again: %v", err)
			}
		}
	}
}

func TestAWatchEndsWhenNothingIsAskedForLong(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	w := g.watch("--no-points", "--idle", "300ms", "--quiet", "100ms")
	if exit := w.ends(); exit != 0 || len(g.sockets()) > 0 {
		t.Errorf("exit %d, left %v", exit, g.sockets())
	}
}

// It ended with what had changed in no snapshot, if it waited longer for more to change than
// for anything at all.
func TestAWatchThatEndsHasRecordedWhatChanged(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	w := g.watch("--idle", "300ms", "--quiet", "1500ms")
	put(t, g.dir, "f0", "late")
	if exit := w.ends(); exit != 0 {
		t.Errorf("exit %d", exit)
	}
	if said, _, _ := g.does("cat", "@:f0"); said != "late" {
		t.Errorf("the last snapshot has %q", said)
	}
}

func TestASnapshotStartsAWatcherOnlyWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	g.does("snapshot")
	if st := g.state(); st != nil || len(g.sockets()) > 0 {
		t.Errorf("nobody asked for it: %v", st)
	}
	g.env = append(g.env, "REWIND_WATCH=true")
	g.does("snapshot")
	until(t, "a process watches", func() bool { return g.state() != nil })
	pid := int(g.state()["pid"].(float64))
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	g.endsByItself(pid)
	put(t, g.dir, "f0", "served")
	g.settled()
	before := g.served()
	if r := g.json("snapshot"); r["reused"] != true || g.served() != before+1 {
		t.Errorf("%v, served %v", r, g.served())
	}
	if again := int(g.state()["pid"].(float64)); again != pid {
		t.Errorf("processes %d and %d", pid, again)
	}
	_ = syscall.Kill(pid, syscall.SIGTERM)
	until(t, "it ends", func() bool { return len(g.sockets()) == 0 })
}

func TestAServerOffersTheSocketWhileItWatches(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	g.env = append(g.env, "REWIND_WATCH=true")
	s := serveAs(t, exec.Command("program", "serve", "--stdio"), g.dir, g.env...)
	for range 500 {
		s.must("snapshot", nil)
		if s.must("status", nil)["watched"] == true {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	until(t, "the socket", func() bool { s.must("status", nil); return g.state() != nil })
	if st := g.state(); st["command"] != "rewind serve" {
		t.Errorf("%v", st)
	}
	before := g.served()
	put(t, g.dir, "f0", "by a command")
	if r := g.json("snapshot"); r["changed"] != 1.0 || g.served() != before+1 {
		t.Errorf("%v, served %v", r, g.served()-before)
	}
	put(t, g.dir, "f0", "by the client")
	if r := s.must("snapshot", nil); r["changed"] != 1.0 {
		t.Errorf("%v", r)
	}
	s.in.Close()
	if err := s.cmd.Wait(); err != nil || len(g.sockets()) > 0 {
		t.Errorf("%v, left %v", err, g.sockets())
	}
}
