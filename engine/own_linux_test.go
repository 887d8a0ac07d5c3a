package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An ownFile is a file or directory that rewind makes for itself.
type ownFile struct {
	name string // below the git directory, or below the directory of the store
	git  bool   // it is there in a repository alone
	dir  bool
}

var ownFiles = []ownFile{
	{name: "rewind/store.db"}, {name: "rewind/store.db.lock"}, {name: "rewind/store.db.new"}, {name: "rewind/stat.db"},
	{name: "rewind/operation.lock"}, {name: "rewind", dir: true},
	{name: "rewind/ref.lock", git: true}, {name: "rewind/ref.held", git: true}, {name: "rewind/ref.new", git: true}, {name: "rewind/ref.stale", git: true},
	{name: "rewind/ref.loose", git: true}, {name: "rewind/ref.loose.old", git: true}, {name: "rewind/ref.packs", git: true},
	{name: "rewind/ref.tidy.lock", git: true},
	{name: "refs/pi-rewind", git: true, dir: true}, {name: "refs/pi-rewind/store", git: true},
	{name: "logs/refs/pi-rewind", git: true, dir: true}, {name: "logs/refs/pi-rewind/store", git: true},
}

// A trap is what stands in the place of such a file. It returns what must stay
// as it is.
type trap func(p *place, path string, f ownFile) (bait string)

// baited makes something outside the worktree that a link could lead to.
func baited(p *place, f ownFile) string {
	bait := filepath.Join(p.home, "bait")
	if f.dir {
		p.must(os.Mkdir(bait, 0o755))
		return bait
	}
	p.must(os.WriteFile(bait, []byte("the user's own\n"), 0o600))
	return bait
}

var traps = map[string]trap{
	"a link": func(p *place, path string, f ownFile) string {
		bait := baited(p, f)
		p.must(os.Symlink(bait, path))
		return bait
	},
	"a link to nothing": func(p *place, path string, f ownFile) string {
		p.must(os.Symlink(filepath.Join(p.home, "bait"), path))
		return filepath.Join(p.home, "bait")
	},
	"a pipe": func(p *place, path string, f ownFile) string {
		p.must(syscall.Mkfifo(path, 0o600))
		return path
	},
	"a directory": func(p *place, path string, f ownFile) string {
		if f.dir {
			return path
		}
		p.must(os.MkdirAll(filepath.Join(path, "full"), 0o755))
		return path
	},
	"of another user": func(p *place, path string, f ownFile) string {
		if os.Geteuid() != 0 {
			p.t.Skip("SKIPPED: only root can give a file to another user")
		}
		if f.dir {
			p.must(os.Mkdir(path, 0o777))
		} else {
			p.must(os.WriteFile(path, []byte("theirs\n"), 0o666))
		}
		p.must(os.Chown(path, 65534, 65534))
		return path
	},
}

// sight is all of a file or directory that a program could change.
func sight(path string) string {
	st, err := os.Lstat(path)
	if err != nil {
		return "nothing"
	}
	out := st.Mode().String()
	if st.IsDir() {
		list, _ := os.ReadDir(path)
		for _, e := range list {
			out += " " + e.Name()
		}
	}
	if st.Mode().IsRegular() {
		text, _ := os.ReadFile(path)
		out += " " + string(text)
	}
	return out
}

// A file of ours that is a link, a pipe, a directory or somebody else's is neither
// followed nor written nor waited for, and somebody says so; what it led to is as it
// was. When it is gone all is well.
func TestWhatStandsInThePlaceOfAFileOfOursIsNotFollowed(t *testing.T) {
	for _, f := range ownFiles {
		for kind, trap := range traps {
			for _, git := range []bool{true, false} {
				for _, before := range []bool{true, false} {
					if (git || !f.git) && (before || git && kind == "a link") {
						what := []string{f.name, "is", kind, map[bool]string{true: "in a repository", false: "without git"}[git], map[bool]string{true: "before the first snapshot", false: "later"}[before]}
						t.Run(strings.Join(what, " "), func(t *testing.T) {
							t.Parallel()
							trapped(t, git, before, f, trap)
						})
					}
				}
			}
		}
	}
}

func trapped(t *testing.T, git, before bool, f ownFile, set trap) {
	p := newPlace(t, git)
	if git {
		p.git("config", "core.logAllRefUpdates", "always")
	}
	p.write("file", "one")
	e := p.open()
	path := filepath.Join(p.dir, ".git", f.name)
	if !git {
		path = filepath.Join(e.dir, strings.TrimPrefix(strings.TrimPrefix(f.name, "rewind"), "/"))
	}
	if !before {
		p.snap(e, "earlier", nil)
	}
	p.must(e.Close())
	p.must(os.RemoveAll(path))
	p.must(os.MkdirAll(filepath.Dir(path), 0o700))
	bait := set(p, path, f)
	saw := sight(bait)
	p.write("file", "two")
	said := ""
	ends(t, f.name, func() { said = p.tryAll() })
	mended := f.name == "refs/pi-rewind/store" && bait == path // a broken ref is replaced, and not written through
	if now := sight(bait); now != saw && !(f.dir && bait == path) && !mended {
		t.Errorf("%s: what it led to was %q and is %q", f.name, saw, now)
	}
	needless := strings.HasSuffix(f.name, ".new") || strings.HasSuffix(f.name, ".stale") // not met by every command
	if said == "" && bait != path && !needless {
		t.Errorf("%s is a link, and nobody says so", f.name)
	}
	if said != "" && !strings.Contains(said, filepath.Base(path)) {
		t.Errorf("what stands in the place of %s is not named: %s", path, said)
	}
	p.must(os.RemoveAll(path))
	p.write("file", "three")
	if said := p.tryAll(); said != "" && before {
		t.Errorf("it is gone, and still: %s", said)
	}
}

// tryAll takes a snapshot and puts it back, and returns all that was said against
// it.
func (p *place) tryAll() string {
	e, err := Open(p.t.Context(), p.dir, &Options{Getenv: p.getenv})
	if err != nil {
		return err.Error()
	}
	defer e.Close()
	var errs []error
	for _, w := range e.Warnings() {
		errs = append(errs, errors.New(w))
	}
	r, err := e.Snapshot(p.t.Context(), nil)
	errs = append(errs, err)
	if err == nil {
		errs = append(errs, r.Bridge)
		_, err = e.Do(p.t.Context(), Op{To: r.ID})
		if errors.Is(err, ErrNothing) {
			err = nil
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err.Error()
	}
	return ""
}

// A repository whose parts are links to those of another one of the same user, as
// git-new-workdir makes it, is written like any other.
func TestALayoutOfLinksOfTheUserKeepsWorking(t *testing.T) {
	p := newPlace(t, true)
	p.write("file", "one")
	p.commit("one")
	p.git("config", "core.logAllRefUpdates", "always")
	other := filepath.Join(filepath.Dir(p.dir), "other")
	p.must(os.MkdirAll(filepath.Join(other, ".git", "logs"), 0o755))
	for _, name := range []string{"config", "refs", "logs/refs", "objects", "info", "hooks", "packed-refs"} {
		p.must(os.Symlink(filepath.Join(p.dir, ".git", name), filepath.Join(other, ".git", name)))
	}
	head, err := os.ReadFile(filepath.Join(p.dir, ".git", "HEAD"))
	p.must(errors.Join(err, os.WriteFile(filepath.Join(other, ".git", "HEAD"), head, 0o644)))
	e := p.openAt(other)
	r := p.snap(e, "of the other one", nil)
	if kept := p.inRef(e); len(kept) != 1 || kept[0] != r.ID {
		t.Errorf("the ref keeps %v, want %v", kept, r.ID)
	}
	if log, err := os.ReadFile(filepath.Join(p.dir, ".git", "logs", "refs", "pi-rewind", "store")); err != nil || len(log) == 0 {
		t.Errorf("the log has %q, %v", log, err)
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give what a link leads to to another user")
	}
	for _, name := range []string{"refs", "objects"} {
		p.must(os.Chown(filepath.Join(p.dir, ".git", name), 65534, 65534))
		p.write("../other/file", "again "+name)
		if r, err := e.Snapshot(t.Context(), nil); err != nil || r.Bridge == nil || !strings.Contains(r.Bridge.Error(), "belongs to another user") {
			t.Errorf("%s of another user: %v, %+v", name, err, r)
		}
		p.must(os.Chown(filepath.Join(p.dir, ".git", name), 0, 0))
	}
}

// irregulars puts something into the place of a file that should be small and
// regular.
var irregulars = map[string]func(path string) error{
	"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
	"a device": func(path string) error { return os.Symlink("/dev/zero", path) },
	"a directory": func(path string) error {
		return os.Mkdir(path, 0o755)
	},
	"a giant": func(path string) error {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		return os.Truncate(path, 1<<42)
	},
}

// gitFiles are files of a git directory that are read by their names.
var gitFiles = []string{"HEAD", "config", "index", "commondir", "packed-refs", "info/exclude", "info/attributes", "info/sparse-checkout",
	"refs/heads/main", "objects/info/alternates", "objects/pack", "logs/refs/pi-rewind/store", "refs/pi-rewind/store"}

// ends runs what must come to an end, and says what it waits for if it does not.
func ends(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s: waited for ever", what)
	}
}

func TestAPipeInPlaceOfAFileOfGitStopsNothing(t *testing.T) {
	for _, nested := range []bool{false, true} {
		for kind, make := range irregulars {
			for _, name := range gitFiles {
				what := strings.Join([]string{map[bool]string{true: "nested", false: "own"}[nested], name, "is", kind}, " ")
				t.Run(what, func(t *testing.T) {
					t.Parallel()
					irregular(t, nested, name, make)
				})
			}
		}
	}
}

func irregular(t *testing.T, nested bool, name string, make func(string) error) {
	p := newPlace(t, true)
	p.write("file", "mine")
	p.commit("one")
	dir := p.dir
	if nested {
		dir = filepath.Join(p.dir, "inner")
		p.must(os.Mkdir(dir, 0o755))
		p.git("init", "-q", "-b", "main", "inner")
		p.write("inner/file", "of the inner one")
		p.git("-C", "inner", "commit", "-q", "--allow-empty", "-m", "one")
		p.git("-C", "inner", "pack-refs", "--all")
	}
	p.git("config", "core.sparseCheckout", "true")
	p.git("config", "core.sparseCheckoutCone", "true")
	path := filepath.Join(dir, ".git", name)
	p.must(os.RemoveAll(path))
	p.must(os.MkdirAll(filepath.Dir(path), 0o755))
	p.must(make(path))
	ends(t, name, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		e, err := p.tryOpen(p.dir)
		if err != nil {
			if nested || !strings.Contains(err.Error(), name) {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		defer e.Close()
		r, err := e.Snapshot(ctx, nil)
		switch {
		case err != nil && nested:
			t.Errorf("the snapshot was refused: %v", err)
		case err == nil:
			for _, f := range []string{"file", "inner/file"} {
				var text strings.Builder
				if err := e.Cat(ctx, r.Snapshot, f, &text); p.exists(f) && (err != nil || text.String() != p.read(f)) {
					t.Errorf("%s is %q, %v", f, text.String(), err)
				}
			}
		}
		for _, n := range skippedIn(r) {
			if !strings.Contains(n.Reason, name) {
				t.Errorf("%s is left out, and the reason does not name the file: %s", n.Path, n.Reason)
			}
		}
	})
}

func skippedIn(r *Recorded) []Note {
	if r == nil {
		return nil
	}
	return r.Skipped
}
