package gitbridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/internal/gitref"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A collection lists the packs that are not held, looks what the refs name, and removes
// those packs later. A job that tries again while it runs loses nothing by that. It is
// git's own collection here, which is stopped before it lists the packs, and before it
// removes them.
func TestAJobThatTriesAgainDuringACollectionLosesNothing(t *testing.T) {
	gittest.Slashes(t) // its git is a shell script
	was := patience
	patience = 50 * time.Millisecond
	defer func() { patience = was }()
	r := newRepo(t, oid.SHA1)
	b := r.openNoted()
	r.turns(b, 0, 2)
	job := r.snapshot(b, 3, map[string]string{"a/b/c": "3"})
	gate := r.pausedGit()
	gc := exec.Command("git", "gc", "-q", "--prune=now")
	gc.Dir, gc.Env = r.Dir, append(os.Environ(), "GIT_EXEC_PATH="+gate.dir)
	var out bytes.Buffer
	gc.Stdout, gc.Stderr = &out, &out
	if err := gc.Start(); err != nil {
		t.Fatal(err)
	}
	gate.wait(t, "reflog")
	lock := r.Path(".git", filepath.FromSlash(StoreRef)+".lock")
	r.Write(".git/"+StoreRef+".lock", "somebody's")
	for range 2 {
		if _, err := b.Bridge(t.Context(), job); !errors.Is(err, gitref.ErrLocked) {
			t.Fatalf("%v", err)
		}
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	gate.open(t, "reflog")
	gate.wait(t, "repack-done")
	report := r.bridge(b, job)
	gate.open(t, "repack-done")
	err := gc.Wait()
	t.Logf("%+v; gc: %v %s", report, err, out.String())
	r.Clean()
	r.turns(b, 4, 5)
	r.Clean()
}

// Who has waited for somebody's lock file before its record was there looks once more
// when it is, and waits no second time.
func TestAJobBehindALockFileLooksOnceMoreWhenItIsRecorded(t *testing.T) {
	was := patience
	patience = 200 * time.Millisecond
	defer func() { patience = was }()
	r := newRepo(t, oid.SHA1)
	b := r.openNoted()
	r.turns(b, 0, 2)
	lock := r.Path(".git", filepath.FromSlash(StoreRef)+".lock")
	for _, stays := range []bool{true, false} {
		job := r.snapshot(b, map[bool]int{true: 3, false: 4}[stays], map[string]string{"a": fmt.Sprint(stays)})
		r.Write(".git/"+StoreRef+".lock", "somebody's")
		asked := 0
		job.Recorded = func(context.Context) error {
			if asked++; !stays {
				return os.Remove(lock)
			}
			return nil
		}
		_, err := b.Bridge(t.Context(), job)
		switch {
		case asked != 1:
			t.Errorf("the record was waited for %d times", asked)
		case stays && (!errors.Is(err, gitref.ErrLocked) || !strings.Contains(err.Error(), "is still there after "+patience.String())):
			t.Errorf("the lock file stays: %v", err)
		case !stays && err != nil:
			t.Errorf("the lock file went: %v", err)
		}
	}
	r.Clean()
}

// A gate is where a collection stops until it is told to go on.
type gate struct{ dir string }

// pausedGit makes a directory of git's programs whose "git" stops before "git reflog",
// and after "git pack-objects", until it is told to go on.
func (r *repo) pausedGit() gate {
	t := r.T
	t.Helper()
	g := gate{t.TempDir()}
	real := r.Git("--exec-path")
	list, err := os.ReadDir(real)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Name() != "git" {
			if err := os.Symlink(filepath.Join(real, e.Name()), filepath.Join(g.dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	script := `pause() { touch '` + g.dir + `/at-'$1; while [ ! -e '` + g.dir + `/go-'$1 ]; do sleep 0.02; done; }
case "$1" in
reflog) pause reflog ;;
pack-objects) '` + program + `' "$@"; code=$?; pause repack-done; exit $code ;;
esac
exec '` + program + `' "$@"
`
	(&gittest.Repo{T: t, Dir: g.dir}).Script("git", script)
	return g
}

func (g gate) wait(t *testing.T, at string) {
	t.Helper()
	for range 1000 {
		if _, err := os.Lstat(filepath.Join(g.dir, "at-"+at)); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("git did not come to %s", at)
}

func (g gate) open(t *testing.T, at string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, "go-"+at), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}
