package gitodb

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"
)

// zlibStream compresses as git does at a level.
func zlibStream(t testing.TB, level int, p []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zlib.NewWriterLevel(&out, level)
	if err == nil {
		_, err = w.Write(p)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// wantAsZlib checks that a stream is inflated as the standard library does it, into so many bytes.
func wantAsZlib(t *testing.T, size int, stream []byte) {
	t.Helper()
	got := make([]byte, size)
	err := new(wholeInflater).inflate(got, stream)
	var want []byte
	r, wrong := zlib.NewReader(bytes.NewReader(stream))
	if wrong == nil {
		want, wrong = io.ReadAll(io.LimitReader(r, int64(size)+1))
	}
	if wrong == nil {
		_, wrong = r.Read(make([]byte, 1))
	}
	switch good := wrong == io.EOF && len(want) == size; {
	case good && err != nil:
		t.Errorf("%x: %v", stream, err)
	case !good && err == nil:
		t.Errorf("%x is inflated: %v, %d bytes for %d", stream, wrong, len(want), size)
	case good && !bytes.Equal(got, want):
		t.Errorf("%x: other bytes", stream)
	case err != nil && !errors.Is(err, ErrCorrupt):
		t.Error(err)
	}
}

// someBytes are of a kind that deflate treats in its own way: repetitions near and far, words, noise.
func someBytes(r *rand.Rand) (p []byte) {
	words := make([][]byte, 1+r.IntN(40))
	for i := range words {
		words[i] = make([]byte, 1+r.IntN(300))
		for j := range words[i] {
			words[i][j] = byte(r.IntN(1 + r.IntN(256)))
		}
	}
	for size := r.IntN(1 << r.IntN(18)); len(p) < size; {
		p = append(p, words[r.IntN(len(words))]...)
		if r.IntN(20) == 0 {
			p = append(p, bytes.Repeat([]byte{byte(r.Int())}, r.IntN(1000))...)
		}
	}
	return p
}

func TestWhatIsInMemoryIsInflatedAsByZlib(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 400 {
		p := someBytes(r)
		stream := zlibStream(t, r.IntN(12)-2, p)
		wantAsZlib(t, len(p), stream)
		wantAsZlib(t, len(p), stream[:len(stream)-1-r.IntN(4)]) // without its checksum, or a part of it
		stream[len(stream)-1-r.IntN(4)] ^= 1 << r.IntN(8)
		if err := new(wholeInflater).inflate(make([]byte, len(p)), stream); !errors.Is(err, ErrCorrupt) {
			t.Errorf("with another checksum: %v", err)
		}
		stream = zlibStream(t, r.IntN(12)-2, p)
		wantAsZlib(t, len(p)+1, stream)
		wantAsZlib(t, max(len(p)-1, 0), stream)
		wantAsZlib(t, len(p), stream[:r.IntN(len(stream))])
		for range 10 {
			bad := bytes.Clone(stream)
			bad[r.IntN(min(len(bad), 1<<r.IntN(18)))] ^= 1 << r.IntN(8)
			wantAsZlib(t, len(p), bad)
		}
	}
}

// A table has room for every code that RFC 1951 allows.
func TestTheLongestCodesHaveRoom(t *testing.T) {
	for _, lookup := range []uint{litBits, distBits} {
		symbols, room := litSymbols[:], len(wholeInflater{}.lit)
		if lookup == distBits {
			symbols, room = distSymbols[:], len(wholeInflater{}.dist)
		}
		seed := uint64(time.Now().UnixNano())
		t.Log("seed", seed)
		r := rand.New(rand.NewPCG(seed, 1))
		for range 3000 {
			lens := completeCode(r, 2+r.IntN(len(symbols)-1))
			if table := make([]symbol, room); !build(table, lens, symbols, lookup) {
				t.Fatalf("%d bits at once: %v", lookup, lens)
			}
		}
	}
}

// completeCode splits the codes of a tree, mostly its longest, until there are so many.
func completeCode(r *rand.Rand, n int) []uint8 {
	lens := []uint8{1, 1}
	for len(lens) < n {
		i := r.IntN(len(lens))
		if r.IntN(3) > 0 {
			i = len(lens) - 1 - r.IntN(min(len(lens), 3))
		}
		if lens[i] < codeMost {
			lens[i]++
			lens = append(lens, lens[i])
		}
	}
	r.Shuffle(len(lens), func(i, j int) { lens[i], lens[j] = lens[j], lens[i] })
	return lens
}

func TestAStreamOfEmptyBlocksMakesItsTablesOnce(t *testing.T) {
	stream := []byte{0x78, 0x9c}
	var hold, n uint
	for range 8 << 10 { // each is the bits 0, 10 and seven zeros
		hold |= 2 << n
		for n += 10; n >= 8; n -= 8 {
			stream = append(stream, byte(hold))
			hold >>= 8
		}
	}
	stream = append(stream, byte(hold|3<<n), byte((hold|3<<n)>>8), 0, 0)
	wantAsZlib(t, 0, stream)
	z := &wholeInflater{}
	z.fixed()
	z.lit[0] = special
	if z.fixed(); z.lit[0] != special {
		t.Error("the tables are made again")
	}
}

func FuzzInflate(f *testing.F) {
	for level := -2; level < 10; level++ {
		f.Add(500, zlibStream(f, level, bytes.Repeat([]byte("hello, world. "), 40)[:500]))
	}
	f.Fuzz(func(t *testing.T, size int, stream []byte) {
		if size >= 0 && size < 1<<20 {
			wantAsZlib(t, size, stream)
		}
	})
}

func BenchmarkInflate(b *testing.B) {
	p := someBytes(rand.New(rand.NewPCG(4, 2)))
	for len(p) < 1<<14 {
		p = append(p, p...)
	}
	p = p[:1<<14]
	stream, out := zlibStream(b, 6, p), make([]byte, 1<<14)
	b.SetBytes(int64(len(p)))
	z := &wholeInflater{}
	for b.Loop() {
		if err := z.inflate(out, stream); err != nil {
			b.Fatal(err)
		}
	}
}
