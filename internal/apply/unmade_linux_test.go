package apply_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Where the new file could not be made, what lies at its path says more than why.
func TestWhatLiesAtAPathIsToldWhereNoFileCanBeMade(t *testing.T) {
	for why, failure := range map[string]error{"the content is damaged": nil, "read-only": syscall.EROFS, "a full disk": syscall.ENOSPC} {
		root := t.TempDir()
		lies := world{"same": file("ours"), "other": file("theirs")}
		to := world{"same": file("ours"), "other": file("ours")}
		steps := plan(t, root, to, nil)
		lies.make(t, root)
		opt := &apply.Options{Alg: oid.SHA1}
		src := shelve(to).source
		if failure == nil {
			src = func(context.Context, oid.ID, io.Writer) (bool, error) { return false, errors.New("damaged") }
		}
		opt.Hook(func(op, _ string) error {
			if op == "create" {
				return failure
			}
			return nil
		})
		out, err := apply.Apply(t.Context(), root, steps, src, opt)
		if err != nil || !slices.Equal(out.There, []string{"same"}) || len(out.Conflicts) != 1 || !strings.Contains(out.Conflicts[0].Reason, "not recorded") {
			t.Errorf("%s: %q are there, conflicts %v, %v", why, out.There, out.Conflicts, err)
		}
		same(t, root, lies)
	}
}

// A snapshot from elsewhere may have a link of any length.
func TestALinkThatIsTooLongIsNamedAndLeavesNoFileOpen(t *testing.T) {
	opened := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return len(list)
	}
	before := opened()
	for _, n := range []int{5000, 9000, 2 << 20} {
		root := t.TempDir()
		to := world{"l": link(strings.Repeat("x", n)), "f": file("f")}
		out := run(t, root, plan(t, root, to, nil), to)
		if len(out.Conflicts) != 1 || !errors.Is(out.Conflicts[0].Err, syscall.ENAMETOOLONG) {
			t.Errorf("%d bytes: %v", n, out.Conflicts)
		}
		same(t, root, world{"f": file("f")})
	}
	if n := opened(); n > before {
		t.Errorf("%d files stay open", n-before)
	}
}

// A directory that is filled has each file under its own name at once.
func TestAnExportHasNoFileBeforeItsContentWasChecked(t *testing.T) {
	for _, n := range []int{4 << 10, 64 << 10, 512 << 10} {
		root := t.TempDir()
		to := world{"a": file(strings.Repeat("x", n))}
		src := func(_ context.Context, _ oid.ID, w io.Writer) (bool, error) {
			for left := n; left > 0; left -= 32 << 10 {
				if _, err := io.WriteString(w, strings.Repeat("z", min(left, 32<<10))); err != nil {
					return false, err
				}
				if _, err := os.Lstat(filepath.Join(root, "a")); err == nil {
					t.Errorf("%d bytes: a part is there", n)
				}
			}
			return false, nil
		}
		out, err := apply.Fill(t.Context(), root, plan(t, root, to, nil), src, &apply.Filling{Alg: oid.SHA1})
		if err != nil || len(out.Conflicts) != 1 {
			t.Errorf("%d bytes: %+v, %v", n, out, err)
		}
	}
}
