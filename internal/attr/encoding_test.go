package attr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// TestEncodingTablesAreGits sends every byte that we take in a single-byte
// encoding through git.
func TestEncodingTablesAreGits(t *testing.T) {
	git := gittest.New(t)
	var rules bytes.Buffer
	want := map[string][]byte{}
	for i, name := range singleBytes {
		var raw, text []byte
		for c := range 256 {
			if s, err := toUTF8(name, []byte{byte(c)}); err == nil {
				raw = append(raw, byte(c))
				text = append(text, s...)
			}
		}
		if len(raw) < 128 {
			t.Errorf("%s: takes %d bytes only", name, len(raw))
		}
		file := fmt.Sprintf("f%d", i)
		fmt.Fprintf(&rules, "%s -text working-tree-encoding=%s\n", file, name)
		want[file] = text
		git.Write(file, string(raw))
	}
	git.Write(".gitattributes", rules.String())
	git.Git("add", ".")
	for file, text := range want {
		if got, err := git.Ask("", "cat-file", "blob", ":"+file); err != nil || got != string(text) {
			t.Errorf("%s (%s): git has %q, we %q", file, rules.Bytes(), got, text)
		}
	}
}

// FuzzParse checks that no bytes make Parse or Lookup panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte("[attr]m text=auto n\n[attr]n m -eol\n\"\\141\\\"\" m !x\n"), "a/b")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		c := NewChain(nil).With(Parse(data, &Options{Macros: true}))
		a := c.Lookup(name)
		c.Enter(name).Lookup(name)
		v := (&Config{}).Conversion(a)
		v.Clean(context.Background(), Input{Path: name, Raw: data})
	})
}

// FuzzPackets checks that whatever a filter sends is packets or an error.
func FuzzPackets(f *testing.F) {
	f.Add([]byte("0008abc\n0000"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := newPacketReader(bytes.NewReader(data)).lines(); err != nil && !errors.Is(err, errProtocol) {
			t.Error(err)
		}
		if _, err := newPacketReader(bytes.NewReader(data)).content(); err != nil && !errors.Is(err, errProtocol) {
			t.Error(err)
		}
	})
}
