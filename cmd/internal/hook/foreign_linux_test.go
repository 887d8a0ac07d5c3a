package hook

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestWhereSomebodyElseKeepsSessionsNothingIsRemembered(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give a directory to another user")
	}
	t.Setenv("SUDO_UID", "")
	const nobody = 65534
	for _, name := range []string{"rewind", "rewind/hooks"} {
		w := newWorld(t)
		state := w.env["XDG_STATE_HOME"]
		dir := filepath.Join(state, "rewind", "hooks")
		e := Event{Agent: "claude", Dir: w.dir}
		planted := sessionFile(dir, &e) // of who names no session, which anybody can work out
		if err := errors.Join(os.MkdirAll(dir, 0o777), os.WriteFile(planted, []byte(`{"tell":["planted words"]}`), 0o666)); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(state, name), nobody, nobody); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chown(dir, nobody, nobody), os.Chown(planted, nobody, nobody)); err != nil {
			t.Fatal(err)
		}
		w.lenient = true
		w.call("claude", "UserPromptSubmit", `{"prompt":"a secret"}`)
		if got := w.made(); len(got) != 1 || got[0] != "prompt a secret" {
			t.Errorf("%s: points: %q", name, got)
		}
		if got := w.said(); got != "" {
			t.Errorf("%s: told: %q", name, got)
		}
		if text, err := os.ReadFile(planted); err != nil || string(text) != `{"tell":["planted words"]}` {
			t.Errorf("%s: somebody else's file has %q, %v", name, text, err)
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
			t.Errorf("%s: somebody else's directory has %v, %v", name, list, err)
		}
	}
}
