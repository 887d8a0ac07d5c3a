//go:build !windows

package exact

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/fuzz/internal/script"
)

// TestSituations checks that a restore is exact, undo too, and redo, in every
// situation of testdata/situations.txt; if root runs the tests, as another user.
func TestSituations(t *testing.T) {
	const file = "testdata/situations.txt"
	known := map[string]string{"DEEP": strings.Repeat("deep/", 199) + "deep", "LONG": strings.Repeat("t", 4000)}
	for i, s := range script.Read(t, file, known) {
		if i < 52 && !strings.HasPrefix(s.Name, fmt.Sprintf("%02d ", i+1)) {
			t.Fatalf("situation %d is missing or there twice", i+1)
		}
		for _, one := range s.Scenarios {
			t.Run(s.Name+"/"+one.Name, func(t *testing.T) {
				t.Parallel()
				if s.Needs != nil && os.Getuid() != 0 {
					t.Skip("SKIPPED: only root can make this situation, for another user")
				}
				carryOut(newWorld(t), one)
			})
		}
	}
}

// carryOut carries a situation out.
func carryOut(w *world, s *script.Scenario) {
	w.Helper()
	defer func() {
		if w.Failed() {
			w.Logf("at %s", s.At())
		}
	}()
	var p *proof
	var stays []string
	s.Run(func(words []string, _ func()) string {
		for i := range words {
			words[i] = strings.NewReplacer("{OUTSIDE}", w.outside, "{BASE}", w.base).Replace(words[i])
		}
		switch verb, a := words[0], words[1:]; {
		case verb == "snapshot":
			w.byNobody()
			p = w.begin()
		case verb == "stays":
			stays = a
		case verb == "kept":
			stays, w.kept = a, a
		case events[verb] != nil:
			events[verb](w, a)
		default:
			w.Fatalf("%s: there is no step %q", s.At(), verb)
		}
		return ""
	})
	p.end(func(then, now picture) picture {
		want := then.With(now, stays...)
		for _, path := range stays {
			for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
				if want[dir] == "" { // what stays keeps the directories that it is in
					want[dir] = now[dir]
				}
			}
		}
		return want
	})
}

// events are what happens to a worktree, by the words of testdata/situations.txt.
var events = map[string]func(w *world, a []string){
	"usual":        func(w *world, _ []string) { usual(w) },
	"churn":        func(w *world, _ []string) { churn(w) },
	"churn-in-dir": func(w *world, _ []string) { churnKeepingDir(w) },
	"skipped":      func(w *world, a []string) { w.skipped = a },
	"init":         func(w *world, a []string) { w.init(a...) },
	"git":          func(w *world, a []string) { w.git(a...) },
	"commit":       func(w *world, a []string) { w.commit(a[0]) },
	"identity":     func(w *world, a []string) { w.identity(a[0]) },
	"nested":       func(w *world, a []string) { w.nested(a[0], len(a) == 1) },
	"submodule":    func(w *world, a []string) { w.submodule(a[0]) },
	"write":        func(w *world, a []string) { w.write(a[0], a[1]) },
	"remove":       func(w *world, a []string) { w.remove(a...) },
	"rename":       func(w *world, a []string) { w.rename(a[0], a[1]) },
	"mkdir":        func(w *world, a []string) { w.mkdir(a[0]) },
	"link":         func(w *world, a []string) { w.link(a[0], a[1]) },
	"hard-link":    func(w *world, a []string) { w.must(os.Link(w.path(a[0]), w.path(a[1]))) },
	"pipe":         func(w *world, a []string) { w.must(syscall.Mkfifo(w.path(a[0]), 0o644)) },
	"truncate":     func(w *world, a []string) { w.must(os.Truncate(w.path(a[0]), int64(w.number(a[1])))) },
	"cwd":          func(w *world, a []string) { w.cwd = w.path(a[0]) },
	"root":         func(w *world, a []string) { w.root = w.path(a[0]) },
	"also-git":     func(w *world, a []string) { w.alsoGit = []string{w.path(a[0])} },
	"env":          func(w *world, a []string) { w.env[a[0]] = a[1] },
	"configure": func(w *world, a []string) {
		name, value, _ := strings.Cut(a[0], "=")
		w.git("config", name, value)
	},
	"git-fails": func(w *world, a []string) {
		if _, err := w.tryGit(a...); err == nil {
			w.Fatalf("git %q was to fail", a)
		}
	},
	"chmod": func(w *world, a []string) {
		perm, err := strconv.ParseUint(a[0], 8, 32)
		w.must(err)
		for _, rel := range a[1:] {
			w.chmod(rel, os.FileMode(perm))
		}
	},
	"noise": func(w *world, a []string) { // sizes and seeds
		text := ""
		for i := 1; i < len(a); i += 2 {
			text += noise(w.number(a[i]), uint64(w.number(a[i+1])))
		}
		w.write(a[0], text)
	},
	"crowd": func(w *world, a []string) {
		for i := range w.number(a[1]) {
			w.write(fmt.Sprintf("%s/%03d.txt", a[0], i), fmt.Sprint(i))
		}
	},
	"odd-names": func(w *world, a []string) { // a text, and perhaps where they lie
		for _, name := range oddNames {
			w.write(strings.Join(a[1:], "")+name, a[0]+" "+name)
		}
	},
	"write-in-no-time": func(w *world, a []string) {
		info, err := os.Stat(w.path(a[0]))
		w.must(err)
		w.write(a[0], a[1])
		w.must(os.Chtimes(w.path(a[0]), info.ModTime(), info.ModTime()))
	},
	"age": func(w *world, a []string) { // by years
		then := time.Now().AddDate(-w.number(a[1]), 0, 0)
		w.must(os.Chtimes(w.path(a[0]), then, then))
	},
}

func (w *world) number(text string) int {
	w.Helper()
	n, err := strconv.Atoi(text)
	w.must(err)
	return n
}

// A proof is a restore that is under way: its snapshot is taken.
type proof struct {
	*world
	id   string
	then state
}

// begin takes a snapshot.
func (w *world) begin() *proof {
	w.Helper()
	p := &proof{world: w, then: w.look()}
	var skipped []string
	p.id, skipped = w.snapshot()
	w.same("the snapshot named as skipped", skipped, w.skipped)
	w.untouched("snapshot", p.then)
	return p
}

// end restores, takes that back, and does it again, and compares everything with what
// was there each time. What the restore must leave is what there was, or what want says.
func (p *proof) end(want func(then, now picture) picture) {
	w, then := p.world, p.then
	w.Helper()
	w.handOver()
	now := w.look()
	expected := then.files
	if want != nil {
		expected = want(then.files, now.files)
	}
	restored := state{files: expected, git: now.git, outside: now.outside}

	got := w.restore(p.id)
	w.same("the restore named as kept", got.kept, w.kept)
	w.clean("restore", got)
	w.is("restore", restored)
	w.clean("undo", w.undo())
	w.is("undo", now)
	w.clean("redo", w.redo())
	w.is("redo", restored)
	w.clean("second undo", w.undo())
	w.is("second undo", now)
	w.sound()
}

// prove takes a snapshot, changes the tree, and restores.
func (w *world) prove(change func(), want func(then, now picture) picture) {
	w.Helper()
	p := w.begin()
	change()
	p.end(want)
}

// A state is everything that a test looks at.
type state struct {
	files   picture // the worktree
	git     picture // what only git may change
	outside picture // what nobody may change
}

func (w *world) look() state {
	w.Helper()
	return state{files: worktreePicture(w, w.root), git: w.gitState(), outside: pictureOf(w, w.outside, nil)}
}

// gitState also looks at repositories that the worktree's own lies in.
func (w *world) gitState() picture {
	p := gitPicture(w, w.root)
	for _, dir := range w.alsoGit {
		for path, line := range gitPicture(w, dir) {
			p[dir+"/"+path] = line
		}
	}
	return p
}

// is fails unless everything is as in a state.
func (w *world) is(after string, want state) {
	w.Helper()
	got := w.look()
	if d := want.files.Differs(got.files); d != "" {
		w.Fatalf("after %s the worktree is not as it should be:\n%s", after, d)
	}
	w.sameSurroundings(after, got, want)
}

func (w *world) sameSurroundings(after string, got, want state) {
	w.Helper()
	if d := want.git.Differs(got.git); d != "" {
		w.Fatalf("after %s git's own files have changed:\n%s", after, d)
	}
	if d := want.outside.Differs(got.outside); d != "" {
		w.Fatalf("after %s something outside of the worktree has changed:\n%s", after, d)
	}
}

// untouched fails if anything at all has changed.
func (w *world) untouched(after string, was state) {
	w.Helper()
	w.is(after, was)
}

func (w *world) clean(verb string, o outcome) {
	w.Helper()
	if len(o.conflicts) > 0 {
		w.Fatalf("%s named conflicts: %v", verb, o.reasons)
	}
}

func (w *world) same(what string, got, want []string) {
	w.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.Fatalf("%s %q, want %q", what, got, want)
	}
}

// sound lets rewind and git say whether what they keep is whole.
func (w *world) sound() {
	w.Helper()
	if f := w.rewind("verify", "--json"); f.code != 0 {
		w.Fatalf("verify exited with %d: %s%s", f.code, f.out, f.errors)
	}
	if _, there := w.gitState()[".git/HEAD"]; !there {
		return
	}
	if out, err := w.tryGit("fsck", "--strict", "--no-dangling"); err != nil {
		w.Fatalf("git fsck: %v\n%s", err, out)
	}
}
