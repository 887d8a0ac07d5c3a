package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-82afce7a/rewind/bench/report"
)

// A situation is what may be in a worktree, and what happens to it between a snapshot
// and a restore. Each uses names that the corpus has not.
type situation struct {
	about string
	have  func(s *script) // before the snapshot
	then  func(s *script) // between
	keeps []string        // a git command whose output a restore leaves as it is then; nil: none
}

// situations are what agents and shells do every day, the usual before the rare. They
// are made when they are asked for: the program begins without them.
func situations() []situation {
	return []situation{
		{"a tracked file is edited", tracked("f", "one"), write("f", "two"), nil},
		{"an untracked file is edited", write("u", "one"), write("u", "two"), nil},
		{"an untracked file is deleted", write("u", "one"), remove("u"), nil},
		{"a directory of new files is made, which has to go", nothing, write("new/dir/f", "new"), nil},
		{"a directory becomes a file", tracked("d/f", "one"), all(remove("d"), write("d", "two")), nil},
		{"a file has a name with an umlaut, or with a line break", all(tracked("größe", "one"), tracked("a\nb", "one")), all(write("größe", "two"), write("a\nb", "two")), nil},
		{"a script loses its executable bit", all(tracked("run", "#!"), mode("run", 0o755)), mode("run", 0o644), nil},
		{"a private file is made readable for all", all(write("key", "k"), mode("key", 0o600)), mode("key", 0o644), nil},
		{"an untracked file of 3 MB is edited", write("large", strings.Repeat("x", 3<<20)), write("large", strings.Repeat("y", 3<<20)), nil},
		{"an untracked directory named build is deleted", write("build/notes", "one"), remove("build"), nil},
		{"an ignored .env is deleted", all(write(".gitignore", ".env\n"), write(".env", "KEY=1")), remove(".env"), nil},
		{"an empty directory is deleted", dir("empty"), remove("empty"), nil},
		{"a file of a repository inside is edited", inside("one"), write("inside/f", "two"), nil},
		{"a file is staged, and stays so", tracked("f", "one"), all(write("f", "two"), added("f")), []string{"diff", "--cached", "--raw"}},
		{"a commit is made, and stays on the branch", all(tracked("f", "one"), write("u", "one")), all(write("f", "two"), added("f"), commit), []string{"rev-parse", "HEAD"}},
		{"git collects what nothing refers to", write("u", "in no commit"), all(write("u", "two"), collect), nil},
	}
}

func nothing(*script) {}

func all(steps ...func(*script)) func(*script) {
	return func(s *script) {
		for _, step := range steps {
			step(s)
		}
	}
}

func write(name, text string) func(*script) {
	return func(s *script) {
		s.do(func() error {
			path := s.l.path(name)
			return firstError(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
		})
	}
}

func dir(name string) func(*script) {
	return func(s *script) { s.do(func() error { return os.Mkdir(s.l.path(name), 0o755) }) }
}

func mode(name string, perm os.FileMode) func(*script) {
	return func(s *script) { s.do(func() error { return os.Chmod(s.l.path(name), perm) }) }
}

func remove(name string) func(*script) {
	return func(s *script) { s.do(func() error { return os.RemoveAll(s.l.path(name)) }) }
}

func added(name string) func(*script) { return func(s *script) { s.git("add", "--", name) } }

func commit(s *script) { s.git("commit", "-q", "--no-verify", "-m", "situation") }

func collect(s *script) {
	s.git("reflog", "expire", "--expire=now", "--all")
	s.git("gc", "-q", "--prune=now")
}

// tracked makes a file that the last commit has.
func tracked(name, text string) func(*script) {
	return all(write(name, text), added(name), commit)
}

// inside makes a repository of its own, with a file.
func inside(text string) func(*script) {
	return func(s *script) {
		s.git("init", "-q", "inside")
		write("inside/f", text)(s)
		s.git("-C", "inside", "add", "f")
		s.git("-C", "inside", "commit", "-q", "-m", "inside")
	}
}

// tryAll tries each contender in each situation: a result each, without times.
func tryAll(ctx context.Context, st *stage, w workload) (list []report.Result, err error) {
	for _, one := range situations() {
		r := report.Result{Workload: w.name, About: one.about, Files: st.names.files}
		for _, c := range st.chosen {
			if !c.makes() {
				continue
			}
			st.o.Progress(one.about + ": " + c.name)
			line, failed := st.try(ctx, c, one)
			r.Lines, err = append(r.Lines, line), firstError(err, failed)
		}
		list = append(list, r)
	}
	return list, err
}

// try tries one contender in one situation, in a lane that is made clean before and
// after. Its error is that of a lane, or that rewind was not exact.
func (st *stage) try(ctx context.Context, c contender, one situation) (line report.Line, err error) {
	line = report.Line{Contender: c.name, Exact: report.Exact}
	l, err := st.lane(ctx, c)
	if err != nil {
		return line, err
	}
	head, err := l.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return line, err
	}
	s := script{ctx: ctx, l: l}
	l.wake()
	one.have(&s)
	if s.err == nil {
		err = firstError(l.system.forget(ctx, l), l.tryOne(&s, one))
	}
	l.rest()
	l.primed = false
	var text string
	if err != nil {
		if line.Exact, text = report.NotExact, l.oneLine(err); !c.ours() {
			err = nil
		}
		line.Inexact = text
	}
	// A peer's restore may have done anything to the repository too.
	back := script{ctx: ctx, l: l}
	back.git("reset", "-q", "--hard", head)
	back.git("clean", "-ffdxq")
	return line, firstError(s.err, err, back.err)
}

// tryOne records what is there, lets happen what happens, and restores.
func (l *lane) tryOne(s *script, one situation) error {
	want, err := takePicture(l.tree, nil)
	if err != nil {
		return err
	}
	id, err := l.system.snapshot(s.ctx, l)
	if err != nil {
		return err
	}
	one.then(s)
	var kept string
	if one.keeps != nil {
		kept = s.git(one.keeps...)
	}
	if s.err != nil {
		return s.err
	}
	if err := l.system.restore(s.ctx, l, id); err != nil {
		return err
	}
	if one.keeps != nil && s.git(one.keeps...) != kept {
		return firstError(s.err, errors.New("git "+strings.Join(one.keeps, " ")+" tells something else"))
	}
	return want.differs(l.tree, nil)
}
