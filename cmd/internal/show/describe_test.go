package show

import (
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
)

func TestWhatWasFinishedSaysTheWayBack(t *testing.T) {
	for undid, want := range map[bool]string{false: `"rewind undo" returns`, true: `"rewind redo" returns`} {
		if got := RecoveredText(&engine.Restored{Undid: undid}); !strings.Contains(got, want) {
			t.Errorf("%v: %s", undid, got)
		}
	}
}
