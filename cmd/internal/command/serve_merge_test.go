package command

import (
	"strings"
	"testing"
)

func TestServeTakesBackOneTurnAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newServed(t, dir)
	put(t, dir, "a", "1\n2\n3\n4\n5\n")
	first := s.must("snapshot", nil)["id"].(string)
	put(t, dir, "a", "one\n2\n3\n4\n5\n")
	put(t, dir, "b", "new\n")
	turn := s.must("snapshot", map[string]any{"trigger": "turn"})["id"].(string)
	put(t, dir, "a", "one\n2\n3\n4\nfive\n")
	plan := s.must("planRevert", map[string]any{"ids": []string{turn}, "patch": true})
	if plan["written"] != 1.0 || plan["deleted"] != 1.0 || !strings.Contains(plan["patch"].(string), "-one\n+1\n") {
		t.Errorf("plan %v", plan)
	}
	s.must("revert", map[string]any{"ids": []string{turn}})
	has(t, dir, "a", "1\n2\n3\n4\nfive\n")
	has(t, dir, "b", "")
	s.must("apply", map[string]any{"ids": []string{first + ".." + turn}, "paths": []string{"b"}})
	has(t, dir, "a", "1\n2\n3\n4\nfive\n")
	has(t, dir, "b", "new\n")
	s.must("undo", nil)
	s.must("undo", nil)
	has(t, dir, "a", "one\n2\n3\n4\nfive\n")
	s.must("restore", map[string]any{"id": first, "keepMine": true})
	has(t, dir, "a", "1\n2\n3\n4\nfive\n")
	has(t, dir, "b", "")
	s.must("undo", nil)
	put(t, dir, "a", "uno\n2\n3\n4\n5\n")
	if left := s.must("revert", map[string]any{"ids": []string{turn}, "paths": []string{"a"}}); len(left["conflicts"].([]any)) != 1 {
		t.Errorf("conflicts %v", left)
	}
	if marked := s.must("revert", map[string]any{"ids": []string{turn}, "markers": true}); len(marked["marked"].([]any)) != 1 {
		t.Errorf("marked %v", marked)
	}
	s.fails(-32602, "revert", map[string]any{"ids": []string{turn + ".." + first}})
	s.fails(3, "planRevert", map[string]any{"ids": []string{"nothing"}})
}

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
