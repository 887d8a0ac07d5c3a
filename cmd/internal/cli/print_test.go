package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestOfThousandsOfPathsThatASnapshotLacksTheFirstAreNamed(t *testing.T) {
	var out bytes.Buffer
	a := &App{Stdio: Stdio{Err: &out}}
	s := &engine.Snapshot{ID: oid.SHA1.Sum(oid.Blob, nil)}
	var notes []engine.Note
	for i := range firstMost {
		notes = append(notes, engine.Note{Path: engine.Path(fmt.Sprint(i)), Reason: "it stays"})
	}
	a.NoteFirst("not here", s, notes)
	if n := strings.Count(out.String(), ": it stays\n"); n != firstMost || strings.Contains(out.String(), "more") {
		t.Errorf("of %d paths: %s", firstMost, out.String())
	}
	out.Reset()
	a.NoteFirst("not here", s, append(notes, notes...))
	if n := strings.Count(out.String(), ": it stays\n"); n != firstMost || !strings.HasSuffix(out.String(), "not here: 20 more paths (\"rewind show "+s.ID.Short()+"\" names all)\n") {
		t.Errorf("of %d paths: %s", 2*firstMost, out.String())
	}
}
