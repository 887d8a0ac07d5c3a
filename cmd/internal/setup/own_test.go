package setup

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// What is the user's own stays, wherever it stands.

func TestAnEntryThatTheUserHasWrittenByHandIsEnough(t *testing.T) {
	for name, text := range map[string]string{
		"cursor": `{"version":1,"hooks":{"stop":[{"command":"rewind hook cursor"}]}}`,
		"claude": `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"rewind hook claude"}]}]}}`,
		"codex":  `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"\"/opt/rewind\" hook codex"}]}]}}`,
	} {
		h := newHouse(t)
		a, err := h.agent(name)
		if err != nil {
			t.Fatal(err)
		}
		file := "." + name + "/" + a.hooks
		h.put(file, text)
		p, err := h.Plan(name)
		if err != nil || slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Path == filepath.Join(h.home, file) }) || !strings.Contains(strings.Join(p.Notes, ""), "an entry that is yours") {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestWhatOnlyNamesAHookCallsNone(t *testing.T) {
	h := newHouse(t)
	const text = `{"permissions":{"allow":["Bash(rewind hook claude:*)"]}}`
	h.put(".claude/settings.json", text)
	h.apply(h.Plan, "claude")
	if !strings.Contains(h.read(".claude/settings.json"), "rewind hook claude Stop") {
		t.Errorf("%s", h.read(".claude/settings.json"))
	}
	h.apply(h.PlanRemoval, "claude")
	if got := h.read(".claude/settings.json"); got != text {
		t.Errorf("left %s", got)
	}
}

func TestALinkThatLeadsNowhereIsNotReplaced(t *testing.T) {
	gittest.Links(t)
	h := newHouse(t)
	h.put(".cursor/other", "")
	link := filepath.Join(h.home, ".cursor/hooks.json")
	if err := os.Symlink("../dotfiles/away.json", link); err != nil {
		t.Skipf("SKIPPED: no links here: %v", err)
	}
	if p, err := h.Plan("cursor"); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
		t.Errorf("%+v, %v", p, err)
	}
	if to, err := os.Readlink(link); err != nil || to != "../dotfiles/away.json" {
		t.Errorf("%q, %v", to, err)
	}
}

func TestAScriptOfTheUsersIsCalledBesideOurs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: no agent takes scripts here")
	}
	h := newHouse(t)
	h.put(".cline/hooks/TaskStart", "#!/bin/sh\necho mine\n")
	before := h.all()
	h.apply(h.Plan, "cline")
	if h.read(".cline/hooks/TaskStart") != "#!/bin/sh\necho mine\n" || h.read(".cline/hooks/TaskStart.sh") != "#!/bin/sh\nexec rewind hook cline TaskStart\n" {
		t.Errorf("%v", h.all())
	}
	if info, err := os.Stat(filepath.Join(h.home, ".cline/hooks/TaskComplete")); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("the script cannot be run: %v, %v", info, err)
	}
	// Where the user's is gone, there is still one of ours.
	if err := os.Remove(filepath.Join(h.home, ".cline/hooks/TaskStart")); err != nil {
		t.Fatal(err)
	}
	if p := h.apply(h.Plan, "cline"); len(p.Changes) != 0 {
		t.Errorf("%+v", p.Changes)
	}
	h.put(".cline/hooks/TaskStart", "#!/bin/sh\necho mine\n")
	h.apply(h.PlanRemoval, "cline")
	if after := h.all(); !reflect.DeepEqual(after, before) {
		t.Errorf("left %q, it was %q", after, before)
	}
	// One of ours that the user edited is neither overwritten nor doubled.
	h.apply(h.Plan, "cline")
	h.put(".cline/hooks/TaskComplete", "#!/bin/sh\nexec rewind hook cline TaskComplete --wait 1s\n")
	if _, err := h.Plan("cline"); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("%v", err)
	}
}

// The program of another name is no sign that an agent is here.
func TestGooseIsKnownByItsFolder(t *testing.T) {
	h := newHouse(t)
	h.OnPath = func(program string) bool { return program == "goose" }
	if got := h.Found(); len(got) != 0 {
		t.Errorf("%v", got)
	}
	h.put(".config/goose/config.yaml", "")
	if got := h.Found(); !slices.Equal(got, []string{"goose"}) {
		t.Errorf("%v", got)
	}
}
