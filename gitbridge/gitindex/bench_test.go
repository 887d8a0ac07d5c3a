package gitindex

import (
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
)

// synthetic makes the bytes of an index of n entries in directories of 15.
func synthetic(n int) []byte {
	p := append([]byte("DIRC\x00\x00\x00\x02"), 0, 0, 0, 0)
	binary.BigEndian.PutUint32(p[8:], uint32(n))
	for i := range n {
		name := fmt.Sprintf("drivers/group%04d/part%04d/some_file_name_%02d.c", i/1500, i/15, i%15)
		start := len(p)
		p = append(p, make([]byte, 62)...)
		binary.BigEndian.PutUint32(p[start+24:], 0100644)
		sum := sha1.Sum([]byte(name))
		copy(p[start+40:], sum[:])
		binary.BigEndian.PutUint16(p[start+60:], uint16(len(name)))
		p = append(p, name...)
		p = append(p, make([]byte, 8-(len(p)-start)%8)...)
	}
	sum := sha1.Sum(p)
	return append(p, sum[:]...)
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{79_000, 1_000_000} {
		data := synthetic(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				x, err := Decode(data, nil)
				if err != nil || x.Len() != n {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestEveryDirectoryOfALargeIndexIsFound(t *testing.T) {
	const n = 20_000
	data := synthetic(n)
	x, err := Decode(data, nil)
	if err != nil || x.Len() != n {
		t.Fatal(err)
	}
	for i := range n {
		dir := fmt.Sprintf("drivers/group%04d/part%04d", i/1500, i/15)
		name := fmt.Sprintf("some_file_name_%02d.c", i%15)
		e := x.Dir(dir).find(name)
		want := sha1.Sum([]byte(dir + "/" + name))
		if len(e) != 1 || e[0].ID.String() != fmt.Sprintf("%x", want) {
			t.Fatalf("entry %d is %+v", i, e)
		}
	}
	data[len(data)-20-112+24+2] = 0x10 // the last entry becomes a fifo
	seal(data)
	if _, err := Decode(data, nil); !errors.Is(err, ErrMalformed) {
		t.Errorf("error in the last entry: %v", err)
	}
}
