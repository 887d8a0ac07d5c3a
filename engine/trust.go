package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-82afce7a/rewind/git/gitconf"
	"github.com/seed-82afce7a/rewind/internal/trust"
)

// What the engine does with what is not the user's own; who decides that is
// internal/trust.

// leaveGitOut makes the engine one without git, because something of the
// repository is not the user's own. Nothing of it is read or written then.
func (e *Engine) leaveGitOut(dir string, why *trust.Foreign) error {
	if e.repo != nil {
		_ = e.repo.Close() // nothing was read from it
		e.repo = nil
	}
	e.aside = why
	base := dir
	if named := why.Named; named != "" && sameOwners(named, dir) {
		base = named
	}
	return e.locateDirectory(dir, base)
}

// sameOwners reports whether a directory and all above it, up to the top of a
// repository, belong to one user. Then the worktree is what git would take for
// it: in a container, say, where files have owners of their own. Otherwise the
// repository lies around a directory that has nothing to do with it.
func sameOwners(top, dir string) bool {
	for ; within(top, dir); dir = filepath.Dir(dir) {
		if !trust.SameOwner(top, dir) {
			return false
		}
		if dir == top {
			return true
		}
	}
	return false
}

// asideWarning says that git is left out, and what to do about it.
func (e *Engine) asideWarning() string {
	f := e.aside
	way := "make it yours (chown) to have git in it"
	switch {
	case f.Why != "":
		way = "run rewind there to record that"
	case f.Named == "": // of a store
		way = fmt.Sprintf("\"sudo chown -R %s %s\" makes it yours", trust.Self(), f.Path)
	case f.Named != "":
		way = fmt.Sprintf("\"git config --global --add safe.directory %s\" allows it, for git too", f.Named)
	}
	return fmt.Sprintf("git is left out, and %s is recorded in your own store: %v; %s", e.root, f, way)
}

// ownStore checks that a repository's store, its stat table and their files
// belong to whom they should.
func (e *Engine) ownStore(l *gitconf.Layout) error {
	places := placesOf(slices.Compact([]string{e.dir, e.ownDir})...)
	judge := trust.Judge{Env: e.opt.Getenv}
	err := judge.Owns("", places...)
	if err == nil || l.Owns(places...) == nil && !denied(places) {
		return nil
	}
	return err
}

// denied reports whether the user may not use a store that the settings allow.
func denied(places []string) bool {
	for _, path := range places {
		if filepath.Base(path) != storeFile {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			f.Close()
		}
		if errors.Is(err, os.ErrPermission) {
			return true
		}
	}
	return false
}

// placesOf lists what must belong to the user before a store is opened: its
// directories, and the files that are opened by name.
func placesOf(dirs ...string) []string {
	paths := dirs
	for _, dir := range dirs {
		for _, name := range []string{storeFile, storeFile + ".lock", statTableFile, lockFile} {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths
}

// elsewhere says where a store could be made instead.
func (e *Engine) elsewhere() string {
	if e.repo != nil {
		return "\"rewind --no-git\" keeps one in your own state directory"
	}
	return "set XDG_STATE_HOME to a directory of yours"
}
