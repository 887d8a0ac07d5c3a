package ledger

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

const (
	hexDigitsShort = 40
	hexDigitsLong  = 64
)

// Mentioned returns every snapshot id that stands anywhere in the file, also
// where it is no session or damaged beyond reading: each word of exactly 40 or
// 64 hexadecimal digits, which may well name something else. A sweep that
// keeps these drops nothing that the file could have meant. It gives up when
// the context ends, and where a file is longer than any session.
func Mentioned(ctx context.Context, path string) ([]oid.ID, error) {
	f, err := openSession(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	ids, err := mentions(&bounded{ctx, f, sessionBytesMax + 1})
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", path, err)
	}
	return ids, nil
}

func mentions(r io.Reader) ([]oid.ID, error) {
	var ids []oid.ID
	seen := make(map[oid.ID]bool)
	take := func(word []byte) {
		if len(word) != hexDigitsShort && len(word) != hexDigitsLong {
			return
		}
		if id, err := oid.Parse(string(word)); err == nil && !id.IsZero() && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	in := bufio.NewReaderSize(r, 64<<10)
	word := make([]byte, 0, hexDigitsLong+1)
	for {
		c, err := in.ReadByte()
		if err == nil && isWord(c) {
			if len(word) <= hexDigitsLong {
				word = append(word, c)
			}
			continue
		}
		take(word)
		word = word[:0]
		if err == io.EOF {
			return ids, nil
		}
		if err != nil {
			return ids, err
		}
	}
}

// isWord says what an id cannot touch without being part of a longer word.
func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
