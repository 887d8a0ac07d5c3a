package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// process makes rewind as a new process for each command; docs/cli.md is its contract.
func process(noGit bool) func(*lane) system {
	return func(*lane) system { return rewind(noGit) }
}

func rewind(noGit bool) peer {
	return peer{
		forgets: func(s *script) {
			s.l.primed = false
			emptied(s)
			if !noGit { // without git the state directory has it all
				s.do(func() error { return os.RemoveAll(filepath.Join(s.l.tree, ".git", "rewind")) })
				s.dropRefs("refs/pi-rewind/store")
			}
		},
		records: func(s *script) (id string) {
			out := s.rewind(noGit, "snapshot", "--json")
			s.do(func() (err error) {
				id, err = idOf([]byte(out))
				return err
			})
			return id
		},
		restores: func(s *script, id string) { s.rewind(noGit, "restore", id, "--yes", "--json") },
		reads:    func(s *script, id, name string) string { return s.rewind(noGit, "cat", id+":"+name) },
		answers: map[string]func(s *script, id string) string{
			"diff":              func(s *script, _ string) string { return s.rewind(noGit, "diff", "--json") },
			"preview":           func(s *script, _ string) string { return s.rewind(noGit, "snapshot", "--dry-run", "--json") },
			"plan of a restore": func(s *script, id string) string { return s.rewind(noGit, "restore", id, "--dry-run", "--json") },
			"plan of an undo":   func(s *script, _ string) string { return s.rewind(noGit, "undo", "--dry-run", "--json") },
			"status":            func(s *script, _ string) string { return s.rewind(noGit, "status", "--json") },
			"undo":              func(s *script, _ string) string { return s.rewind(noGit, "undo", "--yes", "--json") },
		},
	}
}

// rewind runs one command of the program.
func (s *script) rewind(noGit bool, args ...string) string {
	where := []string{"-C", s.l.tree}
	if noGit {
		where = append(where, "--no-git")
	}
	return s.run(command{name: s.l.binary, args: append(where, args...)})
}

// idOf gives the id of what was recorded.
func idOf(out []byte) (string, error) {
	var reply struct{ ID string }
	if err := json.Unmarshal(out, &reply); err != nil || reply.ID == "" {
		return "", fmt.Errorf("snapshot gave no id: %q", out)
	}
	return reply.ID, nil
}

// emptyDir removes what is in a directory.
func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// beside is rewind as a new process each time, while another one watches the
// worktree: `rewind watch` answers what the new process asks.
type beside struct {
	peer
	living // the one that watches
}

func besideWatch(*lane) system { return &beside{peer: rewind(false)} }

func (b *beside) end() { b.finish(func() { _ = b.cmd.Process.Signal(syscall.SIGTERM) }) }

func (b *beside) forget(ctx context.Context, l *lane) error {
	b.end()
	return b.peer.forget(ctx, l)
}

func (b *beside) snapshot(ctx context.Context, l *lane) (string, error) {
	if b.cmd != nil {
		defer l.peak.watch(b.cmd.Process.Pid)()
	}
	return b.peer.snapshot(ctx, l)
}

// ready waits until the worktree is watched.
func (b *beside) ready(ctx context.Context, l *lane) error {
	if b.cmd == nil {
		if err := b.start(b.command(ctx, l, "-C", l.tree, "watch", "--no-points")); err != nil {
			return err
		}
	}
	return b.settle(ctx, l, b, func() ([]byte, error) {
		s := script{ctx: ctx, l: l}
		out := s.rewind(false, "status", "--json")
		return []byte(out), s.err
	})
}

// settle takes snapshots until the worktree is watched: watching begins in the
// background, and full scans come first.
func (p *living) settle(ctx context.Context, l *lane, taker system, status func() ([]byte, error)) error {
	end := time.Now().Add(30*time.Second + time.Duration(l.names.files)*200*time.Microsecond)
	for ; ; time.Sleep(5 * time.Millisecond) {
		out, err := status()
		if err != nil {
			return err
		}
		var reply struct {
			Watched   bool
			Unwatched string
		}
		if err := json.Unmarshal(out, &reply); err != nil || reply.Watched {
			return err
		}
		if time.Now().After(end) {
			return unready{fmt.Sprintf("the worktree is not watched: %s %s", reply.Unwatched, &p.errors)}
		}
		if _, err := taker.snapshot(ctx, l); err != nil {
			return err
		}
	}
}
