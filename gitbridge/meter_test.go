package gitbridge

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestHowFarGitIsIsToldAndNoComplaint(t *testing.T) {
	const said = "Enumerating objects: 7, done.\nCounting objects:  50% (2/4)\rCounting objects: 100% (4/4), done.\nDelta compression using up to 2 threads\n" +
		"Writing objects:  25% (1/4)\rWriting objects: 100% (4/4), 1.2 MiB | 3 MiB/s, done.\nTotal 4 (delta 0), reused 0 (delta 0)\n" +
		"remote: Writing objects: 100% (9/9), done.\nremote: fatal: no\rmore\nWriting objects: so it says"
	for n := 1; n < len(said); n++ {
		told := ""
		m := &meter{bounded: bounded{most: 1 << 10}, told: func(done, total int) { told += fmt.Sprint(done, "/", total, " ") }}
		for at := 0; at < len(said); at += n {
			_, _ = m.Write([]byte(said[at:min(at+n, len(said))]))
		}
		if rest := m.rest(); told != "1/4 4/4 " || rest != "remote: fatal: no\rmore\n" {
			t.Fatalf("by %d bytes it tells %q and leaves %q", n, told, rest)
		}
	}
}

// What a host says is copied as package exec copies it.
func TestAHostThatSpeaksWithoutEndFillsNoMemory(t *testing.T) {
	from := func() io.Reader { return struct{ io.Reader }{strings.NewReader(strings.Repeat("x", 1<<20))} }
	out, complaint := &bounded{most: 100}, &meter{bounded: bounded{most: 100}}
	for _, w := range []io.Writer{out, complaint} {
		if n, err := io.Copy(w, from()); n != 1<<20 || err != nil {
			t.Error(n, err)
		}
	}
	if len(out.String()) != 100 || !out.cut || len(complaint.rest()) != 100 || cap(complaint.line) > 1<<16 {
		t.Errorf("it keeps %d and %d bytes", len(out.String()), len(complaint.String()))
	}
}
