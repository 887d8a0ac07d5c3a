package gitconf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/trust"
)

// checkLayout compares what is found from a directory with git rev-parse; both
// may refuse. It returns nil if they do.
func checkLayout(t *testing.T, p *place, dir string, opt *Options) *Layout {
	t.Helper()
	out, gitErr := p.try(dir, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--git-path", "index", "--git-path", "objects", "--is-bare-repository", "--show-object-format")
	l, err := Discover(p.path(dir), opt)
	if refuses := err != nil || len(l.UnknownExtensions) > 0; refuses != (gitErr != nil) {
		t.Errorf("from %s: %v, git has %v", dir, err, gitErr)
		return nil
	}
	if gitErr != nil {
		return l
	}
	bare := "false"
	if l.Bare {
		bare = "true"
	}
	got := strings.Join([]string{l.GitDir, l.CommonDir, l.IndexFile, l.Objects, bare, l.Algorithm.String()}, "\n")
	if want := strings.TrimSpace(out); asGit(got) != asGit(want) {
		t.Errorf("from %s:\n got %s\nwant %s", dir, got, want)
	}
	// Inside a git directory git knows no worktree unless one is configured.
	top, err := p.try(dir, "rev-parse", "--show-toplevel")
	if top = strings.TrimSuffix(top, "\n"); err != nil {
		top = ""
	}
	if asGit(l.Worktree) != asGit(top) {
		t.Errorf("from %s: worktree %q, git has %q", dir, l.Worktree, top)
	}
	return l
}

// asGit gives paths as git has them: with slashes, and of a machine around Wine without
// the drive.
func asGit(paths string) string {
	return strings.ReplaceAll(filepath.ToSlash(paths), "Z:/", "/")
}

func commit(p *place, dir string) {
	p.t.Helper()
	p.git(dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
}

func TestRepositoriesOfEveryKindAreFound(t *testing.T) {
	p := newPlace(t)
	p.git(".", "init", "-q", "main")
	p.mkdir("main/sub/deep")
	commit(p, "main")
	p.git("main", "worktree", "add", "-q", "../linked")
	p.mkdir("linked/sub")
	p.git(".", "init", "-q", "--bare", "bare.git")
	p.git(".", "init", "-q", "--separate-git-dir", "elsewhere.git", "separate")
	p.git(".", "init", "-q", "--object-format=sha256", "sha256")
	p.git("main", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", p.path("linked"), "sub/module")
	p.git(".", "clone", "-q", "--depth=1", "file://"+asGit(p.path("main")), "shallow")
	p.git(".", "clone", "-q", "--filter=blob:none", "file://"+asGit(p.path("main")), "partial")
	p.git("main", "worktree", "add", "-q", "../sparse")
	p.git("sparse", "sparse-checkout", "set", "--cone", "sub")
	p.mkdir("main/.git-is-no-repository/.git")
	if err := os.Symlink("main", p.path("alias")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{
		"main", "main/sub/deep", "main/.git", "main/.git/objects", "main/.git/refs/heads", "linked", "linked/sub", "main/.git/worktrees/linked", "bare.git", "bare.git/hooks",
		"separate", "elsewhere.git", "sha256", "main/sub/module", "main/.git/modules/sub/module", "shallow", "partial", "sparse", "main/.git-is-no-repository", "main/.git-is-no-repository/.git",
		"alias", "alias/sub", "home", ".",
	} {
		checkLayout(t, p, dir, p.options())
	}
	if l, _ := Discover(p.path("partial"), p.options()); l == nil || !l.PartialClone {
		t.Error("partial clone is not known as one")
	}
	if l, _ := Discover(p.path("sha256"), p.options()); l == nil || l.Algorithm != oid.SHA256 || l.RefStorage != "files" || l.Extensions["objectformat"] != "sha256" {
		t.Errorf("sha256: %+v", l)
	}
	if _, err := Discover(p.path("home"), p.options()); !errors.Is(err, ErrNotRepository) {
		t.Errorf("home: %v", err)
	}
}

func TestConfiguredWorktreesAreFound(t *testing.T) {
	p := newPlace(t)
	p.git(".", "init", "-q", "r")
	p.mkdir("tree/sub")
	commit(p, "r")
	p.git("r", "worktree", "add", "-q", "../linked")
	dirs := []string{"r", "r/.git", "linked"}
	set := func(settings ...string) {
		t.Helper()
		for i := 0; i < len(settings); i += 2 {
			file := p.path("r/.git/config")
			if name, ok := strings.CutPrefix(settings[i], "worktree:"); ok {
				file, settings[i] = p.path("r/.git/config.worktree"), name
			}
			if settings[i+1] == "" {
				p.git("home", "config", "--file", file, "--unset-all", settings[i])
			} else {
				p.git("home", "config", "--file", file, settings[i], settings[i+1])
			}
		}
		for _, dir := range dirs {
			checkLayout(t, p, dir, p.options())
		}
	}
	set("core.worktree", p.path("tree"))
	set("core.worktree", "../../tree")
	set("core.bare", "true") // with core.worktree: a contradiction
	set("core.worktree", "")
	set("core.bare", "")
	set("extensions.worktreeConfig", "true", "worktree:core.worktree", p.path("tree"))
	set("worktree:core.worktree", "", "worktree:core.bare", "true")
	set("core.bare", "maybe")
	set("core.bare", "", "core.repositoryFormatVersion", "1")
	set("extensions.worktreeConfig", "maybe")
}

func TestExtensionsAreObeyedOrNamed(t *testing.T) {
	for _, c := range []struct {
		config  string
		unknown string
	}{
		{"[core]\n\trepositoryformatversion = 0\n[extensions]\n\tunheard = 1\n", ""},
		{"[core]\n\trepositoryformatversion = 1\n[extensions]\n\tunheard = 1\n\talso = x\n", "also unheard"},
		{"[core]\n\trepositoryformatversion = 1\n[extensions]\n\tnoop = 1\n\tpreciousObjects = true\n\tpartialClone = origin\n", ""},
		{"[core]\n\trepositoryformatversion = 0\n[extensions]\n\tobjectFormat = sha1\n", "objectformat"},
		{"[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha1\n\tnoop-v1\n", ""},
		{"[core]\n\trepositoryformatversion = 2\n", "version 2"},
		{"[extensions]\n\tpartialClone = origin\n", ""},
		{"", ""},
	} {
		p := newPlace(t)
		p.git(".", "init", "-q", "r")
		p.write("r/.git/config", c.config)
		l := checkLayout(t, p, "r", p.options())
		if l == nil || strings.Join(l.UnknownExtensions, " ") != c.unknown {
			t.Errorf("%q: %+v", c.config, l)
			continue
		}
		if l.PartialClone != strings.Contains(c.config, "partialClone") {
			t.Errorf("%q: partial clone is %v", c.config, l.PartialClone)
		}
	}
}

func TestNewExtensionsAreKnown(t *testing.T) {
	// This git is too old to be asked about these.
	p := newPlace(t)
	p.git(".", "init", "-q", "r")
	p.write("r/.git/config", "[core]\n\trepositoryformatversion = 1\n[extensions]\n\trefStorage = reftable\n\trelativeWorktrees = true\n")
	l, err := Discover(p.path("r"), p.options())
	if err != nil || l.RefStorage != "reftable" || len(l.UnknownExtensions) > 0 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestBrokenRepositoriesAreNotPassedOver(t *testing.T) {
	p := newPlace(t)
	p.git(".", "init", "-q", "outer")
	for name, content := range map[string]string{
		"nowhere": "gitdir: ../nothing\n", "empty": "", "no path": "gitdir: \n", "other": "hello", "no blank": "gitdir:../.git\n", "no newline": "gitdir: ../.git", "crlf": "gitdir: ../.git\r\n\n",
	} {
		p.write("outer/"+name+"/.git", content)
		l := checkLayout(t, p, "outer/"+name, p.options())
		if _, err := Discover(p.path("outer/"+name), p.options()); l == nil && err != nil && !errors.Is(err, ErrBroken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.write("outer/.git/config", "[core\n")
	checkLayout(t, p, "outer", p.options())
	if _, err := Discover(p.path("outer"), p.options()); !errors.Is(err, ErrSyntax) {
		t.Errorf("broken configuration: %v", err)
	}
}

func TestHeadDecidesWhatIsAGitDirectory(t *testing.T) {
	for _, head := range []string{
		"ref: refs/heads/x\n", "ref:refs/heads/x", "ref: \t refs/heads/x\n", "ref: heads/x\n", "ref: refs", "", "x", "0123456789012345678901234567890123456789\n",
		"0123456789012345678901234567890123456789012345678901234567890123\n", "01234567890123456789012345678901234567", "0123456789abcdefABCDEF678901234567890123456789x",
	} {
		p := newPlace(t)
		p.git(".", "init", "-q", "r")
		p.write("r/.git/HEAD", head)
		checkLayout(t, p, "r", p.options())
	}
}

func TestCeilingsAreObeyed(t *testing.T) {
	gittest.Links(t)
	p := newPlace(t)
	p.git(".", "init", "-q", "r")
	p.mkdir("r/a/b/c")
	if err := os.Symlink("r", p.path("alias")); err != nil {
		t.Fatal(err)
	}
	const list = string(os.PathListSeparator)
	for _, c := range []string{
		"", p.path("r"), p.path("r/a"), p.path("r/a/"), p.path("r/a/b/c"), p.path("r/a/b"), p.path("alias/a"), list + p.path("alias/a"), list + p.path("r/a"), "relative" + list + p.path("r/a"), p.path("r/x"), "/", p.path("r/a/b") + list + p.path("r"),
	} {
		p.env["GIT_CEILING_DIRECTORIES"] = c
		for _, dir := range []string{"r/a/b/c", "r/a/b", "r/a", "r"} {
			checkLayout(t, p, dir, p.options())
		}
	}
}

func TestAnInheritedRepositoryIsIgnored(t *testing.T) {
	p := newPlace(t)
	p.git(".", "init", "-q", "r")
	p.git(".", "init", "-q", "other")
	p.mkdir("r/sub")
	p.env["GIT_DIR"] = p.path("other/.git")
	p.env["GIT_WORK_TREE"] = p.path("other")
	p.env["GIT_INDEX_FILE"] = p.path("other/index2")
	p.env["GIT_OBJECT_DIRECTORY"] = p.path("other/.git/objects")
	l, err := Discover(p.path("r/sub"), p.options())
	if err != nil || l.Worktree != p.path("r") || l.GitDir != p.path("r/.git") || l.IndexFile != p.path("r/.git/index") || l.Objects != p.path("r/.git/objects") {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestOwnershipDecidesTrust(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give files to another user")
	}
	p := newPlace(t)
	p.git(".", "init", "-q", "r")
	p.git(".", "init", "-q", "--bare", "bare.git")
	p.git(".", "init", "-q", "--separate-git-dir", "elsewhere.git", "separate")
	own := func(name string, uid int) {
		t.Helper()
		if err := os.Lchown(p.path(name), uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	check := func(dir string) {
		t.Helper()
		_, gitErr := p.try(dir, "rev-parse", "--git-dir")
		_, err := Discover(p.path(dir), p.options())
		if (err == nil) != (gitErr == nil) || err != nil && !errors.Is(err, trust.ErrForeign) {
			t.Errorf("%s is not trusted: %v, git has %v", dir, err, gitErr)
		}
	}
	for _, name := range []string{"r", "r/.git", "bare.git", "separate", "separate/.git", "elsewhere.git"} {
		dir, _, _ := strings.Cut(name, "/")
		if name == "elsewhere.git" {
			dir = "separate"
		}
		check(dir)
		own(name, 12345)
		check(dir)
		p.env["SUDO_UID"] = "12345"
		check(dir)
		p.env["SUDO_UID"] = "54321"
		check(dir)
		delete(p.env, "SUDO_UID")
		for _, value := range []string{"*", p.path(dir), p.path("x"), "~/../" + dir, "*\n\tdirectory =", "\n\tdirectory = *", p.path(dir) + "/"} {
			p.write("home/.gitconfig", "[safe]\n\tdirectory = "+value+"\n")
			if !strings.HasPrefix(value, "~") && !strings.HasSuffix(value, "/") { // compared as text by old versions
				check(dir)
			}
		}
		p.write("home/.gitconfig", "")
		p.env["GIT_CONFIG_COUNT"], p.env["GIT_CONFIG_KEY_0"], p.env["GIT_CONFIG_VALUE_0"] = "1", "safe.directory", "*"
		check(dir)
		delete(p.env, "GIT_CONFIG_COUNT")
		own(name, 0)
	}
	own("r", 12345)
	p.write("r/.git/config", "[safe]\n\tdirectory = *\n")
	check("r")
	p.write("home/.gitconfig", "[safe]\n\tdirectory = "+p.dir+"/*\n") // since git 2.46
	if _, err := Discover(p.path("r"), p.options()); err != nil {
		t.Errorf("safe.directory DIR/*: %v", err)
	}
}

// What git itself lets pass: a linked worktree of the user's own whose common
// directory, a .git of the user's own that is a link whose target, or a
// core.worktree that is somebody else's.
func TestWhatIsReachedFromARepositoryBelongsToTheUserToo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give files to another user")
	}
	for name, make := range map[string]func(p *place) (dir, foreign string){
		"common directory": func(p *place) (string, string) {
			p.git("r", "worktree", "add", "-q", "../linked")
			return "linked", "r/.git"
		},
		"target of a link": func(p *place) (string, string) {
			p.mkdir("other")
			if err := errors.Join(os.Rename(p.path("r/.git"), p.path("elsewhere")), os.Symlink("../elsewhere", p.path("r/.git"))); err != nil {
				t.Fatal(err)
			}
			return "r", "elsewhere"
		},
		"objects": func(p *place) (string, string) {
			if err := errors.Join(os.Rename(p.path("r/.git/objects"), p.path("objects")), os.Symlink("../../objects", p.path("r/.git/objects"))); err != nil {
				t.Fatal(err)
			}
			return "r", "objects"
		},
		"core.worktree": func(p *place) (string, string) {
			p.mkdir("tree")
			p.git("r", "config", "core.worktree", p.path("tree"))
			return "r", "tree"
		},
	} {
		p := newPlace(t)
		p.git(".", "init", "-q", "r")
		commit(p, "r")
		dir, foreign := make(p)
		if _, err := Discover(p.path(dir), p.options()); err != nil {
			t.Errorf("%s of our own: %v", name, err)
		}
		if err := os.Lchown(p.path(foreign), 12345, 12345); err != nil {
			t.Fatal(err)
		}
		var f *trust.Foreign
		if _, err := Discover(p.path(dir), p.options()); !errors.As(err, &f) || f.Owner != "user 12345" {
			t.Errorf("%s of somebody else: %v", name, err)
		}
		p.write("home/.gitconfig", "[safe]\n\tdirectory = "+p.path(dir)+"\n")
		if _, err := Discover(p.path(dir), p.options()); err != nil {
			t.Errorf("%s of somebody else, allowed: %v", name, err)
		}
	}
}

func TestOfARepositoryOfSomebodyElseNothingIsRead(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give files to another user")
	}
	p := newPlace(t)
	p.git(".", "init", "-q", "r")
	p.git(".", "init", "-q", "r/nested")
	for _, dir := range []string{"r", "r/nested"} {
		p.write(dir+"/.git/config", "[this is no configuration")
		if err := os.Lchown(p.path(dir+"/.git"), 12345, 12345); err != nil {
			t.Fatal(err)
		}
		for name, find := range map[string]func(string, *Options) (*Layout, error){"Discover": Discover, "Nested": Nested} {
			if _, err := find(p.path(dir), p.options()); !errors.Is(err, trust.ErrForeign) {
				t.Errorf("%s of %s: %v", name, dir, err)
			}
		}
	}
}
