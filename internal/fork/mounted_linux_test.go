package fork

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/engine"
)

// TestWhatIsMountedInAForkDoesNotGoWithIt mounts dependencies of the worktree in a fork,
// as one does who does not want to copy them. They are equal in both, and the same.
func TestWhatIsMountedInAForkDoesNotGoWithIt(t *testing.T) {
	for name, start := range map[string]func(*testing.T) (*engine.Engine, *engine.Snapshot){"plain": recorded, "git": committed} {
		for _, force := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				e, s := start(t)
				dir := forked(t, e, s)
				only := filepath.Join(e.Root(), "deps", "only")
				put(t, filepath.Join(e.Root(), ".gitignore"), "deps/\n")
				must(t, os.Mkdir(filepath.Dir(only), 0o755))
				put(t, only, "the only copy")
				there := filepath.Join(dir, "deps")
				put(t, filepath.Join(dir, ".gitignore"), "deps/\n")
				must(t, os.Mkdir(there, 0o755))
				if err := unix.Mount(filepath.Dir(only), there, "", unix.MS_BIND, ""); err != nil {
					t.Skipf("NOT TESTED: cannot mount: %v", err)
				}
				defer unix.Unmount(there, unix.MNT_DETACH)
				_, err := Remove(t.Context(), e, dir, force, &engine.Options{Force: true})
				if !errors.Is(err, engine.ErrRefused) {
					t.Errorf("it was removed: %v", err)
				}
				if text, err := os.ReadFile(only); string(text) != "the only copy" {
					t.Fatalf("the worktree has lost it: %v", err)
				}
				must(t, unix.Unmount(there, 0))
				if _, err := Remove(t.Context(), e, dir, force, &engine.Options{Force: true}); err != nil {
					t.Errorf("without the mount: %v", err)
				}
			})
		}
	}
}
