package bench

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// stash is git's own way to record without touching anything.
func stash(*lane) system {
	return peer{
		records:  stashRecord,
		restores: func(s *script, id string) { s.git("restore", "--source="+id, "--worktree", "--", ".") },
		reads:    blob,
		answers: map[string]func(s *script, id string) string{
			"diff": func(s *script, id string) string { return s.git("diff", "--name-only", "-z", id) },
		},
	}
}

// stashRecord gives HEAD where git says nothing, because nothing differs from it: with
// another exit code where the times of files do.
func stashRecord(s *script) string {
	if id := strings.TrimSpace(s.run(command{name: "git", args: []string{"stash", "create"}, codes: []int{1}})); id != "" {
		return id
	}
	return s.git("rev-parse", "HEAD")
}

// zed is the sequence of Zed's checkpoints in 2026: a copy of the index takes what is
// tracked, and untracked files below 2 MB. Its list of file types that are left
// out is not repeated here. Its restore deletes nothing.
func zed(*lane) system {
	return peer{
		records:  zedRecord,
		restores: func(s *script, id string) { s.git("restore", "--source", id, "--worktree", ".") },
		reads:    blob,
	}
}

const zedMax = 2 << 20

func zedRecord(s *script) string {
	git := filepath.Join(s.l.tree, ".git")
	index := filepath.Join(git, fmt.Sprintf("index-%d.tmp", rand.Uint64()))
	s.copy(index, filepath.Join(git, "index"))
	defer os.Remove(index)
	head := s.gitIn(index, "", "rev-parse", "HEAD")
	s.gitIn(index, "", "add", "--update")
	var small strings.Builder
	for _, name := range split0(s.gitIn(index, "", "ls-files", "--others", "--exclude-standard", "-z")) {
		if fi, err := os.Lstat(s.l.path(name)); err == nil && fi.Size() < zedMax {
			small.WriteString(name + "\x00")
		}
	}
	if small.Len() > 0 {
		s.gitIn(index, small.String(), "update-index", "--add", "-z", "--stdin")
	}
	tree := s.gitIn(index, "", "write-tree")
	return s.gitIn(index, "", "commit-tree", tree, "-p", head, "-m", "Checkpoint")
}

// cline is the sequence of Cline's SDK in 2026: a stash commit, with the untracked
// files as its third parent, under a ref of its own. Its restore stashes the present,
// and then makes the branch, the worktree and the untracked files what they were.
func cline(*lane) system {
	return peer{
		forgets: func(s *script) { s.dropRefs(clineRefs) },
		records: clineRecord,
		restores: func(s *script, id string) {
			head := s.git("rev-parse", "HEAD")
			s.git("stash", "push", "-q", "-u")
			s.git("reset", "-q", "--hard", head)
			s.git("clean", "-fdq")
			if id != head { // else nothing differed from it
				s.git("stash", "apply", "-q", id)
			}
		},
		reads: func(s *script, id, name string) string {
			tracked := script{ctx: s.ctx, l: s.l}
			if text := blob(&tracked, id, name); tracked.err == nil {
				return text
			}
			return blob(s, id+"^3", name)
		},
	}
}

const clineRefs = "refs/bench/cline/"

func clineRecord(s *script) string {
	head, id := s.git("rev-parse", "HEAD"), stashRecord(s)
	if list := s.untracked(); list != "" {
		others := s.git("commit-tree", s.treeOf(list, []string{"update-index", "--add", "-z", "--stdin"}), "-m", "untracked files")
		index := []string{"rev-parse", id + "^2"} // the second parent of a stash commit is the index
		if id == head {
			index = []string{"commit-tree", "HEAD^{tree}", "-p", head, "-m", "index"}
		}
		id = s.git("commit-tree", id+"^{tree}", "-p", head, "-p", s.git(index...), "-p", others, "-m", "cline checkpoint")
	}
	s.git("update-ref", fmt.Sprintf("%s%d", clineRefs, time.Now().UnixNano()), id)
	return id
}
