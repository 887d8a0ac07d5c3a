package gitconf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// A Layout says where the parts of a repository lie and of what kind they are.
// All paths are absolute. It is a picture of the moment of [Discover]; it may
// be shared, and holds no open files.
type Layout struct {
	Worktree  string // top of the worktree; "" if there is none (bare, or inside a git directory)
	GitDir    string // of this worktree
	CommonDir string // what all worktrees share; GitDir of the main worktree
	Objects   string // directory of objects
	IndexFile string

	Algorithm    oid.Algorithm
	Bare         bool   // core.bare
	RefStorage   string // "files", "reftable", or another; with where they lie if that is elsewhere ("files:///DIR")
	PartialClone bool   // objects may be missing because a remote promised them

	// RefsElsewhere is what the environment says instead of RefStorage
	// (GIT_REFERENCE_BACKEND, which git knows since version 2.54), "" if nothing.
	RefsElsewhere string

	// Extensions are the repository's extensions.* in lower case.
	Extensions map[string]string

	// UnknownExtensions are those, and the version, that mean something about
	// the repository that this package does not know, sorted. A repository that
	// has any must not be written to.
	UnknownExtensions []string

	opt            *Options
	found          found
	worktreeConfig bool
}

// extensions that are known, and the version that makes them valid: git obeys
// some in version 0 for the sake of old repositories
// (git-scm.com/docs/repository-version).
var extensions = map[string]int64{
	"noop": 0, "preciousobjects": 0, "partialclone": 0, "worktreeconfig": 0,
	"noop-v1": 1, "objectformat": 1, "refstorage": 1, "relativeworktrees": 1,
}

// layout reads the settings that belong to the shape of a repository. As in
// git they count in the repository's own file only, without includes.
func (s *search) layout(f found) (*Layout, error) {
	if err := s.judge(f); err != nil {
		return nil, err
	}
	l := &Layout{
		GitDir: f.gitDir, CommonDir: f.common, Objects: filepath.Join(f.common, "objects"),
		Algorithm: oid.SHA1, RefStorage: "files", Extensions: map[string]string{}, opt: s.opt, found: f,
	}
	own, err := s.ownFile(filepath.Join(f.common, "config"), Local)
	if err != nil {
		return nil, err
	}
	if err := l.format(own); err != nil {
		return nil, err
	}
	if backend := refStorage(s.opt.env("GIT_REFERENCE_BACKEND")); backend != l.RefStorage {
		l.RefsElsewhere = backend
	}
	if l.worktreeConfig {
		worktree, err := s.ownFile(filepath.Join(f.gitDir, "config.worktree"), Worktree)
		if err != nil {
			return nil, err
		}
		own = newConfig(append(own.settings, worktree.settings...), s.opt)
	}
	if err := l.place(own); err != nil {
		return nil, err
	}
	if err := s.judgeWorktree(l); err != nil {
		return nil, err
	}
	l.IndexFile = filepath.Join(f.gitDir, "index")
	return l, nil
}

func (s *search) ownFile(path string, scope Scope) (*Config, error) {
	data, err := readSmall(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return newConfig(nil, s.opt), nil
	}
	if err != nil {
		return nil, err
	}
	settings, err := parse(data, path, scope)
	if err != nil {
		return nil, err
	}
	c := newConfig(settings, s.opt)
	_, err = c.Bool("core.bare", false) // must be right even if another file decides
	return c, err
}

// format reads version and extensions.
func (l *Layout) format(own *Config) error {
	version, err := own.Int("core.repositoryformatversion", 0) // of others than 0 and 1 nothing is known
	if err != nil {
		return err
	}
	if version < 0 || version > 1 {
		l.UnknownExtensions = append(l.UnknownExtensions, fmt.Sprintf("version %d", version))
	}
	for _, s := range own.settings {
		if name, ok := strings.CutPrefix(s.Name, "extensions."); ok {
			l.Extensions[name] = s.Value
		}
		if strings.HasPrefix(s.Name, "remote.") && strings.HasSuffix(s.Name, ".promisor") {
			v, ok := parseBool(s.Value)
			l.PartialClone = l.PartialClone || s.Bare || ok && v
		}
	}
	for name := range l.Extensions {
		since, known := extensions[name]
		if known && since > version || !known && version > 0 {
			l.UnknownExtensions = append(l.UnknownExtensions, name)
		}
	}
	slices.Sort(l.UnknownExtensions)
	if l.worktreeConfig, err = own.Bool("extensions.worktreeconfig", false); err != nil {
		return err
	}
	l.PartialClone = l.PartialClone || l.Extensions["partialclone"] != ""
	if name, ok := l.Extensions["refstorage"]; ok {
		l.RefStorage = refStorage(name)
	}
	switch name, ok := l.Extensions["objectformat"]; {
	case !ok || name == "sha1":
	case name == "sha256":
		l.Algorithm = oid.SHA256
	default:
		return fmt.Errorf("%s: %w: objects are named by %q", l.CommonDir, ErrBroken, name)
	}
	return nil
}

// refStorage brings what is said about refs into one form: a kind alone is one in
// the usual place.
func refStorage(s string) string { return strings.TrimSuffix(s, "://") }

// place finds the worktree. In the git directory of a linked worktree core.bare
// and core.worktree of the shared file count only if worktrees have files of
// their own; they belong to the main worktree.
func (l *Layout) place(own *Config) error {
	if l.CommonDir != l.GitDir && !l.worktreeConfig {
		own = nil
	}
	bare, err := own.Bool("core.bare", false)
	if err != nil {
		return err
	}
	_, known := own.decides("core.bare")
	tree, isSet := own.String("core.worktree")
	switch {
	case bare: // wins over core.worktree; git warns that both make no sense
		l.Bare = true
	case isSet:
		l.Worktree = resolve(Inside(l.GitDir, filepath.FromSlash(tree)))
	case l.found.top != "":
		l.Worktree = l.found.top
	default:
		l.Bare = !known
	}
	return nil
}

// Swallows reports whether core.worktree puts the worktree around the directory
// in which the .git was found, without a .git there that leads back to this git
// directory. Git makes no such layout; whoever wrote an archive can.
func (l *Layout) Swallows() bool {
	f := l.found
	if f.top == "" || l.Worktree == f.top {
		return false
	}
	rel, err := filepath.Rel(l.Worktree, f.top)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return false
	}
	back, err := beside(l.Worktree)
	if err != nil || back.gitDir == "" {
		return true
	}
	a, errA := os.Stat(back.gitDir)
	b, errB := os.Stat(l.GitDir)
	return errA != nil || errB != nil || !os.SameFile(a, b)
}

// branch returns the short name of the branch that is checked out, "" if none
// is. Where refs are not files it cannot be told, and is "".
func (l *Layout) branch() string {
	path := filepath.Join(l.GitDir, "HEAD")
	text, err := os.Readlink(path)
	if err != nil {
		data, err := regular.Read(path, pathBytesMax)
		if err != nil {
			return ""
		}
		ref, ok := strings.CutPrefix(string(data), "ref:")
		if !ok {
			return ""
		}
		text = strings.TrimSpace(ref)
	}
	name, ok := strings.CutPrefix(text, "refs/heads/")
	if !ok || name == ".invalid" {
		return ""
	}
	return name
}
