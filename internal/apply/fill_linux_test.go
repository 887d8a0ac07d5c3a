package apply_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// filledLike fills a directory beside another one, and returns the paths whose content
// is shared, and what came of it.
func filledLike(t *testing.T, base string, texts map[string][]byte, steps []apply.Step) (shared map[string]bool, out apply.Outcome) {
	t.Helper()
	contents := map[oid.ID][]byte{}
	for _, text := range texts {
		contents[oid.SHA1.Sum(oid.Blob, text)] = text
	}
	var mu sync.Mutex
	shared = map[string]bool{}
	must(t, os.Mkdir(filepath.Join(base, "new"), 0o755))
	src := func(_ context.Context, id oid.ID, w io.Writer) (bool, error) {
		_, err := w.Write(contents[id])
		return false, err
	}
	how := &apply.Filling{Alg: oid.SHA1, Like: filepath.Join(base, "old")}
	how.Cloned(func(path string) { mu.Lock(); shared[path] = true; mu.Unlock() })
	out, err := apply.Fill(t.Context(), filepath.Join(base, "new"), steps, src, how)
	must(t, err)
	return shared, out
}

// sample is a directory with files of several sizes, of which one was changed since
// the steps were made, and the steps.
func sample(t *testing.T, base string) (texts map[string][]byte, steps []apply.Step) {
	t.Helper()
	texts = map[string][]byte{"small": []byte("small"), "changed": []byte("as it was"), "large": bytes.Repeat([]byte("0123456789abcdef"), 1<<17), "empty": {}}
	must(t, os.Mkdir(filepath.Join(base, "old"), 0o755))
	for _, name := range []string{"small", "changed", "large", "empty"} {
		text := texts[name]
		if name == "changed" {
			text = []byte("is no mor")
		}
		must(t, os.WriteFile(filepath.Join(base, "old", name), text, 0o600))
		steps = append(steps, apply.Step{Path: name, Want: apply.Node{Mode: tree.File | 0o640, ID: oid.SHA1.Sum(oid.Blob, texts[name])}})
	}
	steps = append(steps, apply.Step{Path: ".git/hooks", Want: apply.Node{Mode: tree.Dir | 0o755}})
	return texts, steps
}

func checkFilled(t *testing.T, base string, texts map[string][]byte, out apply.Outcome) {
	t.Helper()
	for name, want := range texts {
		got, err := os.ReadFile(filepath.Join(base, "new", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, %d bytes of %d", name, err, len(got), len(want))
		}
		info, err := os.Stat(filepath.Join(base, "new", name))
		if err != nil || info.Mode().Perm() != 0o640 || info.Sys().(*syscall.Stat_t).Nlink != 1 {
			t.Errorf("%s: %v, %v", name, err, info)
		}
	}
	if out.Written != len(texts) || len(out.Conflicts) != 1 || out.Conflicts[0].Path != ".git/hooks" {
		t.Errorf("outcome %+v", out)
	}
}

func TestAFilledDirectoryHasTheContentsWhateverLiesBeside(t *testing.T) {
	base := t.TempDir()
	texts, steps := sample(t, base)
	_, out := filledLike(t, base, texts, steps)
	checkFilled(t, base, texts, out)
}

// Where the file system can, unchanged files share their content, and no write to
// one is seen in the other.
func TestAFilledDirectorySharesContentsOnXFS(t *testing.T) {
	mkfs, err := exec.LookPath("mkfs.xfs")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("SKIPPED: sharing contents needs mkfs.xfs, and root to mount")
	}
	dir := t.TempDir()
	image, base := filepath.Join(dir, "image"), filepath.Join(dir, "mnt")
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, 400<<20))
	must(t, os.Mkdir(base, 0o755))
	for _, args := range [][]string{{mkfs, "-q", "-m", "reflink=1", image}, {"mount", "-o", "loop", image, base}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: no xfs can be mounted here: %v: %s", err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", base).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	texts, steps := sample(t, base)
	shared, out := filledLike(t, base, texts, steps)
	checkFilled(t, base, texts, out)
	if !shared["small"] || !shared["large"] || shared["changed"] || shared["empty"] {
		t.Errorf("shared: %v", shared)
	}
	must(t, os.WriteFile(filepath.Join(base, "new", "large"), []byte("other"), 0o640))
	if old, err := os.ReadFile(filepath.Join(base, "old", "large")); err != nil || !bytes.Equal(old, texts["large"]) {
		t.Errorf("a write to the new file is seen in the old one: %v", err)
	}
}

// The umask, and a directory above that passes its group on, decide what mkdir makes.
func TestAFilledDirectoryHasItsPermissionsWhateverTheDirectoryAbovePassesOn(t *testing.T) {
	base := t.TempDir()
	must(t, errors.Join(os.Mkdir(filepath.Join(base, "old"), 0o755), os.Chmod(base, 0o755|os.ModeSetgid)))
	want := map[string]tree.Mode{"common": 0o755, "common/group": 0o2755, "common/group/below": 0o755, "shared": 0o1777, "shut": 0o500}
	var steps []apply.Step
	for _, path := range []string{"common", "common/group", "common/group/below", "shared", "shut"} {
		steps = append(steps, apply.Step{Path: path, Want: apply.Node{Mode: tree.Dir | want[path]}})
	}
	if _, out := filledLike(t, base, nil, steps); out.Written != len(steps) || len(out.Conflicts) > 0 {
		t.Errorf("outcome %+v", out)
	}
	for path, perm := range want {
		if st, there := dirfd.Lstat(base, "new/"+path); !there || st.Mode != tree.Dir|perm {
			t.Errorf("%s: %o, not %o", path, st.Mode, perm)
		}
	}
}

func TestWhatArrivesIsWrittenAndTheRestIsAskedFor(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "new")
	must(t, os.Mkdir(root, 0o755))
	id := func(text string) oid.ID { return oid.SHA1.Sum(oid.Blob, []byte(text)) }
	steps := []apply.Step{{Path: "shut", Want: apply.Node{Mode: tree.Dir | 0o500}}}
	for path, text := range map[string]string{"a": "same", "shut/b": "same", "later": "later", "taken": "same"} {
		steps = append(steps, apply.Step{Path: path, Want: apply.Node{Mode: tree.File | 0o640, ID: id(text)}})
	}
	steps = append(steps, apply.Step{Path: "shut/link", Want: apply.Node{Mode: tree.Symlink | 0o777, ID: id("same")}})
	f, err := apply.NewFiller(t.Context(), root, steps, &apply.Filling{Alg: oid.SHA1, Durable: true})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(root, "taken"), []byte("somebody's"), 0o600))
	for range 2 { // the second time nobody wants it
		must(t, f.Arrive(t.Context(), id("same"), []byte("same")))
	}
	must(t, f.Arrive(t.Context(), id("unknown"), []byte("unknown")))
	if !f.Arrived(id("same")) || f.Arrived(id("later")) {
		t.Error("it does not know what has arrived")
	}
	var asked []oid.ID
	out, err := f.Finish(t.Context(), func(_ context.Context, id oid.ID, w io.Writer) (bool, error) {
		asked = append(asked, id)
		_, err := io.WriteString(w, "later")
		return false, err
	})
	must(t, err)
	if len(asked) != 1 || asked[0] != id("later") || out.Written != 5 || len(out.Conflicts) != 1 || out.Conflicts[0].Path != "taken" {
		t.Errorf("asked for %v; %+v", asked, out)
	}
	for path, want := range map[string]string{"a": "same", "shut/b": "same", "later": "later", "taken": "somebody's", "shut/link": "link to same"} {
		got, err := os.ReadFile(filepath.Join(root, path))
		if to, isLink := os.Readlink(filepath.Join(root, path)); isLink == nil {
			got, err = []byte("link to "+to), nil
		}
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if info, err := os.Stat(filepath.Join(root, "shut")); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("%v %v", info, err)
	}
}
