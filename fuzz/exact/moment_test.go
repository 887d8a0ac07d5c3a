//go:build !windows

package exact

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/seed"
)

// crowd fills a directory with files; each generation has other bytes in most
// of them, other files, and other kinds.
func crowd(w *world, n, generation int) {
	w.Helper()
	for i := range n {
		dir := fmt.Sprintf("crowd/%02d", i%23)
		path := fmt.Sprintf("%s/f%05d", dir, i)
		switch (i + generation) % 11 {
		case 0:
			w.remove(path)
		case 1:
			w.remove(path)
			w.write(path+"/in", fmt.Sprint(i))
		case 2:
			w.remove(path)
			w.link(fmt.Sprintf("target-%d", generation), path)
		case 3:
			w.remove(path)
			w.write(path, fmt.Sprintf("%d of generation %d\n", i, generation))
			w.chmod(path, 0o600)
		default:
			w.remove(path)
			w.write(path, strings.Repeat(fmt.Sprintf("%d of generation %d\n", i, generation), 1+i%200))
		}
	}
	w.write(fmt.Sprintf("only/%d/x", generation), "x")
	w.remove(fmt.Sprintf("only/%d", generation-1))
}

// TestAKilledRestoreIsFinishedOrTakenBack kills restores at random moments.
// The next command finishes each: what is there then is exactly the target, or,
// after an undo, exactly what was there before.
func TestAKilledRestoreIsFinishedOrTakenBack(t *testing.T) {
	t.Parallel()
	newRepo(t).killRestores(func() {})
}

// TestAKilledRestoreLeavesNoDirectoryOpen is the same with directories that their owner
// may not write into: a restore opens them for a moment.
func TestAKilledRestoreLeavesNoDirectoryOpen(t *testing.T) {
	t.Parallel()
	w := asNobody(t)
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+rwx", w.root).Run() })
	w.killRestores(func() {
		w.handOver()
		for i := range 23 {
			w.chmod(fmt.Sprintf("crowd/%02d", i), []os.FileMode{0o500, 0o555}[i%2])
		}
		w.chmod("crowd", 0o555)
	})
}

// killRestores kills restores from one of two crowds to the other, of which each is
// finished by a function.
func (w *world) killRestores(finish func()) {
	w.Helper()
	rng := rand.New(rand.NewPCG(seed.Of(w.T), 0))
	// What a killed restore leaves beside its targets must go even if ignored.
	w.write(".gitignore", ".*\n!.gitignore\n")
	states, ids := [2]state{}, [2]string{}
	for g := range 2 {
		crowd(w, 150, g)
		finish()
		ids[g], _ = w.snapshot()
		states[g] = w.look()
	}
	began := time.Now()
	w.restore(ids[0])
	took := time.Since(began)
	w.restore(ids[1])
	at, cut := 1, 0
	for round := 0; round < seed.Times(12) || cut < 5 && round < seed.Times(120); round++ {
		cmd := w.command("restore", ids[1-at], "--yes")
		w.must(cmd.Start())
		time.Sleep(time.Duration(rng.Int64N(int64(took * 11 / 10))))
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err != nil {
			cut++
		} else {
			took = took * 9 / 10 // the first was slower: this one had ended
		}
		at = w.after(round, rng.IntN(3), at, states, ids)
	}
	w.sound()
	if cut < 5 {
		w.Errorf("only %d of %d restores were cut short", cut, seed.Times(12))
	}
}

// after lets one command follow a killed restore from one state to the other,
// and tells in which state the tree then is.
func (w *world) after(round, verb, at int, states [2]state, ids [2]string) int {
	w.Helper()
	began := w.rewind("status", "--json")
	switch open := strings.Contains(began.out, `"unfinished"`); {
	case verb == 0 && open:
		w.clean("undo", w.undo())
		w.is(fmt.Sprintf("round %d: killed, then undone", round), states[at])
		return at
	case verb == 1:
		w.clean("restore", w.restore(ids[1-at]))
		w.is(fmt.Sprintf("round %d: killed, then restored again", round), states[1-at])
		return 1 - at
	}
	w.snapshot()
	now := w.look()
	if i := slices.IndexFunc(states[:], func(s state) bool { return s.files.Differs(now.files) == "" }); i >= 0 {
		w.is(fmt.Sprintf("round %d: killed, then a snapshot", round), states[i])
		return i
	}
	w.is(fmt.Sprintf("round %d: killed, then a snapshot", round), states[1-at])
	return 1 - at
}

// TestAnInterruptedRestoreIsFinishedByTheNextCommand sends Ctrl-C while a big
// restore runs: it says so, and the next command finishes; undo takes back.
func TestAnInterruptedRestoreIsFinishedByTheNextCommand(t *testing.T) {
	for _, next := range []string{"snapshot", "undo"} {
		t.Run(next, func(t *testing.T) {
			t.Parallel()
			w := newRepo(t)
			crowd(w, 1500, 0)
			id, _ := w.snapshot()
			then := w.look()
			w.remove("crowd")
			now := w.look()
			cmd := w.command("restore", id, "--yes", "--json")
			var errs bytes.Buffer
			cmd.Stderr = &errs
			w.must(cmd.Start())
			w.await("the restore writes", func() bool {
				list, _ := filepath.Glob(w.path("crowd/*/*"))
				return len(list) > 50
			})
			w.must(cmd.Process.Signal(syscall.SIGINT))
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 1 || strings.Count(errs.String(), "\n") != 1 || !strings.Contains(errs.String(), "half-way") {
				t.Fatalf("the interrupted restore exited with %d and said %q", code, errs.String())
			}
			if d := then.files.Differs(w.look().files); d == "" {
				t.Fatal("the restore was finished: nothing was tested")
			}
			if next == "undo" {
				w.clean("undo", w.undo())
				w.is("undo of the interrupted restore", now)
				w.clean("restore", w.restore(id))
			} else if got, _ := w.snapshot(); got == "" {
				t.Fatal("no snapshot")
			}
			w.is("the next command", then)
			w.clean("undo", w.undo())
			w.is("undo", now)
			w.sound()
		})
	}
}

// TestAnInterruptedFirstSnapshotLeavesNothing sends Ctrl-C while a big first
// snapshot runs: nothing is half recorded, and the next one is whole.
func TestAnInterruptedFirstSnapshotLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	for i := range 400 {
		w.write(fmt.Sprintf("big/%03d", i), noise(64<<10, uint64(i+1)))
	}
	before := w.look()
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		cmd := w.command("snapshot", "--json")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		w.remove(".git/rewind")
		w.must(cmd.Start())
		w.await("the snapshot begins", func() bool { _, err := os.Stat(w.path(".git/rewind/store.db")); return err == nil })
		w.must(cmd.Process.Signal(sig))
		if err := cmd.Wait(); err == nil {
			t.Fatal("the snapshot was finished: nothing was tested")
		}
		if strings.Contains(out.String(), `"id"`) {
			t.Fatalf("%v: the interrupted snapshot printed %s", sig, out.String())
		}
		if sig != syscall.SIGKILL && (cmd.ProcessState.ExitCode() != 1 || strings.Count(errs.String(), "\n") != 1 || !strings.HasPrefix(errs.String(), "rewind: interrupted; ")) {
			t.Fatalf("%v: the interrupted snapshot exited with %d and said %q", sig, cmd.ProcessState.ExitCode(), errs.String())
		}
		if f := w.rewind("list", "--json"); strings.Contains(f.out, `"tree"`) {
			t.Fatalf("%v: there is a snapshot: %s", sig, f.out)
		}
		w.untouched("the interrupted snapshot", before)
	}
	w.prove(func() { w.remove("big") }, nil)
}

// await waits for something that another process does.
func (w *world) await(what string, done func() bool) {
	w.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("%s: it did not happen", what)
		}
	}
}
