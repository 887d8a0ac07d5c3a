package apply_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// The files of one directory share a handle of it. Somebody moves it away when the first has
// taken its place, and makes another: what went with it is not said to be written.
func TestFilesThatWentWithTheirDirectoryAreConflicts(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		root := t.TempDir()
		to := world{"d": dir(0o755), "e": dir(0o755)}
		var inD []string
		for i := range 64 { // a run of a list that is four times as long
			path := fmt.Sprintf("d/f%02d", i)
			to[path] = file(fmt.Sprint(i))
			inD = append(inD, path)
		}
		for i := range 192 {
			to[fmt.Sprintf("e/f%02d", i)] = file("in e")
		}
		steps := plan(t, root, to, nil)
		opt, moved := &apply.Options{Alg: oid.SHA1}, false
		opt.Alone()
		opt.Hook(func(op, path string) error {
			if op == "rename" && path == "d/f01" {
				moved = true
				must(t, os.Rename(filepath.Join(root, "d"), filepath.Join(root, "away")))
				if replaced {
					must(t, os.Mkdir(filepath.Join(root, "d"), 0o755))
				}
			}
			return nil
		})
		out := carry(t, root, steps, to, opt)
		if !moved {
			t.Fatal("nothing was moved")
		}
		// The directory itself may be named too: it could not be given its permissions.
		out.Conflicts = slices.DeleteFunc(out.Conflicts, func(n apply.Note) bool { return n.Path == "d" })
		named(t, "Conflicts", out.Conflicts, inD...)
		for _, c := range out.Conflicts {
			if !errors.Is(c.Err, apply.ErrChanged) || !strings.Contains(c.Reason, "moved away") {
				t.Errorf("%s: %s", c.Path, c.Reason)
			}
		}
		delete(to, "d")
		if replaced {
			to["d"] = dir(0o755)
		}
		to["away"] = dir(0o755)
		for i, path := range inD {
			delete(to, path)
			to["away"+path[1:]] = file(fmt.Sprint(i))
		}
		same(t, root, to)
	}
}

// The first failure of the whole file system ends the run: what took its place before is told,
// and of the rest nothing is left behind.
func TestWhatWasDoneBeforeAFullDiskIsTold(t *testing.T) {
	root := t.TempDir()
	to := world{"d": dir(0o755), "e": dir(0o755)}
	for i := range 256 {
		to[fmt.Sprintf("%c/f%03d", "de"[i%2], i/2)] = file(fmt.Sprint(i))
	}
	steps := plan(t, root, to, nil)
	opt := &apply.Options{Alg: oid.SHA1, Key: "key"}
	opt.Alone()
	opt.Hook(func(op, path string) error {
		if op == "rename" && path == "d/f010" {
			return unix.ENOSPC
		}
		return nil
	})
	out, err := apply.Apply(t.Context(), root, steps, shelve(to).source, opt)
	got, _ := read(t, root)
	if len(out.Conflicts) > 0 || !errors.Is(err, unix.ENOSPC) || out.Written != len(got) || len(got) < 12 || len(got) == len(to) {
		t.Errorf("%d written, %d are there, %v, %v", out.Written, len(got), out.Conflicts, err)
	}
	for path := range got {
		if strings.Contains(path, "rewind-tmp") {
			t.Errorf("%s is left", path)
		}
	}
	opt.Hook(nil)
	opt.Replay = true
	if out, err = apply.Apply(t.Context(), root, steps, shelve(to).source, opt); err != nil || out.Written != len(steps) {
		t.Errorf("the replay: %+v, %v", out, err)
	}
	same(t, root, to)
}

// Permissions are changed, and what is wanted is found, when a step is prepared.
func TestPermissionsThatWentWithTheirDirectoryAreConflicts(t *testing.T) {
	root := t.TempDir()
	from, to := world{"d": dir(0o755)}, world{"d": dir(0o755)}
	var all []string
	for i := range 300 {
		path := fmt.Sprintf("d/f%03d", i)
		from[path], to[path] = file(fmt.Sprint(i)), fileMode(0o600, fmt.Sprint(i))
		all = append(all, path)
	}
	from.make(t, root)
	opt, moved := &apply.Options{Alg: oid.SHA1}, false
	opt.Alone()
	opt.Hook(func(op, path string) error {
		if op == "chmod" && path == "d/f070" {
			moved = true
			must(t, os.Rename(filepath.Join(root, "d"), filepath.Join(root, "away")))
		}
		return nil
	})
	out := carry(t, root, plan(t, root, to, nil), to, opt)
	// The first 64 were done before, and the path led to them then.
	named(t, "Conflicts", out.Conflicts, all[64:]...)
	if !moved || out.Written != 64 {
		t.Errorf("moved: %v, %d written", moved, out.Written)
	}
}

func TestPermissionsChangedBeforeAFullDiskAreTold(t *testing.T) {
	root := t.TempDir()
	from, to := world{"d": dir(0o755)}, world{"d": dir(0o755)}
	for i := range 300 {
		path := fmt.Sprintf("d/f%03d", i)
		if to[path] = file("new"); i != 150 {
			from[path], to[path] = file(fmt.Sprint(i)), fileMode(0o600, fmt.Sprint(i))
		}
	}
	from.make(t, root)
	opt := &apply.Options{Alg: oid.SHA1}
	opt.Alone()
	opt.Hook(func(op, _ string) error {
		if op == "write" {
			return unix.ENOSPC
		}
		return nil
	})
	out, err := apply.Apply(t.Context(), root, plan(t, root, to, nil), shelve(to).source, opt)
	done, _ := read(t, root)
	n := 0
	for path, i := range done {
		if to[path] == i && from[path] != i {
			n++
		}
	}
	if !errors.Is(err, unix.ENOSPC) || out.Written != n || n == 0 {
		t.Errorf("%d written, %d are, %v", out.Written, n, err)
	}
}

// Somebody makes one of the files when all are prepared: the bytes that are wanted, or others.
func TestWhatIsMadeBeforeTheLastActIsNotWritten(t *testing.T) {
	root := t.TempDir()
	to := world{"a": file("ours"), "other": file("ours"), "same": file("ours")}
	opt := &apply.Options{Alg: oid.SHA1}
	opt.Hook(func(op, _ string) error {
		if op == "sync" {
			for _, name := range []string{"other", "same"} {
				if _, err := os.Lstat(filepath.Join(root, name)); err != nil {
					must(t, os.WriteFile(filepath.Join(root, name), []byte(map[string]string{"other": "theirs", "same": "ours"}[name]), 0o644))
				}
			}
		}
		return nil
	})
	out := carry(t, root, plan(t, root, to, nil), to, opt)
	named(t, "Conflicts", out.Conflicts, "other")
	if out.Written != 1 || !slices.Equal(out.There, []string{"same"}) {
		t.Errorf("%+v", out)
	}
	to["other"] = file("theirs")
	same(t, root, to)
}
