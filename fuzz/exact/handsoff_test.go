//go:build !windows

package exact

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// hooks are all that git knows.
var hooks = []string{
	"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg",
	"post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update", "proc-receive",
	"post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite",
	"sendemail-validate", "fsmonitor-watchman", "p4-changelist", "p4-pre-submit", "post-index-change",
}

// tripwire makes a program that leaves a trace when it is run, and does what
// it was asked to so that nobody notices.
func (w *world) tripwire(name string) (script, trace string) {
	w.Helper()
	script, trace = filepath.Join(w.base, "trip-"+name+".sh"), filepath.Join(w.base, "tripped")
	text := "#!/bin/sh\necho " + name + " >> '" + trace + "'\nchmod 666 '" + trace + "'\ncat\n"
	w.must(os.WriteFile(script, []byte(text), 0o755))
	return script, trace
}

// TestNothingThatTheRepositoryNamesIsRun checks that no hook runs, nor any
// other program that a configuration can name, except the clean filters.
func TestNothingThatTheRepositoryNamesIsRun(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	script, trace := w.tripwire("config")
	for _, dir := range []string{".git/hooks", "nest/.git/hooks"} {
		if dir == "nest/.git/hooks" {
			w.nested("nest", true)
		}
		w.must(os.MkdirAll(w.path(dir), 0o755))
		for _, hook := range hooks {
			text := "#!/bin/sh\necho " + hook + " >> '" + trace + "'\nexit 1\n"
			w.must(os.WriteFile(w.path(dir+"/"+hook), []byte(text), 0o755))
		}
	}
	w.write(".gitattributes", "*.md diff=trap merge=trap filter=trap\n")
	w.write("x.md", "text\n")
	for _, key := range []string{"core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "sequence.editor", "diff.external",
		"diff.trap.textconv", "diff.trap.command", "merge.trap.driver", "filter.trap.smudge", "gpg.program", "credential.helper", "pager.rewind"} {
		w.git("config", key, script)
	}
	w.git("config", "core.hooksPath", w.path(".git/hooks"))
	w.git("config", "commit.gpgSign", "true")
	id, _ := w.snapshot()
	churn(w)
	w.remove("x.md")
	w.restore(id)
	w.undo()
	w.redo()
	w.rewind("diff", "--patch")
	w.rewind("list")
	w.rewind("status")
	w.rewind("prune")
	if text, err := os.ReadFile(trace); err == nil {
		t.Fatalf("the repository's programs were run:\n%s", text)
	}
}

// TestNoFilterRunsInAForeignRepository checks that a repository of another user
// is recorded without running what its configuration names, and that its files
// are whole all the same.
func TestNoFilterRunsInAForeignRepository(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root can make files of another user")
	}
	for _, key := range []string{"clean", "process"} {
		w := newWorld(t)
		script, trace := w.tripwire(key)
		w.init()
		w.write("x.dat", "raw bytes\n")
		w.commit("first")
		w.write(".gitattributes", "*.dat filter=trap\n")
		w.write("x.dat", "raw bytes, edited\n")
		w.git("config", "filter.trap."+key, script)
		w.must(filepath.WalkDir(w.root, func(path string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, 65533, 65533)
		}))
		w.prove(func() { w.write("x.dat", "other\n") }, nil)
		if text, err := os.ReadFile(trace); err == nil {
			t.Fatalf("%s: the filter was run:\n%s", key, text)
		}
	}
}

// TestADeletedNestedRepositoryComesBackWithoutItsGit checks that its files are
// restored, that its .git is not made up, and that this is said.
func TestADeletedNestedRepositoryComesBackWithoutItsGit(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	w.nested("nest", true)
	w.write("nest/deep/untracked.txt", "work\n")
	then := w.look()
	id, _ := w.snapshot()
	w.remove("nest")
	now := w.look()
	o := w.restore(id)
	w.is("restore", state{files: then.files, git: now.git, outside: now.outside})
	if !slices.Contains(append(o.kept, o.conflicts...), "nest/.git") {
		t.Errorf("the restore does not say that nest/.git is not back: %v", o)
	}
	w.undo()
	w.is("undo", now)
}

// TestANewNestedRepositoryIsNeverDeleted holds it for one below a new
// directory, one that stands where the snapshot has a file, one that is
// ignored, and one inside of an older one.
func TestANewNestedRepositoryIsNeverDeleted(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	w.nested("old", true)
	w.write("place", "a file\n")
	w.write(".gitignore", "hidden/\n")
	then := w.look()
	id, _ := w.snapshot()
	w.nested("new/deep/clone", true)
	w.write("new/deep/beside.txt", "x")
	w.remove("place")
	w.nested("place", true)
	w.nested("hidden/clone", true)
	w.nested("old/inner", true)
	now := w.look()
	o := w.restore(id)
	want := then.files.With(now.files, "new/deep/clone", "place", "hidden", "old/inner")
	want["new"], want["new/deep"] = now.files["new"], now.files["new/deep"]
	w.is("restore", state{files: want, git: now.git, outside: now.outside})
	for _, path := range []string{"new/deep/clone", "old/inner", "place"} {
		if !slices.Contains(append(o.kept, o.conflicts...), path) {
			t.Errorf("the restore does not name %s: %v", path, o)
		}
	}
	w.undo()
	w.is("undo", now)
}

// TestAnIgnoredDirectoryInTheWayOfAFileStays checks that no restore deletes what
// is in an ignored directory: that the snapshot has a file there is a conflict.
func TestAnIgnoredDirectoryInTheWayOfAFileStays(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	w.write("out", "then")
	w.write("beside", "then")
	id, _ := w.snapshot()
	w.remove("out")
	w.write("out/a", "precious")
	w.write("out/deep/b", "precious too")
	w.write("beside", "now")
	w.write(".gitignore", "out\n")
	now := w.look()
	for _, more := range [][]string{nil, {"--ignored"}} {
		f := w.rewind(append([]string{"restore", id, "--yes", "--json"}, more...)...)
		if f.code != 5 || len(f.Conflicts) != 1 || f.Conflicts[0].path() != "out" {
			t.Fatalf("the restore exited with %d: %s%s", f.code, f.out, f.errors)
		}
		if w.read("out/a") != "precious" || w.read("out/deep/b") != "precious too" || w.read("beside") != "then" {
			t.Error("the restore deleted what is ignored, or left the rest")
		}
		w.undo()
		w.is("undo", now)
	}
}
