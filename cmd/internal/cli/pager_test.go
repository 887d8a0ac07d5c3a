package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/cmd/internal/show"
)

func TestAPagerThatFailsLosesNoDiffInSilence(t *testing.T) {
	for command, want := range map[string]struct {
		out, err string
		fails    bool
	}{
		"cat >/dev/null":                 {},
		"cat":                            {out: "a diff\n"},
		"exit 3":                         {fails: true},
		"cat; exit 3":                    {out: "a diff\n", fails: true},
		"/nowhere/pager-of-nobody":       {out: "a diff\n", err: "cannot be run"},
		"true; exit 126 # not permitted": {out: "a diff\n", err: "cannot be run"},
	} {
		var out, complaints bytes.Buffer
		a := &App{Stdio: Stdio{Out: &out, Err: &complaints}}
		print := func(w io.Writer, _ show.Look) error {
			_, err := fmt.Fprintln(w, "a diff")
			return err
		}
		err := a.through(command, print, show.Look{})
		if (err != nil) != want.fails || out.String() != want.out || !strings.Contains(complaints.String(), want.err) {
			t.Errorf("%q printed %q and %q, and ended with %v", command, &out, &complaints, err)
		}
		if err != nil && !strings.Contains(err.Error(), "REWIND_PAGER") {
			t.Errorf("%q does not say what to do: %v", command, err)
		}
	}
}
