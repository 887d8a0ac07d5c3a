package engine

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestWhatIsReadAheadIsWhatIsThere(t *testing.T) {
	p := newPlace(t, true)
	e, ctx := p.open(), context.Background()
	want := map[oid.ID]string{}
	var ids []oid.ID
	expect := func(text string) {
		id := e.alg.Sum(oid.Blob, []byte(text))
		ids, want[id] = append(ids, id), text
	}
	for i := range 3*aheadRun + 1 {
		text := fmt.Sprint("in the store ", i)
		p.write(fmt.Sprint("dir/", i), text)
		expect(text)
	}
	large := strings.Repeat("larger than what is read ahead\n", aheadBytes/10)
	p.write("large", large)
	p.snap(e, "file", nil)
	expect(large)
	p.write("loose", "in git alone")
	p.git("hash-object", "-w", "loose")
	expect("in git alone")
	ids = append(ids, ids[0], ids[1]) // what is asked for twice

	a := e.readAhead(ids)
	for _, id := range append(ids, e.alg.Sum(oid.Blob, []byte("file"))) { // and what was not announced
		var buf bytes.Buffer
		text, known := want[id]
		if !known {
			text = "file"
		}
		if err := a.write(ctx, id, &buf); err != nil || buf.String() != text {
			t.Fatalf("%v is %.40q, %v; want %.40q", id, buf.String(), err, text)
		}
	}
	none := e.alg.Sum(oid.Blob, []byte("nowhere"))
	if err := e.readAhead([]oid.ID{none}).write(ctx, none, &bytes.Buffer{}); err == nil {
		t.Error("what is nowhere was read")
	}
}

func TestReadingAheadKeepsFewRuns(t *testing.T) {
	p := newPlace(t, false)
	e, ctx := p.open(), context.Background()
	var ids []oid.ID
	for i := range (2*aheadRuns + 1) * aheadRun {
		text := fmt.Sprint("content ", i)
		p.write(fmt.Sprint(i), text)
		ids = append(ids, e.alg.Sum(oid.Blob, []byte(text)))
	}
	p.snap(e, "file", nil)
	a := e.readAhead(ids)
	for pass := range 2 { // in the second what was dropped is read as usual
		for i := pass; i < len(ids); i += aheadRun {
			var buf bytes.Buffer
			if err := a.write(ctx, ids[i], &buf); err != nil || buf.String() != fmt.Sprint("content ", i) {
				t.Fatalf("content %d is %q, %v", i, buf.String(), err)
			}
		}
		kept := 0
		for _, id := range ids {
			if a.runs[id].have != nil {
				kept++
			}
		}
		if kept > aheadRuns*aheadRun {
			t.Errorf("%d contents of %d are in runs that are kept", kept, len(ids))
		}
	}
}
