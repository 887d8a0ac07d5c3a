package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
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

// of is how many calls of these kinds something costs.
func (l *limit) of(each map[string]float64) (n float64) {
	for _, name := range l.names {
		n += each[name]
	}
	return n
}

// quietest counts up to so many times, for what a busy machine puts between two turns
// or what a watcher answers too late is counted too. It ends at the first that is within
// the limits: what costs more in each turn never is.
func quietest(tries int, limits []limit, count func() map[string]float64) (each map[string]float64) {
	for range tries {
		each = count()
		if !slices.ContainsFunc(limits, func(l limit) bool { return l.of(each) > l.most }) {
			break
		}
	}
	return each
}

func within(t *testing.T, each map[string]float64, limits []limit) {
	t.Helper()
	for _, l := range limits {
		n := l.of(each)
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
	// What is done between turns is counted too, as far as there is time for it. Git's directory of objects is listed again after each turn that made one below it.
	limits := []limit{
		{"opened", 45, []string{"openat", "openat2"}},
		{"looked at", 310, []string{"newfstatat", "fstat", "statx"}},
		{"listed", 9, []string{"getdents64"}},
		{"locked or unlocked", 39, []string{"flock"}},
		{"asked what kind of file it is, or who writes to it", 14, []string{"fcntl"}}, // two for each file that is read and may have a writer: the five are young
		{"synced", 3.5, []string{"fsync", "fdatasync", "syncfs"}},
		{"all", 560, []string{"all"}},
	}
	within(t, quietest(4, limits, func() map[string]float64 { return each(count(few), count(many), many-few) }), limits)
}

func TestAFileOfARestoreCostsFewSystemCalls(t *testing.T) {
	needStrace(t)
	const few, many = 100, 400 // both are too many for git to get a file for each object
	count := func(files int) calls {
		dir, env := committed(t, files)
		run := func(cmd *exec.Cmd) { must(t, cmd, dir, env) }
		run(exec.Command("rewind", "snapshot"))
		for i := range files {
			put(t, dir, fmt.Sprintf("f%d", i), fmt.Sprintf("edited %d", i))
		}
		log := filepath.Join(t.TempDir(), "calls")
		run(traced(log, "restore", "--yes", "@"))
		has(t, dir, "f7", "file 7")
		return callsIn(t, log)
	}
	limits := []limit{
		{"opened", 5.5, []string{"openat", "openat2"}},
		{"looked at", 19, []string{"newfstatat", "fstat", "statx"}}, // 17, and more by where the workers meet
		{"locked or unlocked", 1, []string{"flock"}},
		{"synced", 0.1, []string{"fsync", "fdatasync", "syncfs"}},
		{"all", 39, []string{"all"}},
	}
	within(t, quietest(4, limits, func() map[string]float64 { return each(count(few), count(many), many-few) }), limits)
}

func TestAnExportIsSyncedOnceAndAForkIsNot(t *testing.T) {
	needStrace(t)
	dir, env := committed(t, 50)
	run := func(cmd *exec.Cmd) { must(t, cmd, dir, env) }
	run(exec.Command("rewind", "snapshot"))
	for verb, want := range map[string]int{"export": 1, "fork": 0} {
		log, out := filepath.Join(t.TempDir(), "calls"), filepath.Join(t.TempDir(), "out")
		run(traced(log, verb, "@", out))
		has(t, out, "f7", "file 7")
		if got := callsIn(t, log)["syncfs"]; got != want {
			t.Errorf("%s: %d calls of syncfs, want %d", verb, got, want)
		}
	}
}

// What the packages of this module make before the program begins, and the tree of
// commands, each start pays for: each of its hooks, and each of its snapshots.
func TestAStartMakesLittle(t *testing.T) {
	cmd := exec.Command("program", "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	packages, made := 0, 0
	for line := range strings.Lines(string(said)) {
		words := strings.Fields(line) // init PACKAGE @1 ms, 2 ms clock, 3 bytes, 4 allocs
		if len(words) != 11 || words[0] != "init" || !strings.Contains(words[1], "/rewind/") || strings.HasSuffix(words[1], "/cmd/internal/command") {
			continue
		}
		n, err := strconv.Atoi(words[9])
		if err != nil {
			t.Fatal(line)
		}
		packages, made = packages+1, made+n
	}
	t.Logf("%d packages allocate %d times before the program begins", packages, made)
	if packages < 10 || made > 225 { // 218: three agents and two workloads of the benchmark came
		t.Errorf("%d packages allocate %d times before the program begins, at most 225 were expected", packages, made)
	}
	line := testing.AllocsPerRun(5, func() { _, _, _ = newRoot(&cli.App{}).Find([]string{"hook", "claude", "Stop"}) })
	t.Logf("a command line: %.0f allocations", line)
	if line > 1370 { // 1345, and some twenty that the race detector adds
		t.Errorf("a command line: %.0f allocations, at most 1370 were expected", line)
	}
}

func TestAHookBesideAWatcherCostsFewSystemCalls(t *testing.T) {
	needStrace(t)
	g := newGround(t)
	g.watch("--no-points")
	g.settled()
	count := func(args ...string) calls {
		log := filepath.Join(t.TempDir(), "calls")
		cmd := traced(log, args...)
		cmd.Args[slices.Index(cmd.Args, "rewind")] = "program" // who serves is asked by its own program alone
		cmd.Dir, cmd.Env = g.dir, append(os.Environ(), g.env...)
		cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"s","cwd":%q,"prompt_id":"p","prompt":"words"}`, g.dir))
		if out, err := cmd.CombinedOutput(); err != nil || args[0] == "hook" && len(out) > 0 {
			t.Fatalf("%v: %v: %s", cmd.Args, err, out)
		}
		return callsIn(t, log)
	}
	before := g.served()
	limits := []limit{
		{"opened", 1, []string{"openat", "openat2"}},
		{"all", 33, []string{"all"}},
	}
	start := count("--version")
	least := quietest(20, limits, func() map[string]float64 { return each(start, count("hook", "claude", "UserPromptSubmit"), 1) })
	if g.served() == before {
		t.Error("no hook was served")
	}
	within(t, least, limits)
}
