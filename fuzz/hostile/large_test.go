//go:build linux

package hostile

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
)

// gitIndex writes an index of git's, of a version, with so many entries as it
// says and what is written behind its head.
func (w *world) gitIndex(version, entries uint32, write func(b *bytes.Buffer)) {
	w.Helper()
	var b bytes.Buffer
	b.WriteString("DIRC")
	b.Write(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, version), entries))
	write(&b)
	sum := sha1.Sum(b.Bytes())
	b.Write(sum[:])
	w.must(os.WriteFile(w.at(".git/index"), b.Bytes(), 0o644))
}

// indexEntry is the beginning of an entry: no stat data, an ordinary file.
func indexEntry(name string) []byte {
	p := make([]byte, 62)
	binary.BigEndian.PutUint32(p[24:], 0o100644)
	p[40] = 1
	binary.BigEndian.PutUint16(p[60:], uint16(min(len(name), 0xfff)))
	return p
}

// bomb is an index of version 4: each name repeats the one before and adds a
// letter.
func bomb(entries int, step string) func(b *bytes.Buffer) {
	return func(b *bytes.Buffer) {
		n := 0
		for range entries {
			n += len(step)
			b.Write(indexEntry(strings.Repeat("x", min(n, 0xfff))))
			b.WriteByte(0) // keep all of the name before
			b.WriteString(step)
			b.WriteByte(0)
		}
	}
}

func extension(kind string, size uint32) func(b *bytes.Buffer) {
	return func(b *bytes.Buffer) {
		b.WriteString(kind)
		b.Write(binary.BigEndian.AppendUint32(nil, size))
		b.WriteString("some bytes")
	}
}

var larges = map[string]kind{
	"an index of names that grow":         {make: func(w *world) { w.gitIndex(4, 200_000, bomb(200_000, "x")) }},
	"an index of levels that grow":        {make: func(w *world) { w.gitIndex(4, 200_000, bomb(200_000, "x/")) }},
	"an index that claims 2^32 entries":   {make: func(w *world) { w.gitIndex(2, 1<<32-1, func(*bytes.Buffer) {}) }},
	"an index with an extension of 4 GiB": {make: func(w *world) { w.gitIndex(2, 0, extension("TREE", 1<<32-1)) }},
	"a link extension that lies":          {make: func(w *world) { w.gitIndex(2, 0, extension("link", 1<<31)) }},
	"an untracked cache that lies":        {make: func(w *world) { w.gitIndex(2, 0, extension("UNTR", 1<<31)) }},
	"an index of 250 MB": {make: func(w *world) {
		const entries = 3_000_000
		w.gitIndex(2, entries, func(b *bytes.Buffer) {
			for i := range entries {
				name := fmt.Sprintf("d%04d/n%08d", i/1000, i)
				b.Write(indexEntry(name))
				b.WriteString(name)
				b.Write(make([]byte, 8-(62+len(name))%8))
			}
		})
	}, slow: true},
	"packed refs of 200 MB": {make: func(w *world) {
		w.text(".git/packed-refs", 200<<20, numbers("1111111111111111111111111111111111111111 refs/heads/x%08x\n"))
	}, slow: true},
	"packed refs of checkpoints": {make: func(w *world) {
		id := w.blob()
		w.text(".git/packed-refs", 100<<20, numbers(id+" refs/pi-checkpoints/x%08x\n"))
	}, slow: true},
	"a session of one line": {make: func(w *world) { w.session(func(int) string { return strings.Repeat("x", 1<<20) }, 1<<30) }, slow: true},
	"a session of a million lines": {make: func(w *world) {
		w.session(numbers(`{"type":"message","id":"%08x","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"x"}}`+"\n"), 120<<20)
	}, slow: true},
	"a session of one long message": {make: func(w *world) {
		w.session(func(i int) string {
			if i == 0 {
				return `{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"`
			}
			return strings.Repeat("x", 1<<20)
		}, 1<<30)
	}, slow: true},
	"sessions without a line": {make: func(w *world) { w.session(always("\n"), 256<<20) }, slow: true},
	"a directory of 500,000": {make: func(w *world) {
		w.must(os.Mkdir(w.at("many"), 0o755))
		for i := range 500_000 {
			f, err := os.Create(w.at(fmt.Sprintf("many/n%06d", i)))
			w.must(err)
			w.must(f.Close())
		}
	}, slow: true},
}

// session writes a session of Pi, with a head of its own.
func (w *world) session(line func(i int) string, size int64) {
	w.Helper()
	head := fmt.Sprintf(`{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":%q}`+"\n", w.root)
	w.text("../home/.pi/agent/sessions/--repo--/2026-01-01T00-00-00-000Z_s.jsonl", size+int64(len(head)), func(i int) string {
		if i == 0 {
			return head
		}
		return line(i - 1)
	})
}

func TestNothingLargeTakesMoreThanItsBound(t *testing.T) {
	all(t, larges)
}
