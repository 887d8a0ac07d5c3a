package engine

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/blame"
)

// A file of 31 MiB may have 31 million lines, of which each takes memory: some four
// GiB for a merge, and three to tell where they came from.
func TestATextOfTooManyLinesIsNeitherMergedNorBlamed(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	many := strings.Repeat("\n", 1<<20)
	var ids []*Snapshot
	for _, text := range []string{"x\n" + many, "x\n" + many + "y\n"} {
		p.write("many", text)
		p.write("most", text[2:]) // as many as there may be, and one
		s := p.take(e)
		ids = append(ids, s.Snapshot)
	}
	p.write("many", "z\nx\n"+many+"y\n")
	p.write("few", "x")
	r := p.do(e, Op{Verb: "revert", Ranges: []Range{{From: ids[1].ID, To: ids[0].ID}}, Label: "before"})
	if len(r.Conflicts) != 1 || r.Conflicts[0].Path != "many" || !strings.Contains(r.Conflicts[0].Reason, "too large") {
		t.Errorf("conflicts: %v", r.Conflicts)
	}
	text, err := os.ReadFile(filepath.Join(p.dir, "many"))
	p.must(err)
	if !bytes.HasPrefix(text, []byte("z\n")) || !bytes.HasSuffix(text, []byte("y\n")) {
		t.Error("the present was changed")
	}
	if text, err := os.ReadFile(filepath.Join(p.dir, "most")); err != nil || string(text) != many {
		t.Errorf("a file that only one side changed was not taken over: %d bytes, %v", len(text), err)
	}
	if err := blame.Text("many", text, true); !errors.Is(err, blame.ErrNoLines) {
		t.Errorf("blame: %v", err)
	}
	if err := blame.Text("most", []byte(many), true); err != nil {
		t.Errorf("blame of as many as there may be: %v", err)
	}
}
