package hook

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// integrations are the folders of what is installed into each agent.
var integrations = map[string]string{"claude-code": "claude", "codex": "codex", "copilot": "copilot", "gemini": "gemini", "qwen": "qwen"}

func TestTheHooksOfTheIntegrationsAreOnesThatRewindKnows(t *testing.T) {
	command := regexp.MustCompile(`^"\$\{\w+\}/bin/rewind-hook" (\w+) (\w+)$`)
	for folder, agent := range integrations {
		text, err := os.ReadFile(filepath.Join("../../../extension", folder, "hooks/hooks.json"))
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Hooks map[string][]struct {
				Hooks []struct {
					Command string
					Timeout float64
				}
			}
		}
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatalf("%s: %v", folder, err)
		}
		acts := map[Act]bool{}
		for event, list := range file.Hooks {
			for _, entry := range list {
				for _, h := range entry.Hooks {
					m := command.FindStringSubmatch(h.Command)
					if m == nil || m[1] != agent || m[2] != event {
						t.Errorf("%s: %s runs %s", folder, event, h.Command)
					}
					seconds := h.Timeout
					if agent == "gemini" { // the only one that counts milliseconds
						seconds /= 1000
					}
					if act, known := actOf(agent, event); !known || act != Nothing && (seconds < 20 || seconds > 60) {
						t.Errorf("%s: %s is not known, or has not the time that it needs: %v", folder, event, h.Timeout)
					} else {
						acts[act] = true
					}
				}
			}
		}
		for _, act := range []Act{Before, After, BeforeTool, AfterTool} {
			if !acts[act] {
				t.Errorf("%s has no hook for %q", folder, act)
			}
		}
	}
}

// The script that finds the program is the same everywhere, and never fails: not
// without a program, not with one that fails or cannot be run.
func TestTheScriptOfTheIntegrationsNeverFails(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("SKIPPED: there is no sh")
	}
	script := filepath.Join("..", "..", "..", "extension", "claude-code", "bin", "rewind-hook")
	want, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	for folder := range integrations {
		if got, err := os.ReadFile(filepath.Join("../../../extension", folder, "bin/rewind-hook")); err != nil || string(got) != string(want) {
			t.Errorf("%s has another script: %v", folder, err)
		}
	}
	home := t.TempDir()
	fails := filepath.Join(home, "fails")
	if err := os.WriteFile(fails, []byte("#!/bin/sh\necho \"$@\" >&2\nexit 2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-c", `chmod +x "$0"`, filepath.ToSlash(fails)).CombinedOutput(); err != nil { // no program for Windows can
		t.Fatalf("%v\n%s", err, out)
	}
	for binary, want := range map[string]string{"": "the program was not found", fails: "hook claude SessionStart", filepath.Join(home, "none"): "not found"} {
		cmd := exec.Command("sh", filepath.ToSlash(script), "claude", "SessionStart")
		cmd.Env = []string{"PATH=/nowhere", "HOME=" + home, "REWIND_BINARY=" + binary}
		var errs strings.Builder
		cmd.Stderr = &errs
		if out, err := cmd.Output(); err != nil || len(out) > 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("with %q: %v, %q, %q", binary, err, out, errs.String())
		}
	}
}

func actOf(agent, event string) (Act, bool) {
	d := dialects()[agent]
	return d.act(event)
}
