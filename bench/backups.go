package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// restic is that program with a repository in the state directory.
type restic struct{}

func (*restic) run(ctx context.Context, l *lane, args ...string) ([]byte, error) {
	return l.run(ctx, resticCommand(l, args...))
}

func resticCommand(l *lane, args ...string) command {
	return command{name: "restic", args: append([]string{"-q"}, args...), env: []string{"RESTIC_PASSWORD=bench", "RESTIC_REPOSITORY=" + filepath.Join(l.state, "restic")}}
}

func (*restic) forget(_ context.Context, l *lane) error { return emptyDir(l.state) }

func (r *restic) snapshot(ctx context.Context, l *lane) (string, error) {
	if _, err := os.Stat(filepath.Join(l.state, "restic")); errors.Is(err, fs.ErrNotExist) {
		if _, err := r.run(ctx, l, "init"); err != nil {
			return "", err
		}
	}
	out, err := r.run(ctx, l, "backup", "--json", "--exclude", ".git", ".")
	if err != nil {
		return "", err
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var reply struct {
		ID string `json:"snapshot_id"`
	}
	if err := json.Unmarshal(lines[len(lines)-1], &reply); err != nil || reply.ID == "" {
		return "", fmt.Errorf("restic gave no id: %.200q", out)
	}
	return reply.ID, nil
}

// restore ends with 1 after it has done the rest, where a link is in its way.
func (r *restic) restore(ctx context.Context, l *lane, id string) error {
	c := resticCommand(l, "restore", id, "--target", ".")
	c.codes = []int{1}
	_, err := l.run(ctx, c)
	return err
}

// borg is that program with a repository in the state directory, not encrypted.
type borg struct{ made int }

func (*borg) run(ctx context.Context, l *lane, args ...string) ([]byte, error) {
	return l.run(ctx, command{name: "borg", args: args, env: []string{"BORG_BASE_DIR=" + l.state, "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes", "BORG_REPO=" + filepath.Join(l.state, "borg")}})
}

func (*borg) forget(_ context.Context, l *lane) error { return emptyDir(l.state) }

func (b *borg) snapshot(ctx context.Context, l *lane) (string, error) {
	if _, err := os.Stat(filepath.Join(l.state, "borg")); errors.Is(err, fs.ErrNotExist) {
		if _, err := b.run(ctx, l, "init", "-e", "none"); err != nil {
			return "", err
		}
	}
	b.made++
	id := fmt.Sprintf("::%d", b.made)
	_, err := b.run(ctx, l, "create", "--exclude", "sh:.git", id, ".")
	return id, err
}

func (b *borg) restore(ctx context.Context, l *lane, id string) error {
	_, err := b.run(ctx, l, "extract", id)
	return err
}

// kopia is that program with a repository in the state directory.
type kopia struct{}

func (*kopia) run(ctx context.Context, l *lane, args ...string) ([]byte, error) {
	return l.run(ctx, command{name: "kopia", args: append([]string{"--config-file=" + filepath.Join(l.state, "kopia.config"), "--no-progress"}, args...), env: []string{"KOPIA_PASSWORD=bench", "KOPIA_CHECK_FOR_UPDATES=false"}})
}

func (*kopia) forget(_ context.Context, l *lane) error { return emptyDir(l.state) }

func (k *kopia) snapshot(ctx context.Context, l *lane) (string, error) {
	at := filepath.Join(l.state, "kopia")
	if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
		if err := os.Mkdir(at, 0o700); err != nil {
			return "", err
		}
		if _, err := k.run(ctx, l, "repository", "create", "filesystem", "--path="+at); err != nil {
			return "", err
		}
		if _, err := k.run(ctx, l, "policy", "set", "--add-ignore=/.git", l.tree); err != nil {
			return "", err
		}
	}
	out, err := k.run(ctx, l, "snapshot", "create", "--json", l.tree)
	if err != nil {
		return "", err
	}
	var reply struct{ RootEntry struct{ Obj string } }
	if err := json.Unmarshal(out, &reply); err != nil || reply.RootEntry.Obj == "" {
		return "", fmt.Errorf("kopia gave no id: %.200q", out)
	}
	return reply.RootEntry.Obj, nil
}

func (k *kopia) restore(ctx context.Context, l *lane, id string) error {
	_, err := k.run(ctx, l, "restore", id, l.tree)
	return err
}

// jj is that program, in a repository of its own beside git's.
type jj struct{}

func (jj) run(ctx context.Context, l *lane, args ...string) ([]byte, error) {
	return l.run(ctx, command{name: "jj", args: append([]string{"--config=user.name=bench", "--config=user.email=bench@localhost", "--quiet"}, args...)})
}

func (jj) forget(_ context.Context, l *lane) error { return os.RemoveAll(filepath.Join(l.tree, ".jj")) }

func (j jj) snapshot(ctx context.Context, l *lane) (string, error) {
	if _, err := os.Stat(filepath.Join(l.tree, ".jj")); errors.Is(err, fs.ErrNotExist) {
		if _, err := j.run(ctx, l, "git", "init", "--colocate"); err != nil {
			return "", err
		}
	}
	out, err := j.run(ctx, l, "log", "--no-graph", "-r", "@", "-T", "commit_id")
	return strings.TrimSpace(string(out)), err
}

func (j jj) restore(ctx context.Context, l *lane, id string) error {
	_, err := j.run(ctx, l, "restore", "--from", id)
	return err
}

func (j jj) content(ctx context.Context, l *lane, id, name string) ([]byte, error) {
	return j.run(ctx, l, "file", "show", "-r", id, name)
}
