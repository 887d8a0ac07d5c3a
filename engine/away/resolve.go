package away

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/remote/depot"
)

// Resolve returns the URL of what a user names: of a bucket it has the server, whatever the environment says later; a
// path is made absolute. Git says that it is a repository of git.
func Resolve(text string, absolute func(string) (string, error)) (url string, git bool, err error) {
	file, isFile := strings.CutPrefix(text, "file://")
	switch {
	case isGitURL(text), isFile && isGitDir(file):
		url, git = text, true
	case depot.IsURL(text):
		url, err = depot.Resolve(text)
	default:
		if url, err = absolute(text); err == nil {
			git = isGitDir(url)
		}
		if err == nil && !git && strings.HasSuffix(url, ".git") {
			err = fmt.Errorf("%w: %s is no repository of git (\"git init --bare\" makes one)", records.ErrRefused, url)
		}
	}
	return url, git, err
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
			return named, true, nil
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
