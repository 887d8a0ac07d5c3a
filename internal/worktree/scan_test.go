package worktree

import (
	"os"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/gittest"
)

func TestACleanCheckoutIsNotRead(t *testing.T) {
	gittest.Stats(t)
	p := newRepo(t)
	for _, f := range []string{"a", "d/b", "d/e/c"} {
		p.Write(f, f)
	}
	p.Git("add", "-A")
	old := time.Now().Add(-time.Hour)
	for _, f := range []string{"a", "d/b", "d/e/c"} {
		p.must(os.Chtimes(p.Path(f), old, old))
	}
	time.Sleep(60 * time.Millisecond)
	p.Git("update-index", "--refresh")
	r := p.scan()
	p.checkGit(r)
	p.checkDisk(r)
	if r.Counters.Opened != 0 || r.Counters.Dirs != 3 {
		t.Errorf("counters %+v", r.Counters)
	}
	if !r.State.Overlay.IsZero() {
		t.Errorf("overlay %v: %v", r.State.Overlay, p.recorded(r))
	}
}

func TestUnchangedFilesAreNotOpenedAndUnchangedDirectoriesNotListed(t *testing.T) {
	p := newPlace(t)
	for _, f := range []string{"a", "d/b", "d/e/c", "d/e/.gitignore"} {
		p.Write(f, f)
	}
	p.now = time.Now().Add(time.Hour).UnixNano()
	first := p.scan()
	second := p.scan()
	if c := second.Counters; c.Opened != 0 || c.Listed != 0 || c.Trees != 0 || c.Stats != 4 || c.Dirs != 3 {
		t.Errorf("counters %+v", c)
	}
	if first.State != second.State {
		t.Errorf("states %+v, %+v", first.State, second.State)
	}
	p.Write("d/b", "changed, not created")
	third := p.scan()
	if c := third.Counters; c.Opened != 1 || c.Listed != 0 {
		t.Errorf("counters %+v", c)
	}
	p.checkDisk(third)
}

func TestUnderProtectHFSANameIsRefusedThatIsGitUpToAByteThatIsNoUTF8(t *testing.T) {
	for name, want := range map[string]bool{".git\xff": true, ".g\u200cit": true, ".gitx": false} {
		if got := (&Settings{ProtectHFS: true}).refused(name, false); got != want {
			t.Errorf("%q is refused: %v", name, got)
		}
	}
}
