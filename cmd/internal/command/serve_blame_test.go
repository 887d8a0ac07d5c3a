package command

import (
	"testing"
)

func TestServeTellsWhichSnapshotBroughtALine(t *testing.T) {
	dir := repository(t)
	s := newServed(t, dir)
	put(t, dir, "a", "one\n")
	first := s.must("snapshot", nil)["id"]
	put(t, dir, "a", "one\ntwo\n")
	second := s.must("snapshot", nil)["id"]
	for _, c := range []struct {
		params map[string]any
		want   []any
	}{
		{map[string]any{"path": "a"}, []any{first, second}},
		{map[string]any{"path": "a", "first": 2}, []any{second}},
		{map[string]any{"path": "a", "id": first}, []any{first}},
	} {
		lines := s.must("blame", c.params)["lines"].([]any)
		if len(lines) != len(c.want) {
			t.Fatalf("%v: %v", c.params, lines)
		}
		for i, line := range lines {
			if line.(map[string]any)["snapshot"] != c.want[i] {
				t.Errorf("%v: line %d is of %v, want %v", c.params, i, line, c.want[i])
			}
		}
	}
	s.fails(3, "blame", map[string]any{"path": "never"})
	s.fails(-32602, "blame", map[string]any{})
	s.fails(-32602, "blame", map[string]any{"path": "a", "first": -1})
}
