package gitodb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestADamagedPackIsNotRepackedIntoASoundOne(t *testing.T) {
	t.Parallel()
	r := newRepo(t, oid.SHA1)
	r.fill(6)
	r.Git("repack", "-q", "-a", "-d", "-f", "--depth=2")
	r.Git("prune-packed")
	base := strings.TrimSuffix(packOf(t, r), ".idx")
	want := r.Git("rev-list", "--objects", "--all", "--no-object-names")
	outcomes := map[bool]int{}
	for i, ext := range []string{".pack", ".idx"} {
		other, err := os.ReadFile(base + map[string]string{".pack": ".idx", ".idx": ".pack"}[ext])
		if err != nil {
			t.Fatal(err)
		}
		damaged(t, base+ext, uint64(6+i), func() {
			d, err := Open(r.objects(), r.alg, nil)
			if err != nil {
				t.Fatal(err)
			}
			name, _, err := d.Repack(t.Context(), nil, []string{filepath.Base(base)})
			if outcomes[err == nil]++; err == nil {
				r.Git("index-pack", "--verify", "--strict", name+".pack")
				if r.Git("rev-list", "--objects", "--all", "--no-object-names") != want {
					t.Error("other objects")
				}
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			for _, path := range []string{name + ".pack", name + ".idx"} {
				if name != "" && name != base {
					_ = os.Remove(path)
				}
			}
			path := base + map[string]string{".pack": ".idx", ".idx": ".pack"}[ext]
			_ = os.Remove(path)
			if err := os.WriteFile(path, other, 0o444); err != nil {
				t.Fatal(err)
			}
		})
	}
	if outcomes[false] == 0 {
		t.Error("no damage was found")
	}
	t.Log(outcomes)
}
