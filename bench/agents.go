package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// opencode is the sequence of OpenCode 1.18: a git directory of its own that
// borrows the repository's objects and begins with a copy of its index. It is not in
// the state directory, which rewind's forget empties.
func opencode(l *lane) system {
	o := openCode{filepath.Join(l.tree, ".git", "bench-opencode")}
	return peer{
		forgets:  func(s *script) { s.do(func() error { return os.RemoveAll(o.dir) }) },
		records:  o.record,
		restores: o.restore,
		reads:    func(s *script, id, name string) string { return o.git(s, "", "cat-file", "blob", id+":"+name) },
		answers: map[string]func(s *script, id string) string{
			"diff": func(s *script, id string) string {
				o.stage(s)
				return o.git(s, "", "diff", "--no-ext-diff", "--no-renames", "--name-only", "-z", id, "--", ".")
			},
			"undo": func(s *script, id string) string { // it keeps what it took before a restore
				o.restore(s, id)
				return ""
			},
		},
	}
}

type openCode struct{ dir string }

// git runs a command on OpenCode's git directory.
func (o openCode) git(s *script, stdin string, args ...string) string {
	c := command{name: "git", args: append([]string{"--git-dir", o.dir, "--work-tree", s.l.tree}, args...), stdin: []byte(stdin)}
	if args[0] == "check-ignore" {
		c.codes = []int{1} // nothing is ignored
	}
	return s.run(c)
}

// prepare makes the git directory if there is none.
func (o openCode) prepare(s *script) {
	if _, err := os.Stat(o.dir); s.err != nil || !errors.Is(err, fs.ErrNotExist) {
		return
	}
	s.do(func() error { return os.MkdirAll(o.dir, 0o755) })
	s.run(command{name: "git", args: []string{"init", "-q"}, env: []string{"GIT_DIR=" + o.dir, "GIT_WORK_TREE=" + s.l.tree}})
	for _, set := range []string{"core.autocrlf false", "core.longpaths true", "core.symlinks true", "core.fsmonitor false",
		"feature.manyFiles true", "index.version 4", "index.threads true", "core.untrackedCache true"} {
		key, value, _ := strings.Cut(set, " ")
		o.git(s, "", "config", key, value)
	}
	git := filepath.Join(s.l.tree, ".git")
	s.do(func() error {
		return os.WriteFile(filepath.Join(o.dir, "objects", "info", "alternates"), []byte(filepath.Join(git, "objects")+"\n"), 0o644)
	})
	s.copy(filepath.Join(o.dir, "index"), filepath.Join(git, "index"))
}

func (o openCode) record(s *script) string {
	o.stage(s)
	return strings.TrimSpace(o.git(s, "", "write-tree"))
}

// stage adds what changed to the index.
func (o openCode) stage(s *script) {
	o.prepare(s)
	one, two := *s, *s
	var changed, others string
	var both sync.WaitGroup
	both.Go(func() { changed = o.git(&one, "", "diff-files", "--name-only", "-z") })
	both.Go(func() { others = o.git(&two, "", "ls-files", "--others", "--exclude-standard", "-z") })
	both.Wait()
	s.err = firstError(one.err, two.err)
	if list := changed + others; list != "" {
		ignored := o.git(s, list, "check-ignore", "--no-index", "--stdin", "-z")
		o.git(s, without(list, ignored), "add", "--all", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul")
	}
}

// restore is OpenCode's undo: the present is recorded, and then the files that
// differ are checked out or deleted, a hundred at a time.
func (o openCode) restore(s *script, id string) {
	now := o.record(s)
	list := o.git(s, "", "diff-tree", "-r", "--no-renames", "--name-only", "-z", id, now)
	for files := range slices.Chunk(split0(list), 100) {
		there := o.git(s, "", append([]string{"ls-tree", "--name-only", "-z", id, "--"}, files...)...)
		if kept := split0(there); len(kept) > 0 {
			o.git(s, "", append([]string{"checkout", "-q", id, "--"}, kept...)...)
		}
		for _, name := range split0(without(strings.Join(files, "\x00"), there)) {
			_ = os.Remove(s.l.path(name)) // it goes on where it cannot
		}
	}
	o.git(s, "", "diff", "--no-ext-diff", "--no-renames", "--name-only", id, "--", ".")
}

// without gives the -z list less the names of another.
func without(list, less string) string {
	drop := map[string]bool{}
	for _, name := range split0(less) {
		drop[name] = true
	}
	var b strings.Builder
	for _, name := range split0(list) {
		if !drop[name] {
			b.WriteString(name + "\x00")
		}
	}
	return b.String()
}

// piRewind is the sequence of pi-rewind 0.5: git status names what to add to an
// index read from HEAD; the restore goes through HEAD and the user's index.
func piRewind(*lane) system {
	return peer{
		forgets: func(s *script) { s.dropRefs(piRewindRefs) },
		records: piRewindRecord,
		restores: func(s *script, id string) {
			_, staged, _ := strings.Cut(s.git("cat-file", "commit", id), "\nindex-tree ")
			staged, _, _ = strings.Cut(staged, "\n")
			piRewindRecord(s) // the undo
			s.git("reset", "-q", "--hard", "HEAD")
			s.git("read-tree", "--reset", "-u", id)
			for files := range slices.Chunk(split0(s.untracked()), 100) {
				s.git(append([]string{"clean", "-q", "-f", "--"}, files...)...)
			}
			s.git("read-tree", "--reset", staged)
		},
		reads: blob,
	}
}

const piRewindRefs = "refs/bench/pi-rewind/"

func piRewindRecord(s *script) string {
	head, staged := s.git("rev-parse", "HEAD"), s.git("write-tree")
	var list strings.Builder
	for _, line := range split0(s.git("--no-optional-locks", "status", "--porcelain", "--no-renames", "-z", "--untracked-files=all")) {
		list.WriteString(line[3:] + "\x00") // after two letters of state and a blank
	}
	steps := [][]string{{"read-tree", "HEAD"}}
	if list.Len() > 0 {
		steps = append(steps, []string{"add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"})
	}
	tree := s.treeOf(list.String(), steps...)
	id := fmt.Sprintf("turn-%d", time.Now().UnixNano())
	commit := s.git("commit-tree", tree, "-m", fmt.Sprintf("pi-rewind:%s\nhead %s\nindex-tree %s\nworktree-tree %s\n", id, head, staged, tree))
	s.git("update-ref", piRewindRefs+id, commit)
	return commit
}

// hook is the sequence of pi-rewind-hook 1.8: everything is added to an empty
// index; a chain of commits under one ref keeps the snapshots. The ref is named
// differently here.
func hook(*lane) system {
	return peer{
		forgets: func(s *script) { s.dropRefs(hookRef) },
		records: func(s *script) string {
			s.git("rev-parse", "--show-toplevel")
			return hookKeep(s, hookTree(s))
		},
		restores: func(s *script, id string) {
			now := hookTree(s)
			hookKeep(s, now)
			for _, name := range split0(s.git("diff", "--name-only", "--diff-filter=D", "-z", now, id, "--")) {
				s.do(func() error { return os.RemoveAll(s.l.path(name)) })
			}
			s.git("restore", "--source="+id, "--worktree", "--", ".")
		},
		reads: blob,
	}
}

const hookRef = "refs/bench/hook"

func hookTree(s *script) string { return s.treeOf("", []string{"add", "-A"}) }

// hookKeep commits a tree and ties the commit to the chain.
func hookKeep(s *script, tree string) string {
	snapshot := s.git("commit-tree", tree, "-m", "pi rewind snapshot")
	last := strings.TrimSpace(s.run(command{name: "git", args: []string{"rev-parse", "-q", "--verify", hookRef}, codes: []int{1}}))
	args := []string{"commit-tree", s.git("hash-object", "-t", "tree", "-w", "--stdin"), "-m", "pi rewind store"}
	if last != "" {
		args = append(args, "-p", last)
	}
	kept := s.git(append(args, "-p", snapshot)...)
	if last == "" {
		last = strings.Repeat("0", len(kept)) // git's way to say: must not exist
	}
	s.git("update-ref", hookRef, kept, last)
	return snapshot
}
