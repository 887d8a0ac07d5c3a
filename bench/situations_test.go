package bench

import (
	"bytes"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/bench/report"
)

// git stash create keeps what git tracks, and nothing else.
func TestASituationSaysWhoGaveBackAllOfIt(t *testing.T) {
	t.Parallel()
	r, err := Run(t.Context(), Options{Files: 40, Contenders: []string{"git-stash", "pi-rewind", "git-status"}, Workloads: []string{"situations"}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"a tracked file is edited\n  exact: pi-rewind, git stash create\n",
		"an untracked file is deleted\n  exact: pi-rewind\n  git stash create is not exact: 1 paths missing (u)\n",
		"a file is staged, and stays so\n  exact: git stash create\n  pi-rewind is not exact: git diff --cached",
		"an empty directory is deleted\n  exact: nobody\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &text)
		}
	}
	for _, one := range r.Results {
		for _, l := range one.Lines {
			if l.Exact == "" || (l.Exact == report.NotExact) != (l.Inexact != "") || len(l.Seconds) != 0 {
				t.Errorf("%s: %+v", one.About, l)
			}
		}
	}
	if len(r.Results) != len(situations()) {
		t.Errorf("%d results of %d situations", len(r.Results), len(situations()))
	}
}

func TestARewindThatIsNotExactInASituationFailsTheRun(t *testing.T) {
	t.Parallel()
	_, err := Run(t.Context(), Options{Binary: fakeRewind(t, "restore"), Files: 40, Contenders: []string{"rewind"}, Workloads: []string{"situations"}, Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "situations") {
		t.Errorf("%v", err)
	}
}
