package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// rewind is the program that all this is about; docs/cli.md is its contract.
type rewind struct{ noGit bool }

// process makes rewind as a new process for each command.
func process(noGit bool) func(*lane) system {
	return func(*lane) system { return rewind{noGit} }
}

// run runs one command of rewind.
func (r rewind) run(ctx context.Context, l *lane, args ...string) ([]byte, error) {
	where := []string{"-C", l.tree}
	if r.noGit {
		where = append(where, "--no-git")
	}
	return l.run(ctx, command{name: l.binary, args: append(where, args...)})
}

func (r rewind) forget(ctx context.Context, l *lane) error {
	l.primed = false
	if err := emptyDir(l.state); err != nil || r.noGit {
		return err // without git the state directory has it all
	}
	if err := os.RemoveAll(filepath.Join(l.tree, ".git", "rewind")); err != nil {
		return err
	}
	return dropRef(ctx, l, "refs/pi-rewind/store")
}

func (r rewind) snapshot(ctx context.Context, l *lane) (string, error) {
	out, err := r.run(ctx, l, "snapshot", "--json")
	if err != nil {
		return "", err
	}
	return idOf(out)
}

// idOf gives the id of what was recorded, if all of it was.
func idOf(out []byte) (string, error) {
	var reply struct {
		ID      string
		Skipped []struct{ Path, Reason string }
	}
	if err := json.Unmarshal(out, &reply); err != nil || reply.ID == "" {
		return "", fmt.Errorf("snapshot gave no id: %q", out)
	}
	return reply.ID, nil
}

func (r rewind) restore(ctx context.Context, l *lane, id string) error {
	_, err := r.run(ctx, l, "restore", id, "--yes", "--json")
	return err
}

func (r rewind) content(ctx context.Context, l *lane, id, name string) ([]byte, error) {
	return r.run(ctx, l, "cat", id+":"+name)
}

// dropRef deletes a ref if it is there.
func dropRef(ctx context.Context, l *lane, ref string) error {
	_, err := l.git(ctx, "update-ref", "-d", ref)
	return err
}

// emptyDir removes what is in a directory.
func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}
