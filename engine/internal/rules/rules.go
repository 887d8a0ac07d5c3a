// Package rules reads what lies outside of a worktree's tree and decides how its
// files are looked at: git's configuration and rule files, in the form that a
// scan takes. A value that git would not understand counts as git's default; a
// file that is missing or cannot be read gives no rules, as in git. It changes
// nothing, and what it reads of git may be anything: it is bounded, and never
// waited for.
package rules

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/attr"
	"github.com/seed-82afce7a/rewind/internal/ignore"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// builtinIgnore is left out of directories without git, where nobody may have
// written a .gitignore: what package managers and test tools make again. It is
// part of the format: a changed list is a new text, and old snapshots keep
// theirs.
const builtinIgnore = `node_modules/
.venv/
venv/
__pycache__/
.pytest_cache/
.mypy_cache/
.ruff_cache/
.tox/
.nox/
.cache/
.gradle/
.terraform/
.next/
.nuxt/
.parcel-cache/
.turbo/
.hg/
.svn/
.jj/
`

// A Source is where the rules of one worktree are.
type Source struct {
	Root    string              // the worktree
	Home    string              // of the user
	Env     func(string) string // the environment
	Builtin bool                // without git: the built-in list counts
	Warn    func(string)        // told of values that are ignored

	// Without git both are nil.
	Config *gitconf.Config
	Layout *gitconf.Layout
}

// Texts are the rules that lie outside the tree, as texts.
type Texts struct {
	Ignore  [][]byte // lowest precedence first; of every repository
	Exclude []byte   // the repository's own: info/exclude, and before it what core.excludesFile names in its own configuration
	Fold    bool     // names are compared without regard to case

	inside []byte // of the repositories inside, before their own; see [Texts.Inside]

	attrs [][]byte // attribute files, lowest precedence first
	info  []byte   // info/attributes
	warn  func(string)
}

// What is said of files that are too much for a chain.
const (
	manyIgnores    = "the rules of core.excludesFile or info/exclude do not count: they would take more than 64 MiB of memory"
	manyAttributes = "the rules of core.attributesFile or info/attributes do not count: they would take more than 64 MiB of memory"
)

// Read reads the rule files outside the tree.
func (s *Source) Read() *Texts {
	t := &Texts{warn: s.Warn}
	if s.Layout == nil {
		if s.Builtin {
			t.Ignore = append(t.Ignore, []byte(builtinIgnore))
		}
		return t
	}
	t.Fold, _ = s.Config.Bool("core.ignorecase", false)
	s.readIgnores(t)
	t.attrs = appendFile(t.attrs, gitconf.SystemFile("gitattributes", &gitconf.Options{Env: s.Env}))
	t.attrs = appendFile(t.attrs, s.gitFile(s.Config.Path, "core.attributesfile", "attributes"))
	t.info = readFile(filepath.Join(s.Layout.CommonDir, "info", "attributes"))
	return t
}

// readIgnores reads the ignore files. What the repository's own configuration names as
// the user's holds in it alone: git has not read that configuration in a repository inside.
func (s *Source) readIgnores(t *Texts) {
	own, shared := s.gitFile(s.Config.Path, "core.excludesfile", "ignore"), s.gitFile(s.Config.SharedPath, "core.excludesfile", "ignore")
	t.Exclude = exclude(s.Layout)
	if own == shared {
		t.Ignore = appendFile(t.Ignore, own)
		return
	}
	t.Exclude, t.inside = joined(readFile(own), t.Exclude), readFile(shared)
}

// exclude returns a repository's own info/exclude, empty if there is none.
func exclude(l *gitconf.Layout) []byte {
	return readFile(filepath.Join(l.CommonDir, "info", "exclude"))
}

// Inside returns the rules of a repository inside that are not in a tree, and do not
// hold in every repository. Its layout is nil if nothing is to be asked of it.
func (t *Texts) Inside(l *gitconf.Layout) []byte {
	if l == nil {
		return t.inside
	}
	return joined(t.inside, exclude(l))
}

// joined makes one rule file of two, of which the second has precedence.
func joined(first, second []byte) []byte {
	if len(first) == 0 || len(second) == 0 {
		return append(first, second...)
	}
	return slices.Concat(first, []byte("\n"), bytes.TrimPrefix(second, []byte("\xef\xbb\xbf")))
}

// gitFile is the user's own rule file: what the configuration names, "" if that
// is nothing, or else the one of that name in git's configuration directory.
func (s *Source) gitFile(path func(name, dir string) (string, bool, error), key, name string) string {
	if p, ok, err := path(key, s.Root); ok && err == nil {
		return p
	}
	if d := s.Env("XDG_CONFIG_HOME"); d != "" {
		return filepath.Join(d, "git", name)
	}
	return filepath.Join(s.Home, ".config", "git", name)
}

func appendFile(list [][]byte, path string) [][]byte {
	if text := readFile(path); len(text) > 0 {
		return append(list, text)
	}
	return list
}

func readFile(path string) []byte {
	text, err := regular.Read(path, ignore.FileBytesMax)
	if err != nil {
		return nil
	}
	return text
}

// AttrTree returns the tree from which attributes are read instead of from the
// worktree, zero if there is none: GIT_ATTR_SOURCE (git 2.41), or else
// attr.tree (git 2.43). Resolve finds the tree of a name. A name that leads to
// no tree counts as not written. So it does for git in attr.tree; in the
// environment git add fails at it, and that would help nobody here.
func (s *Source) AttrTree(resolve func(name string) (oid.ID, error)) oid.ID {
	from, name := "GIT_ATTR_SOURCE", s.Env("GIT_ATTR_SOURCE")
	if name == "" {
		from = "attr.tree"
		name, _ = s.Config.String(from)
	}
	if name == "" {
		return oid.ID{}
	}
	id, err := resolve(name)
	if err != nil {
		s.Warn(fmt.Sprintf("%s is ignored: %v", from, err))
	}
	return id
}

// Chain compiles the ignore rules of a repository whose own are given: [Texts.Exclude],
// or what [Texts.Inside] returned.
func (t *Texts) Chain(exclude []byte) *ignore.Chain {
	opt := &ignore.Options{FoldCase: t.Fold}
	chain := ignore.NewChain()
	for _, text := range append(slices.Clone(t.Ignore), exclude) {
		f := ignore.Parse(text, opt)
		if !chain.HasRoom(f) {
			t.warn(manyIgnores)
		}
		chain = chain.With(f)
	}
	return chain
}

// Attributes compiles the attribute rules.
func (t *Texts) Attributes() *attr.Chain {
	opt := &attr.Options{FoldCase: t.Fold, Macros: true}
	info := attr.Parse(t.info, opt)
	chain, files := attr.NewChain(nil), []*attr.File(nil)
	if !chain.HasRoom(info) {
		t.warn(manyAttributes)
	}
	chain = attr.NewChain(info)
	for _, text := range t.attrs {
		f := attr.Parse(text, opt)
		if !chain.HasRoom(f) {
			t.warn(manyAttributes)
			continue
		}
		files = append(files, f)
		chain = attr.NewChain(info, files...)
	}
	return chain
}

// All returns the texts of the ignore rules that are not empty.
func (t *Texts) All() (all [][]byte) {
	for _, text := range append(slices.Clone(t.Ignore), t.Exclude) {
		if len(text) > 0 {
			all = append(all, text)
		}
	}
	return all
}
