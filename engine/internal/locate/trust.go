package locate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/trust"
)

// What becomes of what is not the user's own; who decides that is internal/trust.

// leaveGitOut returns the place of a directory as one without git, because something
// of the repository is not the user's own. Nothing of that is read or written then.
func leaveGitOut(dir string, why *trust.Foreign, opt Options) (*Place, error) {
	base := dir
	if named := why.Named; named != "" && sameOwners(named, dir) {
		base = named
	}
	p, err := without(dir, base, opt)
	if err != nil {
		return nil, err
	}
	p.Aside = why
	return p, nil
}

// sameOwners reports whether a directory and all above it, up to the top of a
// repository, belong to one user. Then the worktree is what git would take for
// it: in a container, say, where files have owners of their own. Otherwise the
// repository lies around a directory that has nothing to do with it.
func sameOwners(top, dir string) bool {
	for ; Within(top, dir); dir = filepath.Dir(dir) {
		if !trust.SameOwner(top, dir) {
			return false
		}
		if dir == top {
			return true
		}
	}
	return false
}

// Warning says that git is left out, and what to do about it; "": it is not.
func (p *Place) Warning() string {
	f := p.Aside
	if f == nil {
		return ""
	}
	way := "make it yours (chown) to have git in it"
	switch {
	case f.Why != "":
		way = "run rewind there to record that"
	case f.Named == "": // of a store
		way = fmt.Sprintf("\"sudo chown -R %s %s\" makes it yours", trust.Self(), f.Path)
	case f.Named != "":
		way = fmt.Sprintf("\"git config --global --add safe.directory %s\" allows it, for git too", f.Named)
	}
	return fmt.Sprintf("git is left out, and %s is recorded in your own store: %v; %s", p.Root, f, way)
}

// checkOwner checks that a repository's store, its stat table and their files
// belong to whom they should.
func (p *Place) checkOwner(l *gitconf.Layout, opt Options) error {
	dirs := slices.Compact([]string{p.Store, p.Own})
	paths, files := []string{}, []string{}
	for _, dir := range dirs {
		files = append(files, filepath.Join(dir, StoreFile))
		paths = append(paths, openedIn(dir)...)
	}
	judge := trust.Judge{Env: opt.Getenv}
	err := judge.Owns("", paths...)
	if err == nil || l.Owns(paths...) == nil && !slices.ContainsFunc(files, denied) {
		return nil
	}
	return err
}

// denied reports whether the user may not use a store that the settings allow.
func denied(store string) bool {
	f, err := os.OpenFile(store, os.O_RDWR, 0)
	if err == nil {
		f.Close()
	}
	return errors.Is(err, os.ErrPermission)
}
