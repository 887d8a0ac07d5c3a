package engine

import (
	"os"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/away"
)

// TestWhoFollowedAGitRemoteHasNothingOfItOpen looks at the descriptors of this process: the packs of the bare repository
// beside the store are opened by each push.
func TestWhoFollowedAGitRemoteHasNothingOfItOpen(t *testing.T) {
	p := newPlace(t, true)
	p.write("f", "0")
	e := p.open()
	p.snap(e, "0", nil)
	m := p.newGitRemote(e)
	before := p.opened("/remotes/") // by who added it
	pushes, stop := p.following(e, m, nil, away.Follow{})
	p.must(soon(t, pushes, "the first push"))
	p.write("f", "1")
	p.snap(e, "1", nil)
	p.must(soon(t, pushes, "the second push"))
	if p.opened("/remotes/") <= before {
		t.Error("while it follows nothing is open, and this test sees nothing")
	}
	p.must(stop())
	if n := p.opened("/remotes/"); n > before {
		t.Errorf("%d files are open, %d before", n, before)
	}
}

// opened counts the descriptors of this process to files below the worktree whose path has a part.
func (p *place) opened(part string) (n int) {
	list, err := os.ReadDir("/proc/self/fd")
	p.must(err)
	for _, fd := range list {
		to, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err == nil && strings.HasPrefix(to, p.dir) && strings.Contains(to, part) {
			n++
		}
	}
	return n
}
