package apply_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestATemporaryFileThatCouldNotBeRemovedIsTriedAgainAndElseNamed(t *testing.T) {
	for _, c := range []struct {
		fails  int // removals
		before string
		left   int
		parted bool // in two steps
	}{{1, "", 0, false}, {1 << 30, "", 1, false}, {1, "exchange", 0, false}, {1 << 30, "exchange", 1, false}, {1, "", 0, true}, {1 << 30, "", 1, true}} {
		root := t.TempDir()
		world{"d": dir(0o755), "d/a": file("1"), "d/.rewind-tmp-0000000000000000w": file("a user's own")}.make(t, root)
		to := world{"d": dir(0o755), "d/a": file("2"), "d/.rewind-tmp-0000000000000000w": file("a user's own")}
		opt := &apply.Options{Alg: oid.SHA1}
		if c.parted {
			opt.NoExchange()
		}
		opt.Hook(func(op, _ string) error {
			if op == "discard" && c.fails > 0 {
				c.fails--
				return syscall.EIO
			}
			if op == c.before {
				return syscall.EINVAL
			}
			return nil
		})
		out, err := apply.Apply(t.Context(), root, plan(t, root, to, nil), shelve(to).source, opt)
		if err != nil && !strings.Contains(err.Error(), syscall.EIO.Error()) {
			t.Fatal(err)
		}
		if len(out.Left) != c.left || temporaries(t, root) != c.left {
			t.Errorf("%+v: left %q, on disk %d", c, out.Left, temporaries(t, root))
		}
		if now, _ := read(t, root); now["d/a"] == (item{}) {
			t.Errorf("%+v: nothing is at the path", c)
		}
		for _, name := range out.Left {
			if _, err := os.Lstat(filepath.Join(root, name)); err != nil {
				t.Error(err)
			}
		}
		stays, err := apply.Sweep(root, append(out.Left, "gone/.rewind-tmp-x", "../outside"), &apply.Options{Alg: oid.SHA1})
		if err != nil || len(stays) > 0 || temporaries(t, root) != 0 {
			t.Errorf("%+v: %q stay, %v", c, stays, err)
		}
	}
}

// temporaries counts the temporary files, but the user's.
func temporaries(t *testing.T, root string) (n int) {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(root, "d"))
	must(t, err)
	own := false
	for _, f := range list {
		if f.Name() == ".rewind-tmp-0000000000000000w" {
			own = true
		} else if strings.HasPrefix(f.Name(), ".rewind-tmp-") {
			n++
		}
	}
	if !own {
		t.Error("the user's own file is gone")
	}
	return n
}
