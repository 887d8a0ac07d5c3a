package attr

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/seed-82afce7a/rewind/internal/seed"
)

// TestLinesInPiecesAreConvertedLikeThoseInMemory cuts random texts anywhere.
func TestLinesInPiecesAreConvertedLikeThoseInMemory(t *testing.T) {
	seed := seed.Of(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 20000 {
		data := make([]byte, rng.IntN(40))
		for i := range data {
			data[i] = "\r\n\r\nabc\x1a\x00\x01"[rng.IntN(7+rng.IntN(4))]
		}
		v := Conversion{lines: lineRule(rng.IntN(int(linesAutoCRLF) + 1)), safe: rng.IntN(4) == 0, crlf: rng.IntN(2) == 0}
		has := rng.IntN(3) == 0
		inIndex := func() (bool, error) { return has, nil }
		want, wantErr := v.Clean(context.Background(), Input{Raw: data, IndexHasCR: inIndex})

		lines := &Lines{}
		for rest := data; len(rest) > 0; {
			n := 1 + rng.IntN(len(rest))
			if _, err := lines.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		convert, err := v.Converts(lines, inIndex)
		if !errors.Is(err, wantErr) {
			t.Fatalf("seed %d: %q by %+v: error %v, want %v", seed, data, v, err, wantErr)
		}
		if err != nil {
			continue
		}
		got := data
		if convert {
			if got, err = io.ReadAll(CRLFReader(iotest.OneByteReader(bytes.NewReader(data)))); err != nil {
				t.Fatal(err)
			}
			if int64(len(data)-len(got)) != lines.CRLF() {
				t.Fatalf("seed %d: %q became shorter by %d, not %d", seed, data, len(data)-len(got), lines.CRLF())
			}
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %q by %+v became %q, want %q", seed, data, v, got, want)
		}
	}
}

func TestAReaderOfLinesPassesOnErrors(t *testing.T) {
	broken := errors.New("broken")
	for _, text := range []string{"", "a", "a\r", "a\r\n"} {
		r := CRLFReader(io.MultiReader(bytes.NewReader([]byte(text)), iotest.ErrReader(broken)))
		if _, err := io.ReadAll(r); !errors.Is(err, broken) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := iotest.TestReader(CRLFReader(bytes.NewReader([]byte("\r\na\rb\r\n\r"))), []byte("\na\rb\n\r")); err != nil {
		t.Error(err)
	}
}
