package gitodb

import (
	"bytes"
	"compress/zlib"
	"math/rand/v2"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/seed"
)

// texts are payloads that make deflate use each of its kinds of blocks.
func texts(rng *rand.Rand) (out [][]byte) {
	for range 300 {
		p := make([]byte, rng.IntN(3000))
		letters := 1 + rng.IntN(256)
		for i := range p {
			if p[i] = byte(rng.IntN(letters)); i > 9 && rng.IntN(3) == 0 {
				p[i] = p[i-1-rng.IntN(8)]
			}
		}
		out = append(out, p)
	}
	return out
}

func compressed(t *testing.T, level int, p []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zlib.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(p); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTheStartOfAStreamIsWhatInflatingGives(t *testing.T) {
	seed := seed.Of(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	kinds := map[byte]int{}
	for i, p := range append(texts(rng), nil, []byte("x"), []byte("delta")) {
		for _, level := range []int{zlib.NoCompression, zlib.BestSpeed, zlib.DefaultCompression, zlib.BestCompression, zlib.HuffmanOnly} {
			z := compressed(t, level, p)
			kinds[z[2]>>1&3]++
			out := make([]byte, rng.IntN(len(p)+20))
			n := inflateStart(z, out)
			if want := p[:min(len(p), len(out))]; !bytes.Equal(out[:n], want) {
				t.Fatalf("text %d, level %d: %d bytes, want %d: %q, want %q", i, level, n, len(want), out[:n], want)
			}
		}
	}
	if kinds[0] == 0 || kinds[1] == 0 || kinds[2] == 0 {
		t.Errorf("blocks of each kind: %v; the test is not whole", kinds)
	}
}

func TestADamagedStartGivesNoMoreThanIsThere(t *testing.T) {
	seed := seed.Of(t)
	rng := rand.New(rand.NewPCG(seed, 2))
	for _, p := range texts(rng) {
		z := compressed(t, zlib.DefaultCompression, p)
		out := make([]byte, 40)
		if n := inflateStart(z[:rng.IntN(len(z))], out); !bytes.Equal(out[:n], p[:n]) {
			t.Fatalf("cut short: %q", out[:n])
		}
		for range 20 {
			z[rng.IntN(len(z))] ^= 1 << rng.IntN(8)
			if n := inflateStart(z, out); n < 0 || n > len(out) {
				t.Fatalf("%d bytes", n)
			}
		}
		for i := range z {
			z[i] = byte(rng.Uint32())
		}
		if z[0], z[1] = 0x78, 0x9c; len(z) > 2 {
			inflateStart(z, out)
		}
	}
}
