package command

import (
	"context"
	"encoding/json"
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

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/socket"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// TestAWatcherThatHangsIsLeft stops the process that watches: commands do without it,
// and when it goes on it records nothing that they gave up.
func TestAWatcherThatHangsIsLeft(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	w := g.watch("--no-points")
	g.settled()
	if err := w.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	put(t, g.dir, "f0", "while it hangs")
	first := g.json("snapshot", "-m", "alone")
	if first["reused"] != false || first["changed"] != 1.0 {
		t.Errorf("%v", first)
	}
	if out, _, exit := g.does("run", "--", "true"); exit != 0 {
		t.Errorf("run: %d %s", exit, out)
	}
	put(t, g.dir, "f0", "when it goes on")
	if err := w.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	until(t, "it answers again", func() bool { return g.state() != nil })
	list := g.json("list", "--all")["snapshots"].([]any)
	if newest := list[0].(map[string]any)["id"]; newest != first["id"] {
		t.Errorf("recorded for somebody who was gone: %v", list[0])
	}
	if r := g.json("snapshot"); r["changed"] != 1.0 {
		t.Errorf("the next: %v", r)
	}
}

// TestAWatcherThatLiesOrDiesIsLeft puts other answers in the place of a watcher's.
func TestAWatcherThatLiesOrDiesIsLeft(t *testing.T) {
	t.Parallel()
	accepted := `{"Accepted":true}`
	giant := `{"Done":true,"Out":"` + strings.Repeat("x", 15<<20) + `"}`
	for i, said := range [][]string{
		{}, {"nonsense"}, {`{"Refused":"no"}`}, {`{"Accepted":false}`}, {accepted}, {accepted, "nonsense"}, {accepted, "{}"}, {accepted, "[]"},
		{accepted, `{"Done":true}`}, {accepted, `{"Done":true,"Out":"no JSON"}`}, {accepted, `{"Done":true,"Out":"{}","Exit":77}`},
		{accepted, `{"Done":false,"Out":"{}"}`}, {accepted, giant}, {accepted, giant, giant}, {accepted, `{"Done":"yes"}`},
	} {
		g := newGround(t)
		g.pretend(func(_ context.Context, r *socket.Request) {
			for _, text := range said {
				_ = r.Say([]byte(text))
			}
		})
		out, errs, exit := g.does("snapshot", "--json")
		var r struct{ ID string }
		if err := json.Unmarshal([]byte(out), &r); err != nil || exit != 0 || len(r.ID) != 40 {
			t.Errorf("%d: %.200v: %d %.200s %.200s", i, said, exit, out, errs)
			continue
		}
		if out, _, _ := g.does("show", r.ID); !strings.Contains(out, r.ID[:12]) {
			t.Errorf("%d: %s was not recorded", i, r.ID)
		}
		cmd := g.command("hook", "generic", "after")
		cmd.Stdin = strings.NewReader(`{"session":"S"}`)
		if out, err := cmd.CombinedOutput(); err != nil || len(g.json("list", "--session", "S")["snapshots"].([]any)) != 1 {
			t.Errorf("%d: a hook: %v %s", i, err, out)
		}
	}
}

// pretend serves in the place of a watcher.
func (g *ground) pretend(handle func(context.Context, *socket.Request)) {
	g.t.Helper()
	place, err := socket.Open(func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": g.run}[name] }, true)
	if err != nil {
		g.t.Fatal(err)
	}
	l, err := socket.Listen(place, g.dir, g.program())
	if err != nil {
		g.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { l.Serve(context.Background(), handle); close(ended) }()
	g.t.Cleanup(func() { l.Close(); <-ended })
}

// program is how the program that commands run names itself: by its file.
func (g *ground) program() string {
	g.t.Helper()
	path, err := exec.LookPath("program")
	if err != nil {
		g.t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		g.t.Fatal(err)
	}
	return fmt.Sprintf("%s of %d bytes, %v", cli.Version(), info.Size(), info.ModTime().UnixNano())
}

// TestSnapshotsBesideAWatcherAreFullOnes changes files at random while processes that
// watch come and go, and compares what was recorded with a look at everything.
func TestSnapshotsBesideAWatcherAreFullOnes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(seed.Of(t), 3))
	g := newGround(t)
	w := g.watch("--no-points")
	g.settled()
	served, steps := 0.0, 60
	if !seed.Deep() {
		steps = 30
	}
	var ids []string
	for i := range steps {
		name := filepath.Join(g.dir, []string{"a", "b", "c"}[r.IntN(3)], []string{"a", "b", "c"}[r.IntN(3)])
		switch r.IntN(6) {
		case 0, 1, 2:
			os.MkdirAll(filepath.Dir(name), 0o755)
			os.WriteFile(name, fmt.Appendf(nil, "%d", i), 0o644)
		case 3:
			os.RemoveAll(name)
		case 4:
			os.Rename(filepath.Dir(name), filepath.Join(g.dir, []string{"d", "a", "b"}[r.IntN(3)]))
		case 5:
			os.Rename(filepath.Join(g.dir, "d"), filepath.Dir(name))
		}
		switch r.IntN(12) {
		case 0:
			served += g.served()
			_ = w.Process.Kill()
			_ = w.Wait()
			w = g.watch("--no-points")
		case 1:
			_ = w.Process.Signal(syscall.SIGSTOP)
			time.AfterFunc(time.Duration(r.IntN(1500))*time.Millisecond, func() { _ = w.Process.Signal(syscall.SIGCONT) })
		case 2: // two at once
			other := g.command("snapshot")
			if err := other.Start(); err != nil {
				t.Fatal(err)
			}
			defer other.Wait()
		case 3, 4, 5: // there and back
			g.goBack(r, ids)
		}
		id := g.json("snapshot")["tree"]
		if full := g.full(); full != id {
			t.Fatalf("step %d: recorded %v, there is %v", i, id, full)
		}
		if ids = append(ids, g.json("list", "--limit", "1")["snapshots"].([]any)[0].(map[string]any)["id"].(string)); len(ids) > 5 {
			ids = ids[1:]
		}
		if r.IntN(3) == 0 {
			g.sameAlone("diff", "--name-status", ids[r.IntN(len(ids))])
		}
	}
	if served += g.served(); served < float64(steps)/3 {
		t.Errorf("only %v of %d were served", served, steps)
	}
	if out, _, exit := g.does("verify"); exit != 0 {
		t.Errorf("verify: %s", out)
	}
}

// goBack restores a snapshot, and takes that back, or is killed in the middle of it.
func (g *ground) goBack(r *rand.Rand, ids []string) {
	g.t.Helper()
	if len(ids) == 0 {
		return
	}
	id := ids[r.IntN(len(ids))]
	if r.IntN(2) == 0 {
		killed := g.command("restore", id, "--yes")
		if err := killed.Start(); err != nil {
			g.t.Fatal(err)
		}
		time.Sleep(time.Duration(r.IntN(30)) * time.Millisecond)
		_ = killed.Process.Kill()
		_ = killed.Wait()
		return
	}
	g.sameAlone("restore", id, "--dry-run")
	before := g.full()
	if out, errs, exit := g.does("restore", id, "--yes"); exit != 0 {
		g.t.Fatalf("restore: %s%s", out, errs)
	} else if strings.HasPrefix(out, "nothing to change") {
		return
	}
	if now, then := g.full(), g.json("show", id)["tree"]; now != then {
		g.t.Fatalf("restored, it is %v, not %v", now, then)
	}
	if out, errs, exit := g.does("undo", "--yes"); exit != 0 {
		g.t.Fatalf("undo: %s%s", out, errs)
	}
	if now := g.full(); now != before {
		g.t.Fatalf("taken back, it is %v, not %v", now, before)
	}
}

// sameAlone compares what a command says with what it says where nobody is asked.
func (g *ground) sameAlone(args ...string) {
	g.t.Helper()
	out, errs, exit := g.does(args...)
	alone := *g
	alone.env = append(slices.Clone(g.env), "REWIND_WATCH=false")
	want, wantErrs, wantExit := alone.does(args...)
	if out != want || exit != wantExit {
		g.t.Fatalf("%q: %d %s%s\nalone: %d %s%s", args, exit, out, errs, wantExit, want, wantErrs)
	}
}

// full is the tree of what a look at everything finds.
func (g *ground) full() any {
	g.t.Helper()
	alone := *g
	alone.env = append(slices.Clone(g.env), "REWIND_WATCH=false")
	return alone.json("snapshot", "--dry-run")["tree"]
}
