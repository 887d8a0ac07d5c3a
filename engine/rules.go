package engine

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/attr"
	"github.com/seed-82afce7a/rewind/internal/ignore"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
	"github.com/seed-82afce7a/rewind/internal/worktree"
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

// outside is the rules that lie outside the tree, as texts.
type outside struct {
	ignore  [][]byte // lowest precedence first; of every repository
	exclude []byte   // the repository's own info/exclude
	attrs   [][]byte // attribute files, lowest precedence first
	info    []byte   // info/attributes
	fold    bool
}

// readOutside reads the rule files outside the tree. A file that is missing or
// cannot be read gives no rules, as in git.
func (e *Engine) readOutside() *outside {
	o := &outside{}
	if e.repo == nil {
		if e.conf.builtin {
			o.ignore = append(o.ignore, []byte(builtinIgnore))
		}
		return o
	}
	o.fold, _ = e.git.Bool("core.ignorecase", false)
	o.ignore = appendFile(o.ignore, e.gitFile("core.excludesfile", "ignore"))
	o.attrs = appendFile(o.attrs, "/etc/gitattributes")
	o.attrs = appendFile(o.attrs, e.gitFile("core.attributesfile", "attributes"))
	common := e.repo.Layout().CommonDir
	o.exclude = readRules(filepath.Join(common, "info", "exclude"))
	o.info = readRules(filepath.Join(common, "info", "attributes"))
	return o
}

// gitFile is the user's own rule file: what the configuration names, "" if that
// is nothing, or else the one of that name in git's configuration directory.
func (e *Engine) gitFile(key, name string) string {
	if p, ok, err := e.git.Path(key, e.root); ok && err == nil {
		return p
	}
	if d := e.opt.Getenv("XDG_CONFIG_HOME"); d != "" {
		return filepath.Join(d, "git", name)
	}
	return filepath.Join(e.home(), ".config", "git", name)
}

func appendFile(list [][]byte, path string) [][]byte {
	if text := readRules(path); len(text) > 0 {
		return append(list, text)
	}
	return list
}

// rulesMax is how much of a rule file git reads.
const rulesMax = 100 << 20

func readRules(path string) []byte {
	text, err := regular.Read(path, rulesMax)
	if err != nil {
		return nil
	}
	return text
}

// attrTree returns the tree from which attributes are read instead of from the
// worktree, zero if there is none: GIT_ATTR_SOURCE (git 2.41), or else attr.tree
// (git 2.43). A name that leads to no tree counts for git as not written; with one
// in the environment git add fails, which nobody is helped by here.
func (e *Engine) attrTree(ctx context.Context) oid.ID {
	from, name := "GIT_ATTR_SOURCE", e.opt.Getenv("GIT_ATTR_SOURCE")
	if name == "" {
		from = "attr.tree"
		name, _ = e.git.String(from)
	}
	if name == "" {
		return oid.ID{}
	}
	id, err := e.repo.Tree(ctx, name)
	if err != nil {
		e.conf.warn(fmt.Sprintf("%s is ignored: %v", from, err))
	}
	return id
}

// chain compiles the ignore rules of a repository whose info/exclude is given.
func (o *outside) chain(exclude []byte) *ignore.Chain {
	opt := &ignore.Options{FoldCase: o.fold}
	var files []*ignore.File
	for _, text := range o.ignore {
		files = append(files, ignore.Parse(text, opt))
	}
	return ignore.NewChain(append(files, ignore.Parse(exclude, opt))...)
}

// attributes compiles the attribute rules outside the tree.
func (o *outside) attributes() *attr.Chain {
	opt := &attr.Options{FoldCase: o.fold, Macros: true}
	var files []*attr.File
	for _, text := range o.attrs {
		files = append(files, attr.Parse(text, opt))
	}
	return attr.NewChain(attr.Parse(o.info, opt), files...)
}

// record names the rules by the ids of their texts.
func (o *outside) record(alg oid.Algorithm) Rules {
	r := Rules{Function: worktree.TreeFunction, Fold: o.fold}
	for _, text := range o.ignore {
		r.Ignore = append(r.Ignore, alg.Sum(oid.Blob, text))
	}
	if len(o.exclude) > 0 {
		r.Exclude = alg.Sum(oid.Blob, o.exclude)
	}
	return r
}

// keep stores the texts that a record names.
func (o *outside) keep(ctx context.Context, stage *cas.Stage) error {
	for _, text := range append(o.ignore, o.exclude) {
		if len(text) == 0 {
			continue
		}
		if _, err := stage.Put(ctx, oid.Blob, text, oid.ID{}); err != nil {
			return err
		}
	}
	return nil
}
