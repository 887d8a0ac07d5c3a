package hunk

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/seed"
)

// text makes lines of a small alphabet, so that many are alike; sometimes the last
// one has no end.
func text(r *rand.Rand, max int) []byte {
	var b bytes.Buffer
	for range r.IntN(max) {
		fmt.Fprintf(&b, "%c\n", 'a'+rune(r.IntN(6)))
	}
	if r.IntN(3) == 0 {
		return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	}
	return b.Bytes()
}

// changed makes another text of one by a few changes.
func changed(r *rand.Rand, old []byte) []byte {
	lines := bytes.SplitAfter(old, []byte("\n"))
	for range 1 + r.IntN(5) {
		at := r.IntN(len(lines) + 1)
		switch {
		case r.IntN(2) == 0 || at == len(lines):
			lines = append(lines[:at:at], append([][]byte{fmt.Appendf(nil, "new%d\n", r.IntN(9))}, lines[at:]...)...)
		default:
			lines = append(lines[:at:at], lines[at+1:]...)
		}
	}
	return bytes.Join(lines, nil)
}

func TestAllHunksMakeTheNewTextAndNoneTheOld(t *testing.T) {
	seed := seed.Of(t)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 3000 {
		old := text(r, 60)
		new := changed(r, old)
		hunks := Of(old, new)
		if got := Apply(old, hunks); !bytes.Equal(got, new) {
			t.Fatalf("all hunks of\n%q\n%q\nmake\n%q", old, new, got)
		}
		if got := Apply(old, nil); !bytes.Equal(got, old) {
			t.Fatalf("no hunks make %q of %q", got, old)
		}
		var parts []Hunk
		for _, h := range hunks {
			split := h.Split()
			for _, part := range split {
				if len(split) > 1 && len(part.Split()) != 1 {
					t.Fatalf("a part can be split again: %q", part.Append(nil))
				}
			}
			parts = append(parts, split...)
		}
		if got := Apply(old, parts); !bytes.Equal(got, new) {
			t.Fatalf("all parts of\n%q\n%q\nmake\n%q", old, new, got)
		}
	}
}

// TestSomeHunksMakeWhatGitApplyMakes takes git's word: a patch of the chosen hunks
// alone, and of the chosen parts alone, gives the same file.
func TestSomeHunksMakeWhatGitApplyMakes(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: there is no git")
	}
	seed := seed.Of(t)
	r := rand.New(rand.NewPCG(seed, 2))
	dir := t.TempDir()
	for range 60 {
		var old []byte
		for i := range 40 + r.IntN(40) {
			old = fmt.Appendf(old, "line %d\n", i)
		}
		new := changed(r, old)
		var chosen []Hunk
		patch := []byte("--- a/f\n+++ b/f\n")
		for _, h := range Of(old, new) {
			for _, part := range h.Split() {
				if r.IntN(2) == 0 {
					chosen, patch = append(chosen, part), part.Append(patch)
				}
			}
		}
		if len(chosen) == 0 {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), old, 0o600); err != nil {
			t.Fatal(err)
		}
		// Parts share lines, and a part does not know which others were chosen. Without
		// --unidiff-zero a part of the first lines would have to be at the very beginning,
		// also where another one has put lines before it.
		cmd := exec.Command("git", "apply", "--recount", "--allow-overlap", "--unidiff-zero")
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(patch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git apply: %v\n%s\n%s", err, out, patch)
		}
		got, err := os.ReadFile(filepath.Join(dir, "f"))
		if want := Apply(old, chosen); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("git makes\n%s\nwe make\n%s\nof\n%s", got, want, patch)
		}
	}
}

func TestAnEditedHunkFitsOrSaysWhyNot(t *testing.T) {
	old, new := []byte("a\nb\nc\n"), []byte("a\nB\nc\nd\n")
	h := Of(old, new)[0]
	for _, c := range []struct{ what, text, want string }{
		{"as it is", string(h.Append(nil)), "a\nB\nc\nd\n"},
		{"a deletion taken back", " a\n b\n+B\n c\n+d\n", "a\nb\nB\nc\nd\n"},
		{"an addition left out", "# note\n a\n-b\n+B\n c\n", "a\nB\nc\n"},
		{"other text", " a\n-b\n+other\n c\n", "a\nother\nc\n"},
		{"one more deletion", "-a\n b\n c\n", "b\nc\n"},
		{"nothing of it", "# all\n", "a\nb\nc\n"},
		{"no end of line", " a\n b\n-c\n+c\n\\ No newline at end of file\n", "a\nb\nc"},
		{"the last line cut short by the editor", " a\n b\n c\n+e", "a\nb\nc\ne\n"},
	} {
		edited, err := h.Edited([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if got := Apply(old, []Hunk{edited}); string(got) != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	for what, text := range map[string]string{
		"another line": " a\n x\n c\n", "a line is missing": " a\n c\n", "too many": " a\n b\n c\n d\n", "no sign": "a\n",
	} {
		if _, err := h.Edited([]byte(text)); !errors.Is(err, ErrUnfit) {
			t.Errorf("%s: %v", what, err)
		}
	}
	noEnd := []byte("a\nb")
	h = Of(noEnd, []byte("a\nb\nc\n"))[0]
	edited, err := h.Edited([]byte(" a\n b\n+c\n"))
	if got := Apply(noEnd, []Hunk{edited}); err != nil || string(got) != "a\nb\nc\n" {
		t.Errorf("a line without an end that another follows: %q, %v", got, err)
	}
}

func TestAHunkIsPrintedAsGitPrintsIt(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"", "a\n", "@@ -0,0 +1 @@\n+a\n"},
		{"a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n"},
		{"a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"},
	} {
		if got := string(Of([]byte(c.old), []byte(c.new))[0].Append(nil)); got != c.want {
			t.Errorf("%q → %q: %q, want %q", c.old, c.new, got, c.want)
		}
	}
}

func TestABinaryFileIsOneWithANulNearItsBeginning(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "a\nb": false, "a\x00": true,
		strings.Repeat("a", 7999) + "\x00": true, strings.Repeat("a", 8000) + "\x00": false,
	} {
		if Binary([]byte(text)) != want {
			t.Errorf("%d bytes: %v", len(text), !want)
		}
	}
}
