//go:build linux && (amd64 || arm64)

package fuzz

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// deeds are what the processes of the crash and concurrency tests do. Each prints what
// is done.
var deeds = map[string]func(ctx context.Context, args []string){
	"travel": travel,
	"fork":   forkAndAdopt,
	"bisect": search,
	"follow": follow,
	"worker": workForAWhile,
}

// TestMain makes this program such a process, if the environment says so. Its first
// argument is the durable call before which it dies; 0: it only counts them; -1: not even
// that.
func TestMain(m *testing.M) {
	name := os.Getenv("REWIND_FUZZ_CHILD")
	if name == "" {
		os.Exit(m.Run())
	}
	if name == "filter" {
		serveFilter(bufio.NewReader(os.Stdin), os.Stdout)
		return
	}
	n, err := strconv.Atoi(os.Args[1])
	childExit(err)
	count := func() int { return 0 }
	if n >= 0 {
		count, err = dieAt(n)
	}
	if err != nil {
		fmt.Println("unsupported", err)
		return
	}
	deeds[name](context.Background(), os.Args[2:])
	fmt.Println("calls", count())
}

// childExit ends a child that met an error of the engine.
func childExit(err error) {
	if err != nil {
		fmt.Println("error", err)
		os.Exit(3)
	}
}

// said is what a child printed: the words of its lines by the first of them.
type said map[string][]string

// child runs this program as a child in the worktree, until it ends or is killed.
func (w *world) child(deed string, args ...string) said {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Dir = w.root
	cmd.Env = w.environ("REWIND_FUZZ_CHILD=" + deed)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, _ := cmd.Output()
	heard := said{}
	if err := ctx.Err(); err != nil {
		heard["error"] = append(heard["error"], "it took too long: "+err.Error())
	}
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		words := strings.Fields(lines.Text())
		heard[words[0]] = append(heard[words[0]], words[1:]...)
	}
	if stderr.Len() > 0 {
		heard["error"] = append(heard["error"], stderr.String())
	}
	return heard
}

// killed lets a process do something from the same beginning again and again, and kills
// it before a durable call of it: of each kind of work a few in a usual run, and
// before every one in a deep run. What begin returns looks at what is left.
func killed(t *testing.T, deed string, begin func(n int) (w *world, args []string, look func(said))) {
	t.Helper()
	run := func(n int) said {
		t.Helper()
		w, args, look := begin(n)
		heard := w.child(deed, append([]string{strconv.Itoa(n)}, args...)...)
		if why := heard["unsupported"]; why != nil {
			t.Skipf("NOT TESTED: the system does not report system calls: %v", why)
		}
		w.note("%s, killed before call %d: %v", deed, n, heard)
		if heard["error"] != nil {
			w.fail("%v", heard["error"])
		}
		w.long = w.open()
		look(heard)
		w.must(w.long.Close())
		return heard
	}
	total, err := strconv.Atoi(strings.Join(run(0)["calls"], ""))
	if err != nil {
		t.Fatalf("the process did not come to its end: %v", err)
	}
	t.Logf("%d durable calls", total)
	for n := range someOf(total, seed.Of(t)) {
		run(n + 1)
	}
}

// someOf chooses six of the calls at random, but evenly, so that they reach every part
// of the work; in a deep run all.
func someOf(total int, from uint64) iter.Seq[int] {
	some := min(6, total)
	if seed.Deep() {
		some = total
	}
	first := rand.New(rand.NewPCG(from, 2)).IntN(max(total, 1))
	return func(yield func(int) bool) {
		for i := range some {
			if !yield((first + i*total/some) % total) {
				return
			}
		}
	}
}

// either makes a world with or without git.
func either(t *testing.T, git bool) *world {
	if git {
		return plain(t, kind{})
	}
	return bare(t, 0)
}

func (w *world) options() *engine.Options { return &engine.Options{Getenv: w.getenv} }
