package depot

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

func TestOfManyWhoWriteOneFileOneDoesAlsoWhereThereAreNoLinks(t *testing.T) {
	for range 50 {
		d := &dir{root: t.TempDir(), link: func(string, string) error { return os.ErrPermission }}
		var wg sync.WaitGroup
		var wrote atomic.Int32
		var text atomic.Value
		for i := range 8 {
			wg.Go(func() {
				mine := string(rune('a' + i))
				if d.Put(t.Context(), "config", []byte(mine)) == nil {
					wrote.Add(1)
					text.Store(mine)
				}
			})
		}
		wg.Wait()
		got, err := d.Get(t.Context(), "config", 0, 0)
		if err != nil || wrote.Load() != 1 || string(got) != text.Load() {
			t.Fatalf("%d wrote it, and it is %q, not %v: %v", wrote.Load(), got, text.Load(), err)
		}
		if list, err := os.ReadDir(d.root); err != nil || len(list) != 1 {
			t.Fatalf("it leaves %v, %v", list, err)
		}
	}
	d := &dir{root: t.TempDir(), link: func(string, string) error { return os.ErrPermission }}
	if err := os.WriteFile(filepath.Join(d.root, "config-tmp-claim"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Put(t.Context(), "config", nil); err == nil || errors.Is(err, ErrExists) {
		t.Errorf("beside the claim of another one it says %v", err)
	}
}
