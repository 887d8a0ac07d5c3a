package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What a turn costs beside the look at the files, counted in system calls: a turn in
// a small repository is nothing else, and what each turn does twice creeps in unseen.

// filesCalls are the system calls that open, look at, list, lock, write and sync files.
const filesCalls = "openat,openat2,newfstatat,fstat,statx,readlinkat,getdents64,flock,read,pread64,write,pwrite64," +
	"close,fcntl,renameat,renameat2,unlinkat,mkdirat,utimensat,fsync,fdatasync,syncfs"

// traced is the program under strace, which writes the calls into a file.
func traced(log string, args ...string) *exec.Cmd {
	return exec.Command("strace", append([]string{"-f", "-qq", "-e", "signal=none", "-e", "trace=" + filesCalls, "-o", log, "rewind"}, args...)...)
}

// calls are numbers of system calls by their names; "all" has the sum.
type calls map[string]int

func callsIn(t *testing.T, log string) calls {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	out := calls{}
	for line := range strings.Lines(string(text)) {
		_, call, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
		if name, _, ok := strings.Cut(strings.TrimLeft(call, " "), "("); ok && !strings.HasPrefix(name, "<") {
			out[name]++
			out["all"]++
		}
	}
	return out
}

// A limit is how many calls of some kinds there may be.
type limit struct {
	what  string
	most  float64
	names []string
}

// each returns what one of something costs, of which the second run has so many more.
func each(few, many calls, more int) map[string]float64 {
	out := map[string]float64{}
	for name := range many {
		out[name] = float64(many[name]-few[name]) / float64(more)
	}
	return out
}

func within(t *testing.T, each map[string]float64, limits []limit) {
	t.Helper()
	for _, l := range limits {
		n := 0.0
		for _, name := range l.names {
			n += each[name]
		}
		t.Logf("%s: %.1f system calls each", l.what, n)
		if n > l.most {
			t.Errorf("%s: %.1f system calls each, at most %.1f were expected", l.what, n, l.most)
		}
	}
	if each["all"] <= 0 {
		t.Error("nothing was counted")
	}
}

func needStrace(t *testing.T) {
	t.Helper()
	if err := exec.Command("strace", "-o", os.DevNull, "true").Run(); err != nil {
		t.Skipf("SKIPPED: there is no strace that can count system calls here: %v", err)
	}
}

// committed makes a repository of so many files.
func committed(t *testing.T, files int) (dir string, env []string) {
	t.Helper()
	dir = repository(t)
	for i := range files {
		put(t, dir, fmt.Sprintf("f%d", i), fmt.Sprintf("file %d", i))
	}
	for _, args := range [][]string{{"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	home := t.TempDir()
	return dir, []string{"HOME=" + home, "XDG_STATE_HOME=" + home + "/state", "XDG_CONFIG_HOME=" + home + "/config", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
}

func TestATurnOfAServerCostsFewSystemCalls(t *testing.T) {
	needStrace(t)
	const few, many = 8, 24
	count := func(turns int) calls {
		dir, env := committed(t, 5)
		log := filepath.Join(t.TempDir(), "calls")
		s := serveAs(t, traced(log, "serve", "--stdio"), dir, env...)
		for i := range turns {
			put(t, dir, "f0", fmt.Sprintf("turn %d", i))
			if got := s.must("snapshot", map[string]any{"label": "turn"}); got["changed"] != 1.0 && i > 0 {
				t.Fatalf("turn %d: %v", i, got)
			}
		}
		s.in.Close()
		if err := s.cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		return callsIn(t, log)
	}
	// Four of the files looked at are for each turn before, until 256 objects are packed.
	// Git's directory of objects is listed again after each turn that made one below it.
	within(t, each(count(few), count(many), many-few), []limit{
		{"opened", 55, []string{"openat", "openat2"}},
		{"looked at", 400, []string{"newfstatat", "fstat", "statx"}},
		{"listed", 14, []string{"getdents64"}},
		{"locked or unlocked", 42, []string{"flock"}},
		{"synced", 3.5, []string{"fsync", "fdatasync", "syncfs"}},
		{"all", 690, []string{"all"}},
	})
}

func TestAFileOfARestoreCostsFewSystemCalls(t *testing.T) {
	needStrace(t)
	const few, many = 100, 400 // both are too many for git to get a file for each object
	count := func(files int) calls {
		dir, env := committed(t, files)
		run := func(cmd *exec.Cmd) {
			cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v: %s", cmd.Args, err, out)
			}
		}
		run(exec.Command("rewind", "snapshot"))
		for i := range files {
			put(t, dir, fmt.Sprintf("f%d", i), fmt.Sprintf("edited %d", i))
		}
		log := filepath.Join(t.TempDir(), "calls")
		run(traced(log, "restore", "--yes", "@"))
		has(t, dir, "f7", "file 7")
		return callsIn(t, log)
	}
	within(t, each(count(few), count(many), many-few), []limit{
		{"opened", 6, []string{"openat", "openat2"}},
		{"looked at", 24, []string{"newfstatat", "fstat", "statx"}},
		{"locked or unlocked", 1, []string{"flock"}},
		{"synced", 0.1, []string{"fsync", "fdatasync", "syncfs"}},
		{"all", 45, []string{"all"}},
	})
}
