package gitodb

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// damaged calls f with the repository's database after each of many damages to
// one file, which is put back afterwards.
func damaged(t *testing.T, path string, seed uint64, f func()) {
	t.Helper()
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	for range 60 {
		bad := append([]byte(nil), good...)
		switch rnd.IntN(3) {
		case 0:
			bad = bad[:rnd.IntN(len(bad))]
		case 1:
			bad[rnd.IntN(len(bad))] ^= byte(1 + rnd.IntN(255))
		case 2:
			at := rnd.IntN(len(bad))
			for i := range bad[at:min(at+16, len(bad))] {
				bad[at+i] = 0xff
			}
		}
		os.Remove(path)
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		f()
	}
	os.Remove(path)
	if err := os.WriteFile(path, good, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestDamageIsNeverAWrongByteAndNeverAPanic(t *testing.T) {
	t.Parallel()
	r := newRepo(t, oid.SHA1)
	ids := r.fill(11)
	errs := map[string]int{}
	read := func() {
		d, err := Open(r.objects(), r.alg, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		for id := range ids {
			_, _ = d.Length(id)
			k, p, err := d.Read(id)
			switch {
			case err == nil && r.alg.Sum(k, p) != id:
				t.Fatalf("%v: wrong bytes", id)
			case errors.Is(err, ErrCorrupt):
				errs["corrupt"]++
			case errors.Is(err, ErrNotFound):
				errs["not found"]++
			case err != nil:
				t.Fatalf("%v: %v", id, err)
			}
		}
	}
	head := r.ID("HEAD")
	loose := loosePath(r.objects(), head)
	damaged(t, loose, 12, read)
	r.Git("repack", "-q", "-a", "-d", "-f")
	r.Git("prune-packed")
	base := strings.TrimSuffix(packOf(t, r), ".idx")
	damaged(t, base+".idx", 13, read)
	damaged(t, base+".pack", 14, read)
	if errs["corrupt"] == 0 || errs["not found"] == 0 {
		t.Errorf("the damage had no effect: %v", errs)
	}
}

func TestABrokenCopyIsPassedOverForAGoodOne(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.fill(15)
	r.Git("repack", "-q", "-a") // the loose ones stay
	head := r.ID("HEAD")
	base := strings.TrimSuffix(packOf(t, r), ".idx")
	p, err := os.ReadFile(base + ".pack")
	for i := 100; i < len(p)-100; i++ {
		p[i] ^= 0x55
	}
	if err := errors.Join(err, os.Remove(base+".pack"), os.WriteFile(base+".pack", p, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.open().Read(head); err != nil {
		t.Error(err)
	}
	os.Remove(loosePath(r.objects(), head))
	if _, _, err := r.open().Read(head); !errors.Is(err, ErrCorrupt) {
		t.Errorf("%v, want ErrCorrupt", err)
	}
}

func TestAnIndexCutShortUnderTheMapIsNotTheEnd(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: cutting a mapped file is tried on Linux only")
	}
	r := newRepo(t, oid.SHA1)
	ids := r.fill(16)
	r.Git("repack", "-q", "-a", "-d")
	r.Git("prune-packed")
	d := r.open()
	for id := range ids {
		if !d.Has(id) {
			t.Fatal("not there")
		}
	}
	r.truncate(packOf(t, r), 0)
	for id := range ids {
		if d.Has(id) {
			t.Error("found in an index that is gone")
		}
	}
}

func TestSizesThatCannotBeAreRefusedBeforeMemoryIsTaken(t *testing.T) {
	d, err := Open(t.TempDir(), oid.SHA1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.bytesMax = 1000
	put := func(id oid.ID, text string) {
		t.Helper()
		path := loosePath(d.dir, id)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, deflated(t, text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	id := oid.SHA1.Sum(oid.Blob, make([]byte, 2000))
	put(id, "blob 2000\x00"+string(make([]byte, 2000)))
	if _, _, err := d.Read(id); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v, want ErrTooLarge", err)
	}
	for _, text := range []string{"blob 99999999999999999\x00x", "blob 9999999999999999999999\x00x", "blob 3\x00ab", "blob 1\x00ab", "blob -1\x00", "blob 01\x00a", "blub 1\x00a", "blob 1", ""} {
		put(id, text)
		if _, _, err := d.Read(id); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: %v, want ErrCorrupt", text, err)
		}
	}
}

func TestAChainOfDeltasWithoutEndIsRefused(t *testing.T) {
	// Two deltas by reference, each the other's base.
	a, b := oid.SHA1.Sum(oid.Blob, []byte("a")), oid.SHA1.Sum(oid.Blob, []byte("b"))
	pack := []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x02")
	offs := map[oid.ID]int64{}
	for _, p := range [][2]oid.ID{{a, b}, {b, a}} {
		offs[p[0]] = int64(len(pack))
		pack = append(pack, refDelta<<4|4)
		pack = p[1].Append(pack)
		pack = append(pack, deflated(t, "\x01\x01\x01x")...)
	}
	d := writeRaw(t, pack, offs)
	for id := range offs {
		if _, _, err := d.Read(id); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%v, want ErrCorrupt", err)
		}
	}
}

func FuzzPatch(f *testing.F) {
	f.Add([]byte("hello world"), []byte("\x0b\x05\x90\x05"))
	f.Add([]byte("hello"), []byte("\x05\x06\x91\x00\x05\x01!"))
	f.Fuzz(func(t *testing.T, base, delta []byte) {
		if len(delta) > 1000 {
			return
		}
		out, err := patch(base, delta, 1<<20)
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
		if len(out) > 1<<20 {
			t.Error("too long")
		}
	})
}

func FuzzIndex(f *testing.F) {
	id := oid.SHA1.Sum(oid.Blob, []byte("x"))
	idx := encodeIndex([]oid.ID{id}, []packed{{off: 12, crc: 1}}, make([]byte, 20), oid.SHA1)
	f.Add(idx, id.Bytes())
	f.Fuzz(func(t *testing.T, data, raw []byte) {
		x := &index{data: data, hash: 20}
		if x.shape() != nil {
			return
		}
		if id, err := oid.FromBytes(raw); err == nil {
			x.find(id)
		}
		if _, err := x.checksum(); err != nil {
			t.Error(err)
		}
	})
}

func FuzzEntry(f *testing.F) {
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x30"+string(make([]byte, 40))), int64(12))
	f.Fuzz(func(t *testing.T, data []byte, off int64) {
		path := filepath.Join(t.TempDir(), "p")
		if err := os.WriteFile(path+".pack", data, 0o644); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path + ".pack")
		if err != nil {
			t.Fatal(err)
		}
		p := &pack{path: path, alg: oid.SHA1, file: file, size: int64(len(data)) - 20}
		defer p.close()
		d := &DB{alg: oid.SHA1, bytesMax: 1 << 20, bases: &bases{}, pools: &shared}
		_, _, _ = d.unpack(p, off)
		_, _ = d.packedLength(p, off)
	})
}

func FuzzLoose(f *testing.F) {
	f.Add([]byte("blob 1\x00a"), true)
	f.Fuzz(func(t *testing.T, data []byte, deflate bool) {
		if deflate {
			data = deflated(t, string(data))
		}
		path := filepath.Join(t.TempDir(), "o")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		d := &DB{alg: oid.SHA1, bytesMax: 1 << 20, bases: &bases{}, pools: &shared}
		if _, _, err := d.readLoose(path); err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
	})
}

// writeRaw makes a database of one pack from raw entries.
func writeRaw(t *testing.T, pack []byte, offs map[oid.ID]int64) *DB {
	t.Helper()
	h := oid.SHA1.Hash()
	h.Write(pack)
	sum := h.Sum(nil)
	var ids []oid.ID
	var list []packed
	for id, off := range offs {
		list = append(list, packed{off: off, place: uint32(len(ids))})
		ids = append(ids, id)
	}
	dir := t.TempDir()
	base := filepath.Join(dir, "pack", "pack-x")
	if err := errors.Join(os.Mkdir(filepath.Dir(base), 0o755),
		os.WriteFile(base+".pack", append(pack, sum...), 0o644),
		os.WriteFile(base+".idx", encodeIndex(ids, list, sum, oid.SHA1), 0o644)); err != nil {
		t.Fatal(err)
	}
	d, err := Open(dir, oid.SHA1, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}
