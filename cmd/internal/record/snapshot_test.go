package record

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/engine"
)

func TestASnapshotThatCouldNotBeCountedGivesNoNumber(t *testing.T) {
	var out, prose bytes.Buffer
	a := &app{&cli.App{Stdio: cli.Stdio{Out: &out, Err: &prose}}}
	a.printSnapshot(&engine.Recorded{Snapshot: &engine.Snapshot{}, Uncounted: errors.New("an object is damaged")}, false, 0)
	if strings.Contains(out.String(), "changed") || !strings.Contains(out.String(), "  recorded, ") || !strings.Contains(prose.String(), "could not be counted") {
		t.Errorf("it says %q and %q", out.String(), prose.String())
	}
	for uncounted, want := range map[error]bool{errors.New("an object is damaged"): false, nil: true} {
		out.Reset()
		a.JSON = true
		a.printSnapshot(&engine.Recorded{Snapshot: &engine.Snapshot{}, Uncounted: uncounted}, false, 0)
		if strings.Contains(out.String(), `"changed":0,`) != want || strings.Contains(out.String(), `"changed"`) != want {
			t.Errorf("uncounted %v: %s", uncounted, out.String())
		}
	}
}
