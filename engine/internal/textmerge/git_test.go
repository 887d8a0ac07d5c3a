package textmerge

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/seed"
)

// A triple is what three people have made of a text.
type triple struct{ base, ours, theirs []byte }

// merged asks git for the merge of a triple.
func (x triple) merged(t *testing.T, dir string) (text []byte, conflicts int) {
	t.Helper()
	args := []string{"merge-file", "-p", "-q", "-L", "ours", "-L", "base", "-L", "theirs"}
	for _, f := range []struct {
		name string
		text []byte
	}{{"ours", x.ours}, {"base", x.base}, {"theirs", x.theirs}} {
		name := filepath.Join(dir, f.name)
		if err := os.WriteFile(name, f.text, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	cmd := exec.Command("git", args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	cmd.Dir = dir
	text, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return text, exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return text, 0
}

// A writer makes random texts.
type writer struct {
	*rand.Rand
	words int  // how many different lines there are, but for new ones
	crlf  bool // most lines end so
	fresh int
}

var plain = []string{"", "}", "\t}", "\treturn nil", "{", "\tif err != nil {", "end", "  ", "//", "x"}

func (w *writer) line() string {
	end := "\n"
	if w.crlf && w.IntN(20) > 0 || w.IntN(200) == 0 {
		end = "\r\n"
	}
	switch n := w.IntN(10); {
	case n < 3:
		return plain[w.IntN(len(plain))] + end
	case n < 7:
		return fmt.Sprintf("word %d%s", w.IntN(w.words), end)
	}
	w.fresh++
	return fmt.Sprintf("line %d%s", w.fresh, end)
}

func (w *writer) lines(n int) (list []string) {
	for range n {
		list = append(list, w.line())
	}
	return list
}

// edit changes a text in some places.
func (w *writer) edit(list []string, places int) []string {
	out := append([]string(nil), list...)
	for range places {
		at := w.IntN(len(out) + 1)
		n := min(w.IntN(4), len(out)-at)
		var put []string
		switch w.IntN(6) {
		case 0: // gone
		case 1: // moved
			put = append(append(put, out[at:at+n]...), w.lines(1)...)
			n = 0
		case 2: // doubled
			put = append(append(put, out[at:at+n]...), out[at:at+n]...)
		default:
			put = w.lines(w.IntN(4))
		}
		out = append(out[:at:at], append(put, out[at+n:]...)...)
	}
	return out
}

func (w *writer) text(list []string) []byte {
	p := bytes.Buffer{}
	for _, l := range list {
		p.WriteString(l)
	}
	if w.IntN(6) == 0 {
		return bytes.TrimRight(p.Bytes(), "\r\n")
	}
	return p.Bytes()
}

// triple makes a text and two that were made of it. Some changes are in both.
func newTriple(seed uint64) triple {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 1))}
	w.words = 1 + w.IntN(30)
	w.crlf = w.IntN(5) == 0
	size := w.IntN(40)
	if w.IntN(20) == 0 {
		size = w.IntN(2000)
	}
	base := w.lines(size)
	common := base
	if w.IntN(3) == 0 {
		common = w.edit(base, 1+w.IntN(2))
	}
	places := 5 + size/20
	ours, theirs := w.edit(common, w.IntN(places)), w.edit(common, w.IntN(places))
	return triple{w.text(base), w.text(ours), w.text(theirs)}
}

func TestTheMergeIsGits(t *testing.T) {
	count, seed := seed.Times(300), seed.Of(t)
	t.Logf("seed %d, %d triples", seed, count)
	dir := t.TempDir()
	clean, conflicted, other := 0, 0, 0
	for i := range uint64(count) {
		x := newTriple(seed + i)
		want, n := x.merged(t, dir)
		got, m := mergeOf(t, x.base, x.ours, x.theirs, Labels{"ours", "theirs"})
		for _, c := range []struct{ ours, theirs, want []byte }{{x.base, x.theirs, x.theirs}, {x.ours, x.base, x.ours}, {x.ours, x.ours, x.ours}} {
			if p, k := mergeOf(t, x.base, c.ours, c.theirs, Labels{}); k != 0 || !bytes.Equal(p, c.want) {
				t.Fatalf("seed %d: of what one side alone has, or both, %d conflicts\n%s", seed+i, k, p)
			}
		}
		if p, k := mergeOf(t, x.base, x.theirs, x.ours, Labels{}); (k == 0) != (m == 0) || k == 0 && !bytes.Equal(p, got) {
			t.Fatalf("seed %d: with the sides exchanged %d conflicts, not %d\n%s", seed+i, k, m, p)
		}
		if n == 0 {
			clean++
		} else {
			conflicted++
		}
		if n != m || !bytes.Equal(got, want) {
			other++
			if other < 5 {
				t.Logf("seed %d: %d conflicts, git has %d\nbase\n%s\nours\n%s\ntheirs\n%s\ngot\n%s\nwant\n%s", seed+i, m, n, x.base, x.ours, x.theirs, got, want)
			}
		}
	}
	t.Logf("%d clean, %d with conflicts; %d differ", clean, conflicted, other)
	if other > 0 {
		t.Fail()
	}
}
