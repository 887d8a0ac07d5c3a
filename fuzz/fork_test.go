//go:build linux && (amd64 || arm64)

package fuzz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/fork"
)

// TestAKillOfAForkLosesNothing kills a process while it makes a fork with the ignored
// files of the present, adopts what is done there, takes that back and removes the fork.
// What was done there is there or in a snapshot, the worktree is as it was or has all
// that was adopted, and the fork can be removed and made again.
func TestAKillOfAForkLosesNothing(t *testing.T) {
	for _, git := range []bool{false, true} {
		killed(t, "fork", func(int) (*world, []string, func(said)) {
			w := either(t, git)
			for name, text := range map[string]string{"text": "one\ntwo\nthree\nfour\nfive\n", "gone": "x", "d/file": strings.Repeat("long\n", 5000), ".gitignore": ".env\nmodules/\n", ".env": "secret", "modules/m/one": strings.Repeat("module\n", 50000), "modules/two": "two"} {
				w.write(name, text)
			}
			if git {
				w.git("add", ".")
				w.git("commit", "-qm", "one")
			}
			_, err := w.long.Snapshot(t.Context(), nil)
			w.must(errors.Join(err, w.long.Close()))
			w.write("text", "one\ntwo\nthree\nfour\nFIVE\n")
			f := &forked{world: w, dir: filepath.Join(w.dir, "f"), begin: w.picture(w.root)}
			return w, []string{f.dir}, func(heard said) { f.check(heard["edited"] != nil) }
		})
	}
}

// A forked world is a worktree, and the place of a fork of it.
type forked struct {
	*world
	dir   string
	begin picture // the worktree's files before
}

// check looks at everything after the process, and makes and removes the fork again.
func (f *forked) check(edited bool) {
	f.t.Helper()
	e, ctx := f.long, f.t.Context()
	_, err := e.Snapshot(ctx, nil) // which finishes what was interrupted
	f.must(err)
	adopted := maps.Clone(f.begin)
	adopted["text"], adopted["new"] = strings.Replace(f.begin["text"], "one", "ONE", 1), strings.Replace(f.begin[".env"], "secret", "made there", 1)
	delete(adopted, "gone")
	if now := f.picture(f.root); f.begin.Differs(now) != "" && adopted.Differs(now) != "" {
		f.fail("the worktree is as before but\n%s\nand as adopted but\n%s", f.begin.Differs(now), adopted.Differs(now))
	}
	list, err := fork.List(ctx, e, f.options())
	f.must(err)
	if _, err := os.Lstat(f.dir); err == nil && len(list) != 1 {
		f.fail("the directory is there, and no fork is known")
	}
	for _, l := range list {
		if l.Err != nil {
			f.fail("%s: %v", l.State, l.Err)
		}
		f.remove()
	}
	if edited && !f.recorded() {
		f.fail("what was done in the fork is nowhere")
	}
	s, err := e.Find(ctx, "@")
	f.must(err)
	dir, err := fork.Place(ctx, e, f.dir)
	f.must(err)
	_, err = fork.Make(ctx, e, s, dir, nil)
	f.must(err)
	f.remove()
}

func (f *forked) remove() {
	f.t.Helper()
	_, err := fork.Remove(f.t.Context(), f.long, f.dir, false, f.options())
	f.must(err)
}

// recorded reports whether a snapshot has what was done in the fork.
func (f *forked) recorded() bool {
	all, err := f.long.List(f.t.Context(), &engine.ListOptions{All: true})
	f.must(err)
	for _, s := range all {
		var text, made bytes.Buffer
		if f.long.Cat(f.t.Context(), s, "text", &text) == nil && f.long.Cat(f.t.Context(), s, "new", &made) == nil &&
			strings.HasPrefix(text.String(), "ONE\n") && made.String() == "made there" {
			return true
		}
	}
	return false
}

// forkAndAdopt makes a fork, adopts what is done there, takes that back and removes the
// fork.
func forkAndAdopt(ctx context.Context, args []string) {
	opt := &engine.Options{}
	e, err := engine.Open(ctx, ".", opt)
	childExit(err)
	s, err := e.Find(ctx, "@")
	childExit(err)
	dir, err := fork.Place(ctx, e, args[0])
	childExit(err)
	along, err := fork.Look(ctx, e, s, dir, fork.How{Copy: true})
	childExit(err)
	_, err = fork.Make(ctx, e, s, dir, along)
	childExit(err)
	childExit(errors.Join(os.WriteFile(filepath.Join(dir, "text"), []byte("ONE\ntwo\nthree\nfour\nfive\n"), 0o644),
		os.Remove(filepath.Join(dir, "gone")), os.WriteFile(filepath.Join(dir, "new"), []byte("made there"), 0o644)))
	fmt.Println("edited")
	a, err := fork.Adopt(ctx, e, dir, opt, engine.Op{})
	childExit(err)
	done, err := a.Merge(e, ctx, engine.Op{})
	childExit(err)
	if len(done.Conflicts) > 0 {
		childExit(fmt.Errorf("%v", done.Conflicts))
	}
	_, err = e.Do(ctx, engine.Op{Verb: engine.Undo})
	childExit(err)
	_, err = fork.Remove(ctx, e, dir, false, opt)
	childExit(err)
}
