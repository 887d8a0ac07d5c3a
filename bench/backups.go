package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// absent reports whether there is nothing at a path.
func absent(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// emptied forgets what a system has in the state directory, which is all.
func emptied(s *script) { s.do(func() error { return emptyDir(s.l.state) }) }

// restic is that program with a repository in the state directory.
func restic(l *lane) system {
	repository := filepath.Join(l.state, "restic")
	run := func(s *script, codes []int, args ...string) string {
		return s.run(command{name: "restic", args: append([]string{"-q"}, args...), env: []string{"RESTIC_PASSWORD=bench", "RESTIC_REPOSITORY=" + repository}, codes: codes})
	}
	return peer{
		forgets: emptied,
		records: func(s *script) string {
			if absent(repository) {
				run(s, nil, "init")
			}
			out := strings.TrimSpace(run(s, nil, "backup", "--json", "--exclude", ".git", "."))
			var reply struct {
				ID string `json:"snapshot_id"`
			}
			s.reply(out[strings.LastIndexByte(out, '\n')+1:], &reply, &reply.ID)
			return reply.ID
		},
		// It ends with 1 after it has done the rest, where a link is in its way.
		restores: func(s *script, id string) { run(s, []int{1}, "restore", id, "--target", ".") },
	}
}

// reply reads what a program says of a snapshot, in which its id must be.
func (s *script) reply(text string, to any, id *string) {
	s.do(func() error {
		if err := json.Unmarshal([]byte(text), to); err != nil || *id == "" {
			return fmt.Errorf("the snapshot has no id: %.200q", text)
		}
		return nil
	})
}

// borg is that program with a repository in the state directory, not encrypted.
func borg(l *lane) system {
	repository, made := filepath.Join(l.state, "borg"), 0
	run := func(s *script, args ...string) {
		s.run(command{name: "borg", args: args, env: []string{"BORG_BASE_DIR=" + l.state, "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes", "BORG_REPO=" + repository}})
	}
	return peer{
		forgets: emptied,
		records: func(s *script) string {
			if absent(repository) {
				run(s, "init", "-e", "none")
			}
			made++
			id := fmt.Sprintf("::%d", made)
			run(s, "create", "--exclude", "sh:.git", id, ".")
			return id
		},
		restores: func(s *script, id string) { run(s, "extract", id) },
	}
}

// kopia is that program with a repository in the state directory.
func kopia(l *lane) system {
	repository := filepath.Join(l.state, "kopia")
	run := func(s *script, args ...string) string {
		args = append([]string{"--config-file=" + filepath.Join(l.state, "kopia.config"), "--no-progress"}, args...)
		return s.run(command{name: "kopia", args: args, env: []string{"KOPIA_PASSWORD=bench", "KOPIA_CHECK_FOR_UPDATES=false"}})
	}
	return peer{
		forgets: emptied,
		records: func(s *script) string {
			if absent(repository) {
				s.do(func() error { return os.Mkdir(repository, 0o700) })
				run(s, "repository", "create", "filesystem", "--path="+repository)
				run(s, "policy", "set", "--add-ignore=/.git", l.tree)
			}
			var reply struct{ RootEntry struct{ Obj string } }
			s.reply(run(s, "snapshot", "create", "--json", l.tree), &reply, &reply.RootEntry.Obj)
			return reply.RootEntry.Obj
		},
		restores: func(s *script, id string) { run(s, "restore", id, l.tree) },
	}
}

// jj is that program, in a repository of its own beside git's.
func jj(l *lane) system {
	repository := filepath.Join(l.tree, ".jj")
	run := func(s *script, args ...string) string {
		return s.run(command{name: "jj", args: append([]string{"--config=user.name=bench", "--config=user.email=bench@localhost", "--quiet"}, args...)})
	}
	return readable{peer{
		forgets: func(s *script) { s.do(func() error { return os.RemoveAll(repository) }) },
		records: func(s *script) string {
			if absent(repository) {
				run(s, "git", "init", "--colocate")
			}
			return strings.TrimSpace(run(s, "log", "--no-graph", "-r", "@", "-T", "commit_id"))
		},
		restores: func(s *script, id string) { run(s, "restore", "--from", id) },
	}, func(s *script, id, name string) string { return run(s, "file", "show", "-r", id, name) }}
}
