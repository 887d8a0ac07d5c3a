package command

import (
	"testing"
)

func TestAnUndoThatWouldLeadElsewhereThanWasAgreedToChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newServed(t, dir)
	put(t, dir, "a", "1")
	first := s.must("snapshot", nil)["id"].(string)
	put(t, dir, "a", "2")
	second := s.must("snapshot", nil)["id"].(string)
	s.must("restore", map[string]any{"id": first})
	agreed := s.must("planUndo", nil)["id"].(string)
	put(t, dir, "a", "3")
	s.must("restore", map[string]any{"id": first}) // of another process, before the user has said yes
	s.fails(1, "undo", map[string]any{"id": agreed})
	has(t, dir, "a", "1")
	if st := s.must("status", nil); st["undo"] != 2.0 || st["redo"] != 0.0 {
		t.Errorf("undo %v, redo %v", st["undo"], st["redo"])
	}
	s.must("undo", map[string]any{"id": s.must("planUndo", nil)["id"]})
	has(t, dir, "a", "3")
	s.fails(1, "redo", map[string]any{"id": second})
	has(t, dir, "a", "3")
	s.must("redo", map[string]any{"id": s.must("planRedo", nil)["id"]})
	has(t, dir, "a", "1")
}
