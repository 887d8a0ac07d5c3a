package records

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTheWorktreeIsReadOffARecord(t *testing.T) {
	for _, where := range []string{".", "worktrees/x", `worktrees/with "quotes"`, `back\slash`, "", "ünï"} {
		value, err := json.Marshal(&Snapshot{Where: where, Branch: `refs/heads/"worktree":"other"`, Points: []Point{{Label: `","worktree":"other","source":`}}})
		if err != nil {
			t.Fatal(err)
		}
		got, sure := whereOf(value)
		if sure && got != where || !sure && where != "" && !strings.ContainsAny(where, `"\`) {
			t.Errorf("%q is read as %q, %v", where, got, sure)
		}
		if mayHaveSource(value) {
			t.Errorf("a label is taken for a source: %s", value)
		}
		if value, err = json.Marshal(&Snapshot{Source: &Source{Kind: "x"}}); err != nil || !mayHaveSource(value) {
			t.Errorf("a source is not seen: %s", value)
		}
	}
}
