package gitref

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// TestMain runs this binary as one of many processes that move a ref, when it
// is told where: REF_DIR holds the repository, REF_MOVES how often to move.
func TestMain(m *testing.M) {
	if dir := os.Getenv("REF_DIR"); dir != "" {
		if err := move(dir, os.Getenv("REF_MOVES")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// move moves the ref to the next line of the file "line" as often as told.
func move(dir, moves string) error {
	next, err := successors(filepath.Join(dir, "line"))
	if err != nil {
		return err
	}
	var n int
	if _, err := fmt.Sscan(moves, &n); err != nil {
		return err
	}
	s := Open(filepath.Join(dir, ".git"), filepath.Join(dir, ".git"), oid.SHA1, &Options{Own: filepath.Join(dir, "own")})
	for n > 0 {
		ref, err := s.Read(ours)
		if err != nil {
			return err
		}
		u := Update{Name: ours, Old: ref.ID, New: next[ref.ID], Message: "move", Time: time.Now()}
		switch err := s.CompareAndSwap(context.Background(), u); {
		case err == nil:
			n--
		case !errors.Is(err, ErrMoved):
			return err
		}
	}
	return nil
}

func successors(path string) (map[oid.ID]oid.ID, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	next := map[oid.ID]oid.ID{}
	var last oid.ID
	for lines := bufio.NewScanner(f); lines.Scan(); {
		id, err := oid.Parse(lines.Text())
		if err != nil {
			return nil, err
		}
		next[last], last = id, id
	}
	return next, nil
}

// TestNoUpdateIsLostAmongProcessesAndGit lets 32 processes (5 with -short) and git programs
// move one ref along a line of commits, each step by compare-and-swap, while
// git packs the refs and collects garbage. Every step that was reported done
// must be a step of the ref.
func TestNoUpdateIsLostAmongProcessesAndGit(t *testing.T) {
	const moves, gitMoves = 3, 10
	processes := seed.Times(32)
	r := newRepo(t, oid.SHA1, processes*moves+gitMoves+1)
	var line strings.Builder
	for _, id := range r.ids {
		fmt.Fprintln(&line, id)
	}
	if err := os.WriteFile(filepath.Join(r.Dir, "line"), []byte(line.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	r.Git("update-ref", "--create-reflog", ours, r.ids[0].String())
	var all []*exec.Cmd
	for range processes {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "REF_DIR="+r.Dir, fmt.Sprint("REF_MOVES=", moves))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		r.disturb(stop)
	}()
	r.gitMove(gitMoves)
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	<-stopped
	last := r.ids[len(r.ids)-1]
	if ref, err := r.store(nil).Read(ours); err != nil || ref.ID != last {
		t.Errorf("the ref is %v, %v, want %v", ref.ID, err, last)
	}
	if got := r.Git("rev-parse", ours); got != last.String() {
		t.Errorf("git reads %s", got)
	}
	log, err := os.ReadFile(filepath.Join(r.gitDir(), "logs", ours))
	if n := strings.Count(string(log), "\n"); err != nil || n != len(r.ids) {
		t.Errorf("%d lines in the reflog, %v, want %d", n, err, len(r.ids))
	}
}

// gitMove lets the git program move the ref until it did so n times.
func (r *repo) gitMove(n int) {
	next, err := successors(filepath.Join(r.Dir, "line"))
	if err != nil {
		r.T.Error(err)
	}
	for n > 0 {
		ref, err := r.store(nil).Read(ours)
		if err != nil {
			r.T.Errorf("read: %v", err)
			return
		}
		if _, err := r.Try("update-ref", ours, next[ref.ID].String(), ref.ID.String()); err == nil {
			n--
		}
	}
}

// disturb packs and collects until it is told to stop, and looks for refs that
// git calls broken.
func (r *repo) disturb(stop chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		args := []string{"pack-refs", "--all", "--prune"}
		if i%8 == 7 {
			args = []string{"gc", "-q", "--prune=now"}
		}
		out, _ := r.Try(args...) // git gives up where a ref is locked
		shown, err := r.Try("for-each-ref")
		if strings.Contains(out+shown, "broken") || err != nil {
			r.T.Errorf("git says %s %s (%v)", out, shown, err)
		}
	}
}
