package gitodb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

func deflated(t *testing.T, text string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zlib.NewWriter(&buf)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// payloads returns blobs of many sizes, a large one included.
func payloads(alg oid.Algorithm) map[oid.ID][]byte {
	all := map[oid.ID][]byte{}
	rnd := rand.NewChaCha8([32]byte{7})
	for _, size := range []int{0, 1, 15, 16, 2047, 2048, 100_000, streamBytesMin - 1, streamBytesMin, streamBytesMin + 77} {
		p := make([]byte, size)
		rnd.Read(p[:size/2]) // the rest compresses well
		all[alg.Sum(oid.Blob, p)] = p
	}
	for i := range 500 {
		p := fmt.Appendf(nil, "file %d", i)
		all[alg.Sum(oid.Blob, p)] = p
	}
	return all
}

// wantFound checks that git and a new DB read what was written.
func (r *repo) wantFound(all map[oid.ID][]byte) {
	r.t.Helper()
	d := r.open()
	for id, want := range all {
		if k, p, err := d.Read(id); err != nil || k != oid.Blob || !bytes.Equal(p, want) {
			r.t.Errorf("Read(%v) = %v, %d bytes, %v", id, k, len(p), err)
		}
		o, err := d.Stream(id)
		if err != nil {
			r.t.Fatal(err)
		}
		p, err := io.ReadAll(o.Data)
		if err = errors.Join(err, o.Data.Close()); err != nil || o.Kind != oid.Blob || !bytes.Equal(p, want) || o.Size != int64(len(want)) {
			r.t.Errorf("Stream(%v) = %v, %d bytes, %v", id, o.Kind, len(p), err)
		}
	}
	if out := r.git("fsck", "--strict", "--full", "--no-dangling"); strings.Trim(out, "\n") != "" &&
		!strings.Contains(out, "HEAD points to an unborn branch") && !strings.Contains(out, "No default references") {
		r.t.Errorf("fsck: %s", out)
	}
	var ids []string
	for id := range all {
		ids = append(ids, id.String())
	}
	out, err := r.run(strings.Join(ids, "\n")+"\n", "cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)")
	if err != nil {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		id, _ := oid.Parse(f[0])
		if f[1] != "blob" || f[2] != fmt.Sprint(len(all[id])) {
			r.t.Errorf("git has %s", line)
		}
	}
}

// leftovers lists temporary files.
func (r *repo) leftovers() (names []string) {
	_ = filepath.Walk(r.objects(), func(path string, _ os.FileInfo, _ error) error {
		if strings.HasPrefix(filepath.Base(path), "tmp_") {
			names = append(names, path)
		}
		return nil
	})
	return names
}

func TestGitReadsLooseObjectsThatWereWritten(t *testing.T) {
	both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		d := r.open()
		all := payloads(alg)
		for id, p := range all {
			if err := d.WriteLoose(id, Payload(oid.Blob, p)); err != nil {
				t.Fatal(err)
			}
		}
		r.wantFound(all)
		if l := r.leftovers(); l != nil {
			t.Error(l)
		}
	})
}

func TestGitReadsPacksThatWereWritten(t *testing.T) {
	both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		d := r.open()
		all := payloads(alg)
		var ids []oid.ID
		for id := range all {
			ids = append(ids, id, id) // twice: it is written once
		}
		source := func(id oid.ID) (Object, error) { return Payload(oid.Blob, all[id]), nil }
		if d.Has(ids[0]) {
			t.Fatal("there before it is written")
		}
		for range 2 { // the same pack again changes nothing
			if _, err := d.WritePack(context.Background(), ids, source); err != nil {
				t.Fatal(err)
			}
		}
		if !d.Has(ids[0]) {
			t.Error("not found by who wrote it")
		}
		r.git("verify-pack", packsOf(r)[0])
		r.git("index-pack", "--verify", "--strict", strings.TrimSuffix(packsOf(r)[0], ".idx")+".pack")
		r.wantFound(all)
		if l := r.leftovers(); l != nil {
			t.Error(l)
		}
	})
}

func packsOf(r *repo) []string {
	m, _ := filepath.Glob(filepath.Join(r.objects(), "pack", "*.idx"))
	return m
}

func TestIndexesEqualGits(t *testing.T) {
	both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		all := payloads(alg)
		var ids []oid.ID
		for id := range all {
			ids = append(ids, id)
		}
		source := func(id oid.ID) (Object, error) { return Payload(oid.Blob, all[id]), nil }
		if _, err := r.open().WritePack(context.Background(), ids, source); err != nil {
			t.Fatal(err)
		}
		idx := packOf(t, r)
		ours, err := os.ReadFile(idx)
		if err != nil {
			t.Fatal(err)
		}
		other := filepath.Join(t.TempDir(), "i.idx")
		r.git("index-pack", "-o", other, strings.TrimSuffix(idx, ".idx")+".pack")
		if gits, err := os.ReadFile(other); err != nil || !bytes.Equal(ours, gits) {
			t.Errorf("the index differs from git's (%v)", err)
		}
	})
}

func TestWrongBytesAreNotWritten(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	d := r.open()
	id := oid.SHA1.Sum(oid.Blob, []byte("right"))
	source := func(oid.ID) (Object, error) { return Payload(oid.Blob, []byte("wrong")), nil }
	short := func(oid.ID) (Object, error) {
		return Object{oid.Blob, 5, io.NopCloser(strings.NewReader("righ"))}, nil
	}
	long := func(oid.ID) (Object, error) {
		return Object{oid.Blob, 5, io.NopCloser(strings.NewReader("right!"))}, nil
	}
	for _, s := range []Source{source, short, long} {
		o, _ := s(id)
		if err := d.WriteLoose(id, o); !errors.Is(err, ErrCorrupt) {
			t.Errorf("loose: %v", err)
		}
		if _, err := d.WritePack(context.Background(), []oid.ID{id}, s); !errors.Is(err, ErrCorrupt) {
			t.Errorf("pack: %v", err)
		}
	}
	gone := errors.New("gone")
	if _, err := d.WritePack(context.Background(), []oid.ID{id}, func(oid.ID) (Object, error) { return Object{}, gone }); !errors.Is(err, gone) {
		t.Error(err)
	}
	if d.Has(id) || r.leftovers() != nil || packsOf(r) != nil {
		t.Errorf("left: %q %q", r.leftovers(), packsOf(r))
	}
}

func TestAnObjectWhoseFileIsEmptyIsWrittenAgain(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	d := r.open()
	p := []byte("content")
	id := oid.SHA1.Sum(oid.Blob, p)
	path := loosePath(d.dir, id)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o444)); err != nil {
		t.Fatal(err)
	}
	if d.Has(id) || d.Freshen(id) {
		t.Error("an empty file is taken for the object")
	}
	if err := d.WriteLoose(id, Payload(oid.Blob, p)); err != nil {
		t.Fatal(err)
	}
	r.wantFound(map[oid.ID][]byte{id: p})
}

func TestFilesHaveGitsPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: permissions of Unix")
	}
	r := newRepo(t, oid.SHA1)
	var shared []string
	d, err := Open(r.objects(), oid.SHA1, &Options{Sync: true, Share: func(path string) error {
		shared = append(shared, filepath.Base(path))
		return os.Chmod(path, 0o440)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := os.RemoveAll(filepath.Join(r.objects(), "pack")); err != nil {
		t.Fatal(err)
	}
	p := []byte("p")
	id := oid.SHA1.Sum(oid.Blob, p)
	if err := r.open().WriteLoose(id, Payload(oid.Blob, p)); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(loosePath(d.dir, id)); err != nil || st.Mode() != 0o444 {
		t.Errorf("%v, %v, want 0444", st.Mode(), err)
	}
	os.Remove(loosePath(d.dir, id))
	d.opt.Share = func(path string) error { shared = append(shared, path); return nil }
	if err := d.WriteLoose(id, Payload(oid.Blob, p)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.WritePack(context.Background(), []oid.ID{id}, func(oid.ID) (Object, error) { return Payload(oid.Blob, p), nil }); err != nil {
		t.Fatal(err)
	}
	if len(shared) != 4 { // the object, the pack directory, the pack, its index
		t.Errorf("shared %q", shared)
	}
}

func TestLargeObjectsThatAreBrokenFailBeforeTheirEnd(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	p := make([]byte, streamBytesMin+10)
	rand.NewChaCha8([32]byte{1}).Read(p)
	id := oid.SHA1.Sum(oid.Blob, p)
	d := r.open()
	put := func(data []byte) {
		t.Helper()
		path := loosePath(d.dir, id)
		os.Remove(path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o444)); err != nil {
			t.Fatal(err)
		}
	}
	head := fmt.Sprintf("blob %d\x00", len(p))
	for name, data := range map[string][]byte{
		"other bytes": deflated(t, head+"x"+string(p[1:])),
		"cut short":   deflated(t, head+string(p[:len(p)-1])),
		"longer":      deflated(t, head+string(p)+"x"),
		"no checksum": bytes.TrimSuffix(deflated(t, head+string(p)), deflated(t, head+string(p))[len(deflated(t, head+string(p)))-4:]),
	} {
		put(data)
		o, err := d.Stream(id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, o.Data); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
		if err := o.Data.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestObjectsThatAreWrittenAtOnceHaveTheirNamesTogether(t *testing.T) {
	both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		d := r.open()
		all := map[oid.ID][]byte{}
		var ids []oid.ID
		for n := range 5 {
			p := bytes.Repeat([]byte{byte(n)}, n*n*1000)
			ids = append(ids, alg.Sum(oid.Blob, p))
			all[ids[n]] = p
		}
		gone := errors.New("gone")
		for n := range ids {
			left := n
			err := d.WriteLooseAll(ids, func(id oid.ID) (Object, error) {
				if left--; left < 0 {
					return Object{}, gone
				}
				return Payload(oid.Blob, all[id]), nil
			})
			if !errors.Is(err, gone) || r.leftovers() != nil || d.HasLoose(ids[0]) {
				t.Fatalf("a source that ends after %d: %v, left %q", n, err, r.leftovers())
			}
		}
		for range 2 { // the second time they are there
			if err := d.WriteLooseAll(ids, func(id oid.ID) (Object, error) { return Payload(oid.Blob, all[id]), nil }); err != nil {
				t.Fatal(err)
			}
			r.wantFound(all)
			if l := r.leftovers(); l != nil {
				t.Error(l)
			}
		}
	})
}

func TestASmallObjectTakesOneBlockAndIsNotDeflated(t *testing.T) {
	for _, alg := range []oid.Algorithm{oid.SHA1, oid.SHA256} {
		r := newRepo(t, alg)
		d := r.open()
		all := map[oid.ID][]byte{}
		for _, size := range []int{0, 1, 100, storedMax - 1, storedMax, storedMax + 1} {
			p := bytes.Repeat([]byte("a"), size)
			id := alg.Sum(oid.Blob, p)
			if err := d.WriteLoose(id, Payload(oid.Blob, p)); err != nil {
				t.Fatal(err)
			}
			all[id] = p
			got := d.LooseSize(id)
			if stored := got > int64(size); stored != (size <= storedMax) || got > 4<<10 {
				t.Errorf("%v: %d bytes take %d", alg, size, got)
			}
			if made := d.MadeSize(id); made != got {
				t.Errorf("%v: %d bytes are said to take %d, not %d", alg, size, made, got)
			}
		}
		r.wantFound(all)
		p := []byte("a few bytes")
		id := alg.Sum(oid.Blob, p)
		for what, o := range map[string]Object{
			"shorter": {oid.Blob, int64(len(p)), io.NopCloser(bytes.NewReader(p[1:]))},
			"longer":  {oid.Blob, int64(len(p)), io.NopCloser(bytes.NewReader(append(p[:len(p):len(p)], p...)))},
			"other":   Payload(oid.Blob, []byte("a few byteS")),
			"a tree":  Payload(oid.Tree, p),
		} {
			if err := d.WriteLoose(id, o); !errors.Is(err, ErrCorrupt) || d.HasLoose(id) {
				t.Errorf("%v, %s: %v", alg, what, err)
			}
		}
	}
}

// Who is told that an object is written lets a ref need it.
func TestAnObjectInWhosePlaceIsADirectoryIsNotSaidToBeWritten(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	d := r.open()
	p := []byte("a few bytes")
	id := oid.SHA1.Sum(oid.Blob, p)
	if err := os.MkdirAll(filepath.Join(loosePath(d.dir, id), "of a name that gives it some size"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteLoose(id, Payload(oid.Blob, p)); err == nil || d.HasLoose(id) || d.MadeSize(id) != 0 {
		t.Errorf("%v, %d bytes", err, d.MadeSize(id))
	}
}
