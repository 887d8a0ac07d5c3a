//go:build linux

package hostile

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/fuzz/internal/kit"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// memoryMax is what no command may take, whatever it reads: resident memory at
// its highest, which counts also the pages of files that are mapped.
const memoryMax = 1 << 30

// hangs is after how long a command is taken for one that never ends. All of
// them need some milliseconds on a machine that does nothing else.
const hangs = 5 * time.Minute

// program is the built command, made once for all tests.
var program string

func TestMain(m *testing.M) { os.Exit(kit.Run(m, &program)) }

// A world is a repository with two snapshots and a change since, and a home.
type world struct {
	*testing.T
	base, root string
	first      string // the id of the first snapshot
	env        []string
}

// newWorld makes a world in memory, where the system has a place for that.
func newWorld(t *testing.T) *world {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is not installed, and makes the repositories of this test")
	}
	base, err := os.MkdirTemp("/dev/shm", "rewind-hostile-")
	if err != nil {
		base = t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil { // deeper than Go goes in one piece
			_ = exec.Command("rm", "-rf", base).Run()
		}
	})
	w := &world{T: t, base: base, root: filepath.Join(base, "repo")}
	w.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.at("../home"), "XDG_STATE_HOME=" + w.at("../state"), "XDG_CONFIG_HOME=" + w.at("../config"),
		"GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
	}
	w.write("a", "first\n")
	w.write("dir/b", "b\n")
	w.write("../home/.keep", "")
	w.write("../config/git/config", "[user]\nname = n\nemail = e@example.org\n")
	w.git("init", "-q", "-b", "main")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "first")
	return w
}

// recorded lets the program record the world twice, and changes it once more.
func (w *world) recorded() *world {
	w.Helper()
	w.good("snapshot", "-m", "first")
	w.first = w.lastID()
	w.write("a", "second\n")
	w.good("snapshot", "-m", "second")
	w.write("a", "third\n")
	return w
}

func (w *world) lastID() string {
	w.Helper()
	out := w.git("rev-parse", "refs/pi-rewind/store^{}")
	parents := strings.Fields(w.git("show", "-s", "--format=%P", out))
	return parents[len(parents)-1]
}

// at is the place of a name in the worktree.
func (w *world) at(name string) string { return filepath.Join(w.root, name) }

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) write(name, text string) {
	w.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.at(name)), 0o755))
	w.must(os.WriteFile(w.at(name), []byte(text), 0o644))
}

// git runs git, which must succeed, and returns what it says.
func (w *world) git(args ...string) string {
	w.Helper()
	return w.gitIn("", args...)
}

func (w *world) gitIn(stdin string, args ...string) string {
	w.Helper()
	cmd := exec.Command("git", append([]string{"-C", w.root}, args...)...)
	cmd.Env = w.env
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil {
		w.Fatalf("git %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// good runs the program where it must succeed.
func (w *world) good(args ...string) {
	w.Helper()
	if r := w.run(args...); r.code != 0 {
		w.Fatalf("rewind %v: exit %d: %s%s", args, r.code, r.out, r.err)
	}
}

// outMax is how much is kept of what a command says, which may be gigabytes.
const outMax = 1 << 20

// An output keeps the beginning of what a command says, and counts the answers
// of a server. The system counts for the memory of a command, at first, what the
// process has that starts it: so that must stay small.
type output struct {
	head    []byte
	line    []byte // the beginning of the line under way
	answers int
}

func (o *output) Write(p []byte) (int, error) {
	o.head = append(o.head, p[:min(len(p), outMax-len(o.head))]...)
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte{'\n'})
		o.line = append(o.line, line[:min(len(line), 64-len(o.line))]...)
		if rest = after; ended {
			if bytes.Contains(o.line, []byte(`"id":`)) {
				o.answers++
			}
			o.line = o.line[:0]
		}
	}
	return len(p), nil
}

// A result is how a command ended.
type result struct {
	out, err string // the beginning of it
	answers  int
	code     int // -1: it did not end by itself
	memory   int64
	took     time.Duration
}

// run runs a command and holds it to what every command is held to.
func (w *world) run(args ...string) result {
	w.Helper()
	return w.runWith("", w.env, args...)
}

func (w *world) runWith(stdin string, env []string, args ...string) result {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), hangs)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = w.root, env, strings.NewReader(stdin)
	cmd.WaitDelay = time.Second
	var out, complaint output
	cmd.Stdout, cmd.Stderr = &out, &complaint
	begun := time.Now()
	err := cmd.Run()
	r := result{out: string(out.head), err: string(complaint.head), answers: out.answers, code: -1, took: time.Since(begun)}
	if cmd.ProcessState == nil {
		w.Fatal(err)
	}
	r.code = cmd.ProcessState.ExitCode()
	r.memory = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	w.hold(args, r, ctx.Err() != nil)
	return r
}

func (w *world) hold(args []string, r result, late bool) {
	w.Helper()
	if os.Getenv("REWIND_HOSTILE_SHOW") != "" {
		w.Logf("%-40q exit %d, %4d MB, %5d ms: %s", args, r.code, r.memory>>20, r.took.Milliseconds(), firstLine(r.err))
	}
	switch {
	case late:
		w.Errorf("rewind %q hangs: %s", args, r.err)
	case r.code < 0 || r.code > 5 || strings.Contains(r.err, "goroutine "):
		w.Errorf("rewind %q crashed: exit %d: %.2000s", args, r.code, r.err)
	}
	if r.memory > memoryMax {
		w.Errorf("rewind %q took %d MB", args, r.memory>>20)
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line[:min(len(line), 160)]
}

// commands are what is run in each world, in this order: those that change
// something come last.
func (w *world) commands() [][]string {
	id := w.first
	return [][]string{
		{"status", "--json"}, {"list", "--json"}, {"list", "--all"}, {"show", id, "--json"}, {"diff"}, {"diff", id, "@", "--name-status"},
		{"restore", id, "--dry-run"}, {"undo", "--dry-run"}, {"cat", id + ":a"}, {"verify"}, {"prune", "--dry-run"}, {"purge", "a", "--dry-run"},
		{"import", "--dry-run"}, {"snapshot", "--dry-run", "--json"}, {"snapshot"}, {"import"}, {"sync"},
		{"export", id, w.at("../exported")}, {"restore", id, "--yes"}, {"undo", "--yes"}, {"prune", "--grace", "0s"}, {"purge", "dir/b", "--yes"}, {"snapshot"},
	}
}

// calls are requests to the server.
func (w *world) calls() string {
	var b strings.Builder
	for i, call := range []string{`"initialize","params":{}`, `"status"`, `"list","params":{"all":true}`, `"snapshot"`, `"diff"`, `"planUndo"`,
		fmt.Sprintf(`"plan","params":{"id":%q}`, w.first), fmt.Sprintf(`"exists","params":{"ids":[%q]}`, w.first)} {
		fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":%d,"method":%s}`+"\n", i+1, call)
	}
	return b.String()
}

// survive runs every command, and the server.
func (w *world) survive() {
	w.Helper()
	r := w.runWith(w.calls(), w.env, "serve", "--stdio")
	if r.answers < 8 {
		w.Errorf("the server gave %d answers, not 8: %s", r.answers, r.err)
	}
	for _, args := range w.commands() {
		w.run(args...)
		if w.Failed() && os.Getenv("REWIND_HOSTILE_SHOW") == "" {
			return
		}
	}
}

// A kind of world is one thing that somebody prepared.
type kind struct {
	make func(w *world)
	slow bool // it has so much in it that its commands need a minute
}

// all runs a test in each of several worlds.
func all(t *testing.T, kinds map[string]kind) {
	t.Helper()
	for _, name := range sample(t, kinds) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).recorded()
			kinds[name].make(w)
			w.survive()
		})
	}
}

// How many worlds of each test a usual run tries: one in slowRuns has a slow one. A
// slow world takes most of its time to be made, by a program that is slowed down by
// the race detector.
const (
	quickMax = 6
	slowRuns = 8
)

// sample picks some of the worlds, unless all are asked for.
func sample(t *testing.T, kinds map[string]kind) []string {
	t.Helper()
	names := slices.Sorted(maps.Keys(kinds))
	if seed.Deep() {
		return names
	}
	random := rand.New(rand.NewPCG(seed.Of(t), 0))
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	left := map[bool]int{false: quickMax, true: 0}
	if random.IntN(slowRuns) == 0 {
		left[true] = 1
	}
	return slices.DeleteFunc(names, func(name string) bool {
		slow := kinds[name].slow
		left[slow]--
		return left[slow] < 0
	})
}
