package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

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
