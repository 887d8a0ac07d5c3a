//go:build linux

package hostile

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// object writes a loose object of any size, piece by piece.
func (w *world) object(kind string, size int64, write func(io.Writer)) string {
	w.Helper()
	path := w.at(".git/new-object")
	f, err := os.Create(path)
	w.must(err)
	z, err := zlib.NewWriterLevel(f, zlib.BestSpeed)
	w.must(err)
	h := sha1.New()
	both := io.MultiWriter(z, h)
	fmt.Fprintf(both, "%s %d\x00", kind, size)
	write(both)
	w.must(z.Close())
	w.must(f.Close())
	id := hex.EncodeToString(h.Sum(nil))
	to := w.at(".git/objects/" + id[:2] + "/" + id[2:])
	w.must(os.MkdirAll(filepath.Dir(to), 0o755))
	w.must(os.Rename(path, to))
	return id
}

func (w *world) bytesObject(kind string, p []byte) string {
	w.Helper()
	return w.object(kind, int64(len(p)), func(to io.Writer) { _, _ = to.Write(p) })
}

// entry encodes one entry of a tree.
func entry(mode, name, id string) []byte {
	raw, _ := hex.DecodeString(id)
	return append([]byte(mode+" "+name+"\x00"), raw...)
}

// nest makes a tree of so many levels, each of which has so many entries that
// are all the one below it.
func (w *world) nest(levels, wide int, bottom string) string {
	w.Helper()
	id := w.bytesObject("tree", entry("100644", "file", bottom))
	for range levels {
		var p []byte
		for i := range wide {
			p = append(p, entry("40000", fmt.Sprintf("d%03d", i), id)...)
		}
		id = w.bytesObject("tree", p)
	}
	return id
}

// offer makes a checkpoint of another system with a tree, and lets every
// command use it.
func (w *world) offer(tree string) {
	w.Helper()
	commit := w.bytesObject("commit", []byte("tree "+tree+"\nauthor a <a@example.org> 1700000000 +0000\ncommitter a <a@example.org> 1700000000 +0000\n\npi rewind snapshot\n"))
	w.write(".git/refs/pi-checkpoints/checkpoint-1700000000000", commit+"\n")
	w.first = commit
}

// headed makes a tree that of the branch.
func (w *world) headed(tree string) {
	w.Helper()
	commit := w.bytesObject("commit", []byte("tree "+tree+"\nauthor a <a@example.org> 1700000000 +0000\ncommitter a <a@example.org> 1700000000 +0000\n\nx\n"))
	w.write(".git/refs/heads/main", commit+"\n")
}

func (w *world) blob() string { return w.bytesObject("blob", []byte("text\n")) }

// zeros writes so many bytes.
func zeros(n int64) func(io.Writer) {
	return func(to io.Writer) {
		p := make([]byte, 1<<20)
		for ; n > 0; n -= int64(len(p)) {
			_, _ = to.Write(p[:min(n, int64(len(p)))])
		}
	}
}

// flat is a tree with so many entries.
func (w *world) flat(entries int) string {
	w.Helper()
	blob := w.blob()
	one := int64(len(entry("100644", "name-12345678", blob)))
	return w.object("tree", one*int64(entries), func(to io.Writer) {
		var p bytes.Buffer
		for i := range entries {
			p.Write(entry("100644", fmt.Sprintf("name-%08d", i), blob))
			if p.Len() > 1<<20 {
				_, _ = p.WriteTo(to)
			}
		}
		_, _ = p.WriteTo(to)
	})
}

// claim writes an object that says of itself what is not so.
func (w *world) claim(kind, size string) string {
	w.Helper()
	var p bytes.Buffer
	z := zlib.NewWriter(&p)
	fmt.Fprintf(z, "%s %s\x00%s", kind, size, strings.Repeat("x", 100))
	w.must(z.Close())
	id := strings.Repeat("ab", 20)
	w.write(".git/objects/ab/"+id[2:], p.String())
	return id
}

var trees = map[string]kind{
	"ten times each, 30 levels":           {make: func(w *world) { w.offer(w.nest(30, 10, w.blob())) }, slow: true},
	"ten times each, 30 levels, the head": {make: func(w *world) { w.headed(w.nest(30, 10, w.blob())) }},
	"two of them": {make: func(w *world) {
		w.headed(w.nest(30, 10, w.blob()))
		w.offer(w.nest(30, 10, w.bytesObject("blob", []byte("other\n"))))
	}, slow: true},
	"twice each, 4,000 levels": {make: func(w *world) { w.offer(w.nest(4000, 2, w.blob())) }},
	"50,000 levels":            {make: func(w *world) { w.offer(w.nest(50_000, 1, w.blob())) }, slow: true},
	"a thousand each":          {make: func(w *world) { w.offer(w.nest(3, 1000, w.blob())) }, slow: true},
	"a tree of 1 GiB":          {make: func(w *world) { w.offer(w.object("tree", 1<<30, zeros(1<<30))) }, slow: true},
	"a head of 1 GiB":          {make: func(w *world) { w.headed(w.object("tree", 1<<30, zeros(1<<30))) }, slow: true},
	"a tree of 8 million":      {make: func(w *world) { w.offer(w.flat(8 << 20)) }, slow: true},
	"a commit of 1 GiB": {make: func(w *world) {
		id := w.object("commit", 1<<30, zeros(1<<30))
		w.write(".git/refs/pi-checkpoints/x", id+"\n")
		w.write(".git/refs/heads/main", id+"\n")
		w.first = id
	}, slow: true},
	"a store ref of 1 GiB": {make: func(w *world) {
		w.write(".git/refs/pi-rewind/store", w.object("commit", 1<<30, zeros(1<<30))+"\n")
	}, slow: true},
	"a file of 1 GiB": {make: func(w *world) {
		w.offer(w.bytesObject("tree", entry("100644", "a", w.object("blob", 1<<30, zeros(1<<30)))))
	}, slow: true},
	"a link of 1 GiB": {make: func(w *world) {
		w.offer(w.bytesObject("tree", entry("120000", "a", w.object("blob", 1<<30, zeros(1<<30)))))
	}, slow: true},
	"rules of 1 GiB": {make: func(w *world) {
		w.headed(w.bytesObject("tree", entry("100644", ".gitattributes", w.object("blob", 1<<30, zeros(1<<30)))))
	}, slow: true},
	"a head that claims 2^62":  {make: func(w *world) { w.headed(w.claim("tree", "4611686018427387904")) }},
	"a tree that claims 1 TiB": {make: func(w *world) { w.offer(w.claim("tree", "1099511627776")) }},
	"a size of 10,000 digits":  {make: func(w *world) { w.offer(w.claim("tree", strings.Repeat("1", 10000))) }},
	"a kind of 10,000 letters": {make: func(w *world) { w.offer(w.claim(strings.Repeat("tree", 10000), "1")) }},
}

func TestNoTreeOrObjectTakesMoreThanItsBound(t *testing.T) {
	all(t, trees)
}

// Who is told of damage looks for a broken disk.
func TestWhatIsTooLargeIsNotCalledDamaged(t *testing.T) {
	w := newWorld(t).recorded()
	w.offer(w.object("tree", 600<<20, zeros(600<<20))) // git has it, whole
	for _, args := range [][]string{{"show", w.first}, {"restore", w.first, "--dry-run"}, {"export", w.first, w.at("../exported")}} {
		r := w.run(args...)
		if r.code != 1 || !strings.Contains(r.err, "too large") || strings.Contains(r.err, "damaged") {
			t.Errorf("%q: exit %d, want 1: %s", args, r.code, r.err)
		}
	}
}
