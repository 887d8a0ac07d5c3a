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
			s.do(func() error {
				if err := json.Unmarshal([]byte(out[strings.LastIndexByte(out, '\n')+1:]), &reply); err != nil || reply.ID == "" {
					return fmt.Errorf("the snapshot has no id: %.200q", out)
				}
				return nil
			})
			return reply.ID
		},
		// It ends with 1 after it has done the rest, where a link is in its way.
		restores: func(s *script, id string) { run(s, []int{1}, "restore", id, "--target", ".") },
	}
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
