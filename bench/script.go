package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// A script runs the commands of a contender in a lane. It stops at the first that
// fails: nothing is run after that, and err says what it was.
type script struct {
	ctx context.Context
	l   *lane
	err error
}

// run runs a command, and gives its standard output.
func (s *script) run(c command) (out string) {
	s.do(func() error {
		text, err := s.l.run(s.ctx, c)
		out = string(text)
		return err
	})
	return out
}

// do does something else that may fail.
func (s *script) do(f func() error) {
	if s.err == nil {
		s.err = f()
	}
}

// git runs git, and gives its output without the last newline.
func (s *script) git(args ...string) string {
	return strings.TrimSuffix(s.run(command{name: "git", args: args}), "\n")
}

// gitIn is the same with an index of its own, and something to read.
func (s *script) gitIn(index, stdin string, args ...string) string {
	return strings.TrimSuffix(s.run(command{name: "git", args: args, env: []string{"GIT_INDEX_FILE=" + index}, stdin: []byte(stdin)}), "\n")
}

// copy copies a file, with the present as its time.
func (s *script) copy(to, from string) {
	s.do(func() error {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
}

// treeOf writes the tree of an index that does not exist before the given commands.
// They all have the same to read.
func (s *script) treeOf(stdin string, commands ...[]string) (tree string) {
	s.do(func() error {
		dir, err := os.MkdirTemp(s.l.scratch, "index-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		index := filepath.Join(dir, "index")
		for _, args := range commands {
			s.gitIn(index, stdin, args...)
		}
		tree = s.gitIn(index, "", "write-tree")
		return s.err
	})
	return tree
}

// dropRefs deletes a ref, or all in a directory of refs.
func (s *script) dropRefs(under string) {
	for _, ref := range strings.Fields(s.git("for-each-ref", "--format=%(refname)", under)) {
		s.git("update-ref", "-d", ref)
	}
}

// untracked lists the files that git does not know and that are not ignored, as -z does.
func (s *script) untracked() string {
	return s.git("ls-files", "--others", "--exclude-standard", "-z")
}

// A peer is a system that is a few scripts.
type peer struct {
	forgets  func(s *script) // nil: it keeps nothing
	records  func(s *script) (id string)
	restores func(s *script, id string)
	reads    func(s *script, id, name string) string // nil: not so quickly that some files are read after each turn
	answers  map[string]func(s *script, id string) string
}

func (p peer) answer(ctx context.Context, l *lane, verb, id string) (string, error) {
	how := p.answers[verb]
	if how == nil {
		return "", errors.ErrUnsupported
	}
	s := script{ctx: ctx, l: l}
	text := how(&s, id)
	return text, s.err
}

func (p peer) forget(ctx context.Context, l *lane) error {
	s := script{ctx: ctx, l: l}
	if p.forgets != nil {
		p.forgets(&s)
	}
	return s.err
}

func (p peer) snapshot(ctx context.Context, l *lane) (string, error) {
	s := script{ctx: ctx, l: l}
	id := p.records(&s)
	return id, s.err
}

func (p peer) restore(ctx context.Context, l *lane, id string) error {
	s := script{ctx: ctx, l: l}
	p.restores(&s, id)
	return s.err
}

func (p peer) content(ctx context.Context, l *lane, id, name string) ([]byte, error) {
	if p.reads == nil {
		return nil, errors.ErrUnsupported
	}
	s := script{ctx: ctx, l: l}
	text := p.reads(&s, id, name)
	return []byte(text), s.err
}

// blob reads a file of a commit or tree of the repository.
func blob(s *script, id, name string) string {
	return s.run(command{name: "git", args: []string{"cat-file", "blob", id + ":" + name}})
}
