package settings

import (
	"fmt"
	"hash/fnv"
	"strings"
	"sync"

	"github.com/seed-82afce7a/rewind/internal/ignore"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// builtinSecrets is what the pattern "builtin" of rewind.secrets stands for:
// names under which keys and passwords usually lie.
const builtinSecrets = `.env
.env.*
!.env.example
!.env.sample
!.env.template
*.pem
*.key
*.p12
*.pfx
*.jks
*.keystore
id_rsa
id_dsa
id_ecdsa
id_ed25519
.netrc
.npmrc
.pypirc
.htpasswd
credentials
credentials.json
service-account*.json
secrets.y*ml
*.tfvars
*.kdbx
`

// policy is what the settings say about paths that the index does not know.
// Patterns have gitignore's syntax and are relative to the worktree.
type policy struct {
	include, exclude, secrets *ignore.Chain
	maxFileSize               int64
	gitMaxFileSize            int64
	largeDir                  int
	all                       bool // every ignored file is recorded
	small                     *worktree.Small
	digest                    uint64
}

// Policy returns what the settings say about paths, nil if they say nothing.
func (s *Settings) Policy() worktree.Policy {
	if len(s.Include)+len(s.Exclude)+len(s.Secrets) == 0 && s.MaxFileSize == 0 && s.GitMaxFileSize == 0 && s.LargeDir == 0 && s.Ignored != IgnoredSmall && s.Ignored != IgnoredAll {
		return nil
	}
	p := &policy{maxFileSize: s.MaxFileSize, gitMaxFileSize: s.GitMaxFileSize, largeDir: s.LargeDir, all: s.Ignored == IgnoredAll, small: s.small()}
	p.include, p.exclude, p.secrets = chainOf(s.Include), chainOf(s.Exclude), chainOf(s.Secrets)
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q %q %d %d %d %s", s.Include, s.Exclude, s.Secrets, s.MaxFileSize, s.LargeDir, s.GitMaxFileSize, s.Ignored)
	p.digest = h.Sum64()
	return p
}

// LikeSecret reports whether the built-in list takes a file for one with keys or
// passwords, by its name. What a package manager has installed is published, and
// holds nobody's secret.
func LikeSecret(path string) bool {
	return builtin().Ignored(path, false, noFile) && !installed().Ignored(path, false, noFile)
}

var installed = sync.OnceValue(func() *ignore.Chain {
	return chainOf([]string{"site-packages/", "dist-packages/", "node_modules/"})
})

var builtin = sync.OnceValue(func() *ignore.Chain { return chainOf([]string{"builtin"}) })

func chainOf(patterns []string) *ignore.Chain {
	text := strings.Join(patterns, "\n")
	text = strings.ReplaceAll("\n"+text+"\n", "\nbuiltin\n", "\n"+builtinSecrets)
	return ignore.NewChain(ignore.Parse([]byte(text), nil))
}

// What a policy says of a path that it leaves out; see [Chose].
const (
	excludedReason = "left out by rewind.exclude"
	largeReason    = "larger than rewind.maxFileSize ("
	fullReason     = " untracked files or more (rewind.largeDir); what is tracked in it is recorded"
)

// Chose reports whether a path was left out, for this reason, because a setting
// says so of paths like it. That a store has no more room is nobody's choice of a
// path.
func Chose(reason string) bool {
	return reason == excludedReason || strings.HasPrefix(reason, largeReason) || strings.HasSuffix(reason, fullReason)
}

// Place decides about one path, as [worktree.Policy] says.
func (p *policy) Place(path string, isDir, ignored bool, size int64) (worktree.Place, string) {
	matches := func(c *ignore.Chain) bool { return c.Digest() != 0 && c.Ignored(path, isDir, noFile) }
	switch {
	case matches(p.exclude):
		return worktree.Nowhere, excludedReason
	case !isDir && p.maxFileSize > 0 && size > p.maxFileSize:
		return worktree.Nowhere, fmt.Sprintf(largeReason+"%d bytes)", p.maxFileSize)
	case ignored && (matches(p.include) || isDir && p.mayInclude(path)):
		return worktree.Overlay, ""
	case ignored && p.all:
		return worktree.Unasked, ""
	case !ignored && !isDir && (p.gitMaxFileSize > 0 && size > p.gitMaxFileSize || matches(p.secrets)):
		return worktree.Overlay, ""
	}
	return worktree.Usual, ""
}

// Full decides about a directory, as [worktree.Policy] says. The reason does
// not tell how many files there are: a worktree in which only that changes is
// the same.
func (p *policy) Full(files int) string {
	if p.largeDir == 0 || files < p.largeDir {
		return ""
	}
	return fmt.Sprintf("holds %d"+fullReason, p.largeDir)
}

// mayInclude reports whether something below an ignored directory could be
// opted in. Looking into a directory for nothing costs time only.
func (p *policy) mayInclude(string) bool { return p.include.Digest() != 0 }

// Digest is equal for policies that decide equally.
func (p *policy) Digest() uint64 { return p.digest }

func noFile(string) *ignore.File { return nil }
