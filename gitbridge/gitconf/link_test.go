package gitconf

import (
	"os"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
)

func TestALinkToTheGitDirectoryOfALinkedWorktreeLeadsToTheRepository(t *testing.T) {
	gittest.Links(t)
	p := newPlace(t)
	p.git(".", "init", "-q", "main")
	commit(p, "main")
	p.git("main", "worktree", "add", "-q", "../linked")
	p.mkdir("elsewhere/whose")
	if err := os.Symlink(p.path("main/.git/worktrees/linked"), p.path("elsewhere/whose/.git")); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimSpace(p.git("elsewhere/whose", "rev-parse", "--path-format=absolute", "--git-common-dir"))
	for name, find := range map[string]func(string, *Options) (*Layout, error){"Discover": Discover, "Nested": Nested} {
		if l, err := find(p.path("elsewhere/whose"), p.options()); err != nil || l.CommonDir != want {
			t.Errorf("%s: %+v %v, git has %s", name, l, err, want)
		}
	}
}
