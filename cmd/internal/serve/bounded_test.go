package serve

import (
	"io"
	"strings"
	"testing"
)

// A content of git is copied from a stream.
func TestALongFileIsCutAlsoWhereItIsCopied(t *testing.T) {
	b := &bounded{most: 100}
	if _, err := io.Copy(b, struct{ io.Reader }{strings.NewReader(strings.Repeat("x", 1<<20))}); err == nil || !b.full || len(b.kept) != 100 {
		t.Errorf("it keeps %d bytes: %v", len(b.kept), err)
	}
}
