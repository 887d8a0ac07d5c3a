package gitconf

import (
	"strings"

	"github.com/seed-82afce7a/rewind/internal/wildmatch"
)

// The condition "hasconfig:remote.*.url:PATTERN" holds if any remote of the repository
// has a URL that matches, whatever file says so, also one that is read later
// (git-config(1), "Conditional includes"). So when the first such condition is met all
// files are read once for the URLs alone. What a condition includes may have none there:
// else it could decide about itself.

// remotes is what a loader knows of the URLs of remotes.
type remotes struct {
	looking bool     // it looks for URLs alone
	known   bool     // list is complete
	list    []string // the URLs
	under   int      // how many conditions the file that is read stands under
}

// check refuses a URL under a condition, while URLs are looked for.
func (r *remotes) check(s *Setting) error {
	if r.looking && r.under > 0 && isRemoteURL(s) {
		return s.fault("a remote's URL in a file that is included under a condition, where another condition asks for URLs")
	}
	return nil
}

func isRemoteURL(s *Setting) bool {
	name, ok := strings.CutPrefix(s.Name, "remote.")
	return ok && strings.HasSuffix(name, ".url")
}

// hasRemote reports whether the condition behind "hasconfig:" holds.
func (l *loader) hasRemote(condition string) (bool, error) {
	pattern, ok := strings.CutPrefix(condition, "remote.*.url:")
	if !ok || l.remotes.looking {
		return ok, nil
	}
	if !l.remotes.known {
		look := &loader{opt: l.opt, layout: l.layout, branch: l.branch, remotes: remotes{looking: true}}
		c, err := l.layout.load(look)
		if err != nil {
			return false, err
		}
		for _, s := range c.settings {
			if isRemoteURL(&s) {
				l.remotes.list = append(l.remotes.list, s.Value)
			}
		}
		l.remotes.known = true
	}
	glob := wildmatch.Compile(pattern, wildmatch.Exact)
	for _, url := range l.remotes.list {
		if glob.Match([]byte(url)) {
			return true, nil
		}
	}
	return false, nil
}
