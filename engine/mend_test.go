package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

func TestSyncNamesADamagedCopyInAPack(t *testing.T) {
	p := newPlace(t, true)
	e := p.open()
	for i := range 200 {
		p.write(fmt.Sprint("d/", i), fmt.Sprint(rand.Uint64()))
	}
	p.snap(e, "one", nil)
	pack, err := filepath.Glob(filepath.Join(p.dir, ".git", "objects", "pack", "*.pack"))
	if err != nil || len(pack) != 1 {
		t.Fatal(pack, err)
	}
	data, err := os.ReadFile(pack[0])
	p.must(err)
	data[len(data)/2] ^= 0xff // a single bit may be one that the deflated stream only pads with
	p.must(os.Remove(pack[0]))
	p.must(os.WriteFile(pack[0], data, 0o444))
	e = p.open()
	if _, err := e.Sync(context.Background()); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v, want ErrDamaged", err)
	}
	p.write("d/0", "next")
	if r := p.take(p.open()); r.Bridge != nil {
		t.Error(r.Bridge)
	}
	if v, err := e.Verify(context.Background()); err != nil || len(v.Damaged) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
}
