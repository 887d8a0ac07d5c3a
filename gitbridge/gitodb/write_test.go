package gitodb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"

	"github.com/seed-82afce7a/rewind/internal/gittest"
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
	r.T.Helper()
	if left := r.leftovers(); left != nil {
		r.T.Errorf("left: %q", left)
	}
	d := r.open()
	for id, want := range all {
		if k, p, err := d.Read(id); err != nil || k != oid.Blob || !bytes.Equal(p, want) {
			r.T.Errorf("Read(%v) = %v, %d bytes, %v", id, k, len(p), err)
		}
		o, err := d.Stream(id)
		if err != nil {
			r.T.Fatal(err)
		}
		p, err := io.ReadAll(o.Data)
		if err = errors.Join(err, o.Data.Close()); err != nil || o.Kind != oid.Blob || !bytes.Equal(p, want) || o.Size != int64(len(want)) {
			r.T.Errorf("Stream(%v) = %v, %d bytes, %v", id, o.Kind, len(p), err)
		}
	}
	r.Clean()
	ask := ""
	for id := range all {
		ask += id.String() + "\n"
	}
	for line := range strings.Lines(r.Give(ask, "cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)")) {
		f := strings.Fields(line)
		if f[1] != "blob" || f[2] != fmt.Sprint(len(all[r.Parse(f[0])])) {
			r.T.Errorf("git has %s", line)
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

func of(all map[oid.ID][]byte) Source {
	return func(id oid.ID) (Object, error) { return Payload(oid.Blob, all[id]), nil }
}

func TestGitReadsLooseObjectsThatWereWritten(t *testing.T) {
	t.Parallel()
	gittest.Both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		all := payloads(alg)
		for range 2 { // the second time they are there
			if err := r.open().WriteLoose(slices.Collect(maps.Keys(all)), of(all)); err != nil {
				t.Fatal(err)
			}
			r.wantFound(all)
		}
	})
}

func TestGitReadsPacksThatWereWritten(t *testing.T) {
	t.Parallel()
	gittest.Both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		d, all := r.open(), payloads(alg)
		ids := slices.Collect(maps.Keys(all))
		if d.Has(ids[0]) {
			t.Fatal("there before it is written")
		}
		for range 2 { // the same pack again changes nothing
			if _, err := d.WritePack(t.Context(), append(ids, ids...), of(all)); err != nil {
				t.Fatal(err)
			}
		}
		if !d.Has(ids[0]) {
			t.Error("not found by who wrote it")
		}
		idx := packsOf(r)[0]
		r.Git("index-pack", "--verify", "--strict", strings.TrimSuffix(idx, ".idx")+".pack")
		r.wantFound(all)
		r.Git("index-pack", "-o", r.Path("i.idx"), strings.TrimSuffix(idx, ".idx")+".pack")
		ours, err := os.ReadFile(idx)
		if gits, err2 := os.ReadFile(r.Path("i.idx")); errors.Join(err, err2) != nil || !bytes.Equal(ours, gits) {
			t.Errorf("the index differs from git's (%v, %v)", err, err2)
		}
	})
}

func packsOf(r *repo) []string {
	m, _ := filepath.Glob(filepath.Join(r.objects(), "pack", "*.idx"))
	return m
}

func TestWrongBytesAreNotWritten(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	d, gone := r.open(), errors.New("gone")
	for _, right := range []string{"right", strings.Repeat("right", storedMax)} {
		id := oid.SHA1.Sum(oid.Blob, []byte(right))
		give := func(kind oid.Kind, text string) Source {
			return func(oid.ID) (Object, error) {
				return Object{kind, int64(len(right)), io.NopCloser(strings.NewReader(text))}, nil
			}
		}
		for what, s := range map[string]Source{
			"other bytes": give(oid.Blob, "x"+right[1:]), "shorter": give(oid.Blob, right[1:]), "longer": give(oid.Blob, right+"!"), "a tree": give(oid.Tree, right),
			"nothing": func(oid.ID) (Object, error) { return Object{}, gone },
		} {
			want := ErrCorrupt
			if what == "nothing" {
				want = gone
			}
			_, err := d.WritePack(t.Context(), []oid.ID{id}, s)
			if err2 := d.WriteLoose([]oid.ID{id}, s); !errors.Is(err, want) || !errors.Is(err2, want) {
				t.Errorf("%s: pack %v, loose %v", what, err, err2)
			}
		}
		if d.Has(id) || r.leftovers() != nil || packsOf(r) != nil {
			t.Errorf("left: %q %q", r.leftovers(), packsOf(r))
		}
	}
}

func TestAnObjectWhoseFileIsEmptyIsWrittenAgain(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	d, all := r.open(), map[oid.ID][]byte{}
	id := oid.SHA1.Sum(oid.Blob, []byte("content"))
	all[id] = []byte("content")
	name := strings.TrimPrefix(loosePath(d.dir, id), r.Dir)
	r.Write(name, "")
	if d.Has(id) || d.Freshen(id) {
		t.Error("an empty file is taken for the object")
	}
	if err := d.WriteLoose([]oid.ID{id}, of(all)); err != nil {
		t.Fatal(err)
	}
	r.wantFound(all)
	// Who is told that an object is written lets a ref need it.
	if err := os.Remove(r.Path(name)); err != nil {
		t.Fatal(err)
	}
	r.Write(name+"/of a name that gives it some size", "")
	if err := d.WriteLoose([]oid.ID{id}, of(all)); err == nil || d.HasLoose(id) {
		t.Errorf("a directory is in the place of its file: %v", err)
	}
}

func TestFilesHaveGitsPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: permissions of Unix")
	}
	r := newRepo(t, oid.SHA1)
	all := map[oid.ID][]byte{oid.SHA1.Sum(oid.Blob, []byte("p")): []byte("p")}
	ids := slices.Collect(maps.Keys(all))
	var shared []string
	d := r.open()
	if err := d.WriteLoose(ids, of(all)); err != nil {
		t.Fatal(err)
	}
	path := loosePath(d.dir, ids[0])
	if st, err := os.Stat(path); err != nil || st.Mode() != 0o444 {
		t.Errorf("%v, %v, want 0444", st.Mode(), err)
	}
	d.opt.Sync, d.opt.Share = true, func(path string) error { shared = append(shared, path); return nil }
	err := errors.Join(os.Remove(path), os.RemoveAll(filepath.Join(d.dir, "pack")), d.WriteLoose(ids, of(all)))
	if _, err2 := d.WritePack(t.Context(), ids, of(all)); err != nil || err2 != nil {
		t.Fatal(err, err2)
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
	head := fmt.Sprintf("blob %d\x00", len(p))
	whole := deflated(t, head+string(p))
	for name, data := range map[string][]byte{
		"other bytes": deflated(t, head+"x"+string(p[1:])),
		"cut short":   deflated(t, head+string(p[:len(p)-1])),
		"longer":      deflated(t, head+string(p)+"x"),
		"no checksum": whole[:len(whole)-4],
	} {
		r.Write(strings.TrimPrefix(loosePath(d.dir, id), r.Dir), string(data))
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

func TestOfObjectsThatAreWrittenAtOnceNoneHasItsNameIfOneFails(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	d, all, gone := r.open(), payloads(oid.SHA1), errors.New("gone")
	ids := slices.Collect(maps.Keys(all))[:5]
	for n := range ids {
		left := n
		err := d.WriteLoose(ids, func(id oid.ID) (Object, error) {
			if left--; left < 0 {
				return Object{}, gone
			}
			return of(all)(id)
		})
		if !errors.Is(err, gone) || r.leftovers() != nil || d.HasLoose(ids[0]) {
			t.Fatalf("a source that ends after %d: %v, left %q", n, err, r.leftovers())
		}
	}
}

func TestASmallObjectTakesOneBlockAndIsNotDeflated(t *testing.T) {
	gittest.Both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		d, all := r.open(), map[oid.ID][]byte{}
		for _, size := range []int{0, 1, 100, storedMax - 1, storedMax, storedMax + 1} {
			p := bytes.Repeat([]byte("a"), size)
			id := alg.Sum(oid.Blob, p)
			all[id] = p
			if err := d.WriteLoose([]oid.ID{id}, of(all)); err != nil {
				t.Fatal(err)
			}
			got := d.LooseSize(id)
			if stored := got > int64(size); stored != (size <= storedMax) || got > 4<<10 {
				t.Errorf("%v: %d bytes take %d", alg, size, got)
			}
		}
		r.wantFound(all)
	})
}
