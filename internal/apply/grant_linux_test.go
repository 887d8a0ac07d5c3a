package apply_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// TestNoFileGetsAPrivilegeThatItDoesNotHave: setuid and setgid stay where they
// are, on the same owner's file, and are given to nothing else.
func TestNoFileGetsAPrivilegeThatItDoesNotHave(t *testing.T) {
	mine := func(m tree.Mode) dirfd.Stat { return dirfd.Stat{Mode: tree.File | m, UID: 7, GID: 8} }
	fresh := dirfd.Stat{Mode: tree.File | 0o600, UID: 7, GID: 8}
	for _, c := range []struct {
		want     tree.Mode
		now, st  dirfd.Stat
		perm     tree.Mode
		withheld bool
	}{
		{tree.File | 0o755, dirfd.Stat{}, fresh, 0o755, false},
		{tree.File | 0o4755, dirfd.Stat{}, fresh, 0o755, true},
		{tree.File | 0o6755, mine(0o4755), fresh, 0o4755, true},
		{tree.File | 0o6755, mine(0o6711), fresh, 0o6755, false},
		{tree.File | 0o4755, mine(0o755), fresh, 0o755, true},
		{tree.File | 0o4755, dirfd.Stat{Mode: tree.File | 0o4755, UID: 9, GID: 8}, fresh, 0o755, true},
		{tree.File | 0o2755, dirfd.Stat{Mode: tree.File | 0o2755, UID: 7, GID: 9}, fresh, 0o755, true},
		{tree.Dir | 0o2755, dirfd.Stat{}, fresh, 0o2755, false},
		{tree.File | 0o1644, dirfd.Stat{}, fresh, 0o1644, false},
	} {
		perm, err := apply.Grant(c.want, c.now, c.st)
		if perm != c.perm || errors.Is(err, apply.ErrPrivilege) != c.withheld {
			t.Errorf("%o in the place of %o: %o, %v", c.want, c.now.Mode, perm, err)
		}
	}
}

func TestARestoredProgramActsAsNobody(t *testing.T) {
	root := t.TempDir()
	world{"mode": file("m"), "bytes": file("1")}.make(t, root)
	to := world{"mode": fileMode(0o4755, "m"), "bytes": fileMode(0o6755, "2"), "gone": fileMode(0o4755, "g")}
	out := carry(t, root, plan(t, root, to, nil), to, &apply.Options{Alg: oid.SHA1})
	if len(out.Conflicts) != 3 {
		t.Errorf("%+v", out)
	}
	for _, n := range out.Conflicts {
		if !errors.Is(n.Err, apply.ErrPrivilege) {
			t.Error(n.Path, n.Err)
		}
	}
	same(t, root, world{"mode": fileMode(0o755, "m"), "bytes": fileMode(0o755, "2"), "gone": fileMode(0o755, "g")})
}

func TestADirectoryIsClosedBeforeAnythingIsWrittenBelowIt(t *testing.T) {
	for _, refused := range []bool{false, true} {
		root := t.TempDir()
		world{"d": dir(0o755), "d/old": file("1"), "f": file("1")}.make(t, root)
		to := world{"d": dir(0o700), "d/old": file("2"), "d/new": file("secret"), "f": file("2")}
		written, closed := 0, false
		hook := func(op, path string) error {
			switch {
			case op == "chmod" && path == "d" && refused:
				return os.ErrPermission
			case filepath.Dir(path) != "d" || op == "remove":
				return nil
			}
			written++
			st, err := os.Lstat(filepath.Join(root, "d"))
			must(t, err)
			closed = closed || st.Mode().Perm() == 0o700
			if st.Mode().Perm() != 0o700 {
				t.Errorf("%s %s while the directory has %o", op, path, st.Mode().Perm())
			}
			return nil
		}
		opt := &apply.Options{Alg: oid.SHA1}
		opt.Alone() // the hook counts
		opt.Hook(hook)
		out := carry(t, root, plan(t, root, to, nil), to, opt)
		if refused {
			if len(out.Conflicts) != 3 || !errors.Is(out.Conflicts[1].Err, apply.ErrOpen) || written > 0 {
				t.Errorf("%+v after %d acts below", out, written)
			}
			continue
		}
		if len(out.Conflicts) > 0 || !closed {
			t.Errorf("%+v", out)
		}
		same(t, root, to)
	}
}

func TestAnotherUsersFileLendsNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can make another user's file")
	}
	root := t.TempDir()
	world{"f": file("theirs"), "own": file("1")}.make(t, root)
	must(t, os.Chown(filepath.Join(root, "f"), 65534, 65533))
	must(t, os.Chown(filepath.Join(root, "own"), 65532, 65533))
	to := world{"f": fileMode(0o640, "ours"), "own": fileMode(0o640, "2")}
	opt := &apply.Options{Alg: oid.SHA1}
	opt.As(65532) // whom root only plays: what it writes is root's
	carry(t, root, plan(t, root, to, nil), to, opt)
	same(t, root, to)
	_, stats := read(t, root)
	if st := stats["f"]; st.UID != 0 || st.GID != 0 {
		t.Errorf("the file has the owner %d:%d of the one it replaced", st.UID, st.GID)
	}
	if st := stats["own"]; st.GID != 65533 {
		t.Errorf("the user's own file has lost its group: %d:%d", st.UID, st.GID)
	}
}
