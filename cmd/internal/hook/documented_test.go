package hook

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// These were not run: what they say is what their documentation has.
func TestWhatCursorAndGooseSayIsUnderstood(t *testing.T) {
	gittest.Slashes(t)
	for _, agent := range []struct{ name, before, after string }{
		{"cursor", `{"hook_event_name":"beforeSubmitPrompt","conversation_id":"S","generation_id":"G","prompt":"fix it","workspace_roots":["/w","/v"]}`, `{"hook_event_name":"stop","conversation_id":"S","generation_id":"G","status":"completed","workspace_roots":["/w"]}`},
		{"goose", `{"event":"UserPromptSubmit","session_id":"S","message":"fix it","working_dir":"/w"}`, `{"event":"Stop","session_id":"S","last_assistant_message":"done","working_dir":"/w"}`},
	} {
		w := newWorld(t)
		w.call(agent.name, "", agent.before)
		w.call(agent.name, "", agent.after)
		for _, e := range w.points {
			if e.Session != "S" || e.Prompt == "" || e.Prompt != w.points[0].Prompt || e.Agent != agent.name || filepath.ToSlash(e.Dir) != "/w" {
				t.Errorf("%s: %+v", agent.name, e)
			}
		}
		if got := w.made(); !slices.Equal(got, []string{"prompt fix it", "turn fix it"}) {
			t.Errorf("%s: points %q", agent.name, got)
		}
		if said := w.said(); said != "" {
			t.Errorf("%s: the user was told %s", agent.name, said)
		}
	}
}

// Cursor calls a user's hooks in a folder of its own, which is not to be recorded.
func TestAPointOfCursorIsNeverOfTheFolderOfItsHooks(t *testing.T) {
	w := newWorld(t)
	const said = `{"hook_event_name":"beforeSubmitPrompt","conversation_id":"S","prompt":"fix it","workspace_roots":[]}`
	for _, input := range []string{said, `{"hook_event_name":"stop","conver`, ""} {
		w.call("cursor", "stop", input)
		if made, said := w.made(), w.said(); len(made) != 0 || input == "" && !strings.Contains(said, "did not say where it works") {
			t.Errorf("%q made %q, told %q", input, made, said)
		}
	}
	w.env["CURSOR_PROJECT_DIR"] = filepath.Join(w.dir, "of-the-project")
	w.call("cursor", "", said)
	if len(w.points) != 1 || w.points[0].Dir != w.env["CURSOR_PROJECT_DIR"] {
		t.Errorf("%+v", w.points)
	}
}
