package away

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/remote/depot"
)

// Resolve returns the URL of what a user names: of a bucket it has the server, whatever the environment says later; a
// path is made absolute. Git says that it is a repository of git.
func Resolve(text string, absolute func(string) (string, error)) (url string, git bool, err error) {
	file, isFile := strings.CutPrefix(text, "file://")
	switch {
	case text == "":
		err = fmt.Errorf("%w: an empty URL names no place", records.ErrRefused)
	case isGitURL(text), isFile && isGitDir(file):
		url, git = text, true
	case depot.IsURL(text):
		url, err = depot.Resolve(text)
	default:
		if url, err = absolute(text); err == nil {
			git = isGitDir(url)
		}
		if _, gone := os.Lstat(url); err == nil && isName(text) && gone != nil {
			err = fmt.Errorf("%w: there is no remote and no directory %q (\"./%s\" is a directory that is made)", records.ErrRefused, text, text)
		}
		if err == nil && !git && strings.HasSuffix(url, ".git") {
			err = fmt.Errorf("%w: %s is no repository of git (\"git init --bare\" makes one)", records.ErrRefused, url)
		}
	}
	if err == nil {
		err = keepable("the URL", url, git)
	}
	return url, git, err
}

// keepable refuses a URL that must not be written down: a list of remotes may be read by others, and is shown. What is
// the user of an http URL may be a token, as hosts of git give out; ssh asks for a key beside its user. The error does not
// repeat it.
func keepable(what, text string, git bool) error {
	scheme, rest, _ := strings.Cut(text, "://")
	place := rest[:strings.IndexAny(rest+"/", "/?#")]
	if _, err := url.Parse(text); err != nil {
		place = rest // where nobody knows what ends it
	}
	i := strings.LastIndexByte(place, '@')
	switch {
	case i < 0 || git && !strings.HasPrefix(scheme, "http") && !strings.Contains(place[:i], ":"):
		return nil
	case git:
		return fmt.Errorf("%w: %s has a name or a password in it, which would be written down: name it without, and git's credential helper can hold both (\"git help credentials\")", records.ErrRefused, what)
	}
	return fmt.Errorf("%w: %s has a name or a password in it, which would be written down", records.ErrRefused, what)
}

// Resolve is [Resolve] in a worktree, where the name of a remote of git stands for its URL.
func (r *Remotes) Resolve(text string, absolute func(string) (string, error)) (url string, git bool, err error) {
	if r.Objects.Git != nil && isName(text) {
		conf, err := r.Objects.Git.Config()
		if err != nil {
			return "", false, err
		}
		if named, ok := conf.String("remote." + text + ".url"); ok {
			if !isGitURL(named) && !strings.Contains(named, ":") && !filepath.IsAbs(named) {
				named = filepath.Join(r.Root, named)
			}
			return named, true, keepable(fmt.Sprintf("the URL of git's remote %q", text), named, true)
		}
	}
	return Resolve(text, absolute)
}

// isGitURL reports whether what a user names is a URL that only git has, or its short form of one for ssh, [user@]host:path.
func isGitURL(text string) bool {
	for _, scheme := range []string{"ssh://", "git://", "http://", "https://", "git+ssh://", "ssh+git://"} {
		if strings.HasPrefix(text, scheme) {
			return true
		}
	}
	if strings.Contains(text, "://") || strings.HasPrefix(text, "s3:") || strings.HasPrefix(text, "-") {
		return false
	}
	if host, _, ok := strings.Cut(text, ":"); ok && len(host) > 1 && !strings.ContainsAny(host, `/\`) && filepath.VolumeName(text) == "" {
		return strings.Contains(host, "@") || strings.Contains(text, "/")
	}
	return false
}

// isGitDir reports whether a directory is a repository of git.
func isGitDir(text string) bool {
	for _, dir := range []string{text, filepath.Join(text, ".git")} {
		if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
			continue
		}
		if objects, err := os.Stat(filepath.Join(dir, "objects")); err == nil && objects.IsDir() {
			return true
		}
	}
	return false
}

// A Taken is a directory in which no remote is to lie.
type Taken struct {
	Dir string
	As  string // what it is, and may be what of a remote there
}

// elsewhere refuses a directory in which no repository is to be made: one in the worktree or in another directory that is
// taken, one with files of somebody else, and one whose disk may not be there. No link on the way there hides it.
func (r *Remotes) elsewhere(ctx context.Context, m Remote) error {
	path := strings.TrimPrefix(m.URL, "file://")
	if !filepath.IsAbs(path) {
		return nil
	}
	all, err := r.Taken(ctx)
	if err != nil {
		return err
	}
	for _, t := range all {
		if within(t.Dir, path) {
			return fmt.Errorf("%w: %s lies in %s, and it would be lost with it: name a directory elsewhere, s3://BUCKET/FOLDER, or a remote of git", records.ErrRefused, path, t.As)
		}
	}
	if m.Git {
		return nil
	}
	return r.unused(path)
}

// within reports whether a path leads into a directory, by its links or by all that [dirfd.Real] resolves. Neither is enough: a
// junction is no link, and by the second a disk whose place is a folder may lie on a drive of its own.
func within(dir, path string) bool {
	return below(dir, realPath(path, filepath.EvalSymlinks)) || below(dir, realPath(path, dirfd.Real))
}

// realPath resolves what is there of a path.
func realPath(path string, resolve func(string) (string, error)) string {
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		if real, err := resolve(at); err == nil {
			return filepath.Join(real, rest)
		} else if at == filepath.Dir(at) {
			return path
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// below reports whether a real path is a directory or lies in it.
func below(dir, real string) bool {
	for at := real; !dirfd.SameDir(at, dir); at = filepath.Dir(at) {
		if at == filepath.Dir(at) {
			return false
		}
	}
	return true
}

// unused refuses a directory that has other files than a repository, and what a disk or a system has by itself. A home
// directory may have nothing but names that begin with a dot: they are others.
func (r *Remotes) unused(path string) error {
	there, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err = os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s is not there, so that nothing is made in it: is its disk mounted?", records.ErrRefused, filepath.Dir(path))
		}
		return err
	}
	if err == nil && below(path, r.Root) {
		err = fmt.Errorf("%w: %s has the worktree in it, and is no repository: name a directory that is empty, or is to be made", records.ErrRefused, path)
	}
	for _, e := range there {
		if e.Name() == "config" {
			return nil
		} else if err == nil && !slices.Contains(usual, e.Name()) && !strings.HasPrefix(e.Name(), ".Trash-") {
			err = fmt.Errorf("%w: %s has other files, such as %q, and is no repository: name a directory that is empty, or is to be made", records.ErrRefused, path, e.Name())
		}
	}
	return err
}

// usual are the names in a repository that was begun, and of what is at the top of a disk.
var usual = []string{"keys", "data", "index", "snapshots", "locks", "lost+found", "System Volume Information", "$RECYCLE.BIN", ".snapshot",
	".Trashes", ".Spotlight-V100", ".fseventsd", ".DS_Store", ".TemporaryItems", ".DocumentRevisions-V100"}
