//go:build linux

package power

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// An action is something that a user or an agent does between two turns.
type action struct {
	name   string
	weight int
	in     place
	do     func(s *session)
}

// A place says where an action can be.
type place int

const (
	anywhere   place = iota
	repository       // only there
	collected        // only in a repository, and git may throw something away by it, then or later
)

var actions = []action{
	{"new file", 10, anywhere, func(s *session) { s.write(s.freshName(), text(s.rng)) }},
	{"edit", 10, anywhere, (*session).edit},
	{"edit in place", 5, anywhere, (*session).editInPlace},
	{"replace by rename", 4, anywhere, (*session).replace},
	{"copy", 3, anywhere, (*session).copyFile},
	{"delete", 4, anywhere, (*session).deleteFile},
	{"move", 2, anywhere, (*session).moveFile},
	{"program", 1, anywhere, (*session).chmodFile},
	{"link", 1, anywhere, func(s *session) { _ = os.Symlink("src", s.path(s.freshName())) }},
	{"empty directory", 1, anywhere, func(s *session) { _ = os.MkdirAll(s.path(s.freshName()), 0o755) }},
	{"sync of all", 2, anywhere, (*session).syncAll},
	{"writeback", 5, anywhere, (*session).writeBack},
	{"sync of another file", 4, anywhere, func(s *session) { must(s, writeSynced(filepath.Join(s.mnt, "other"), text(s.rng))) }},
	{"add", 12, repository, func(s *session) { s.tryGit("add", "-A") }},
	{"commit", 10, repository, func(s *session) { s.tryGit("commit", "-q", "-a", "--allow-empty", "-m", "more") }},
	{"commit all", 6, repository, func(s *session) { s.tryGit("add", "-A"); s.tryGit("commit", "-q", "-m", "all") }},
	{"amend", 2, collected, func(s *session) { s.tryGit("commit", "-q", "--amend", "-m", "better") }},
	{"reset", 3, collected, func(s *session) { s.tryGit("reset", "-q") }},
	{"reset to before", 3, collected, func(s *session) { s.tryGit("reset", "-q", "HEAD~1") }},
	{"reset hard", 2, collected, func(s *session) { s.tryGit("reset", "-q", "--hard", "HEAD~1") }},
	{"stash", 3, collected, func(s *session) { s.tryGit("stash", "-q", "-u") }},
	{"stash pop", 3, collected, func(s *session) { s.tryGit("stash", "pop", "-q") }},
	{"branch", 3, collected, (*session).branch},
	{"back to main", 2, collected, func(s *session) { s.tryGit("checkout", "-q", "main") }},
	{"pack refs", 1, repository, func(s *session) { s.tryGit("pack-refs", "--all") }},
	{"gc", 4, collected, func(s *session) { s.release(); s.tryGit("gc", "-q") }},
	{"gc of all", 4, collected, (*session).collect},
	{"repack", 2, collected, func(s *session) { s.tryGit("repack", "-q", "-a", "-d") }},
	{"worktree add", 3, collected, (*session).addWorktree},
	{"worktree remove", 2, collected, (*session).removeWorktree},
}

// pick chooses an action by weight.
func (s *session) pick() action {
	total := 0
	for _, a := range actions {
		total += s.weight(a)
	}
	n := s.rng.IntN(total)
	for _, a := range actions {
		if n -= s.weight(a); n < 0 {
			return a
		}
	}
	panic("not reached: n was below the sum of the weights")
}

func (s *session) weight(a action) int {
	if a.in != anywhere && !s.git || a.in == collected && s.calm {
		return 0
	}
	return a.weight
}

func (s *session) any() string { return s.anyFile(func(string) bool { return true }) }

func (s *session) edit() {
	if rel := s.any(); rel != "" {
		s.write(rel, text(s.rng))
	}
}

// editInPlace changes bytes without a new length, as no journal notices.
func (s *session) editInPlace() {
	rel := s.any()
	if rel == "" {
		return
	}
	f, err := os.OpenFile(s.path(rel), os.O_RDWR, 0)
	must(s, err)
	defer f.Close()
	_, err = f.WriteAt(fmt.Appendf(nil, "%08x", s.rng.Uint32()), 0)
	must(s, err)
}

// replace writes beside a file, syncs perhaps, and renames, as good editors do.
func (s *session) replace() {
	rel := s.any()
	if rel == "" {
		return
	}
	beside := s.path(rel + "~")
	if s.rng.IntN(2) == 0 {
		must(s, writeSynced(beside, text(s.rng)))
	} else {
		must(s, os.WriteFile(beside, text(s.rng), 0o644))
	}
	must(s, os.Rename(beside, s.path(rel)))
}

func (s *session) copyFile() {
	if rel := s.any(); rel != "" {
		b, err := os.ReadFile(s.path(rel))
		must(s, err)
		s.write(s.freshName(), b)
	}
}

func (s *session) deleteFile() {
	if rel := s.any(); rel != "" {
		must(s, os.Remove(s.path(rel)))
	}
}

func (s *session) moveFile() {
	if rel := s.any(); rel != "" {
		to := s.path(s.freshName())
		must(s, os.MkdirAll(filepath.Dir(to), 0o755))
		must(s, os.Rename(s.path(rel), to))
	}
}

func (s *session) chmodFile() {
	if rel := s.any(); rel != "" {
		must(s, os.Chmod(s.path(rel), []os.FileMode{0o755, 0o644, 0o600}[s.rng.IntN(3)]))
	}
}

// syncAll makes all that the user has durable: the user's commits too.
func (s *session) syncAll() {
	if f := s.run("", "sync", "-f", s.mnt); f.code != 0 {
		s.Fatalf("sync: %s", f.said())
	}
	if !s.git {
		return
	}
	at := s.now()
	for _, line := range strings.Fields(s.mustGit("for-each-ref", "--format=%(objectname)", "refs/heads", "refs/stash")) {
		s.kept = append(s.kept, kept{line, at, never})
	}
}

// writeBack lets the bytes of some files reach the disk, and neither their
// names nor a flush, as the kernel does when it finds the time.
func (s *session) writeBack() {
	must(s, filepath.WalkDir(s.mnt, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || s.rng.IntN(3) > 0 {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
	}))
}

func (s *session) branch() {
	s.names++
	s.tryGit("checkout", "-q", "-b", fmt.Sprintf("b%d", s.names))
}

// release ends that what no branch reaches is durable: git is about to throw it
// away, or to take it out of its pack into a file that it does not sync.
func (s *session) release() {
	begun := s.now()
	list := s.mustGit("rev-list", "--exclude=refs/pi-rewind/*", "--all")
	for i := range s.kept {
		if k := &s.kept[i]; k.until == never && !strings.Contains(list, k.commit) {
			k.until = begun
		}
	}
}

// collect lets git throw away at once all that no branch needs.
func (s *session) collect() {
	s.release()
	s.tryGit("reflog", "expire", "--expire=now", "--all")
	s.tryGit("gc", "-q", "--prune=now")
}

// addWorktree makes a linked worktree inside of this one, or beside it, with
// work of its own.
func (s *session) addWorktree() {
	s.linked++
	name := fmt.Sprintf("linked%d", s.linked)
	dir := s.path(name)
	if s.rng.IntN(3) == 0 {
		dir = filepath.Join(s.mnt, name)
	}
	if s.tryGit("worktree", "add", "-q", "-b", name, dir).code != 0 {
		return
	}
	must(s, os.WriteFile(filepath.Join(dir, "own.txt"), bytes.Repeat([]byte(name+"\n"), 50), 0o644))
	s.tryGit("-C", dir, "add", "-A")
	if s.rng.IntN(2) == 0 {
		s.tryGit("-C", dir, "commit", "-q", "-m", name)
	}
}

// removeWorktree removes what addWorktree made, and at times its branch.
func (s *session) removeWorktree() {
	if s.linked == 0 {
		return
	}
	name := fmt.Sprintf("linked%d", 1+s.rng.IntN(s.linked))
	s.tryGit("worktree", "remove", "--force", name)
	if s.rng.IntN(2) == 0 {
		s.tryGit("branch", "-q", "-D", name)
	}
}
