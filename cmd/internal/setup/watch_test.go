package setup

import (
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
)

const userSettings = ".config/rewind/config"

func TestTheWatchingIsTakenBackToTheByte(t *testing.T) {
	gittest.Need(t)
	for name, text := range map[string]string{
		"none": "-", "empty": "", "other settings": "[rewind]\n\tignored = all\n", "no end of line": "[rewind \"a\"]\n\tb = c",
		"a line that goes on": "[rewind]\n\tinclude = a\\\n",
	} {
		h := newHouse(t)
		if text != "-" {
			h.put(userSettings, text)
		}
		before := h.all()
		plan := func(string) (*Plan, error) { return h.PlanWatch() }
		removal := func(string) (*Plan, error) { return h.PlanWatchRemoval() }
		if p := h.apply(plan, ""); len(p.Changes) != 1 {
			t.Fatalf("%s: %v", name, p.Changes)
		}
		if got, err := exec.Command("git", "config", "-f", filepath.Join(h.home, userSettings), "rewind.watch").Output(); err != nil || string(got) != "large\n" {
			t.Errorf("%s: git reads %q: %v", name, got, err)
		}
		if p := h.apply(plan, ""); len(p.Changes) != 0 {
			t.Errorf("%s: the second time changed %v", name, p.Changes)
		}
		h.put(userSettings, h.read(userSettings)+"# mine\n")
		h.apply(removal, "")
		if got, want := h.read(userSettings), strings.TrimPrefix(text, "-")+"# mine\n"; got != want {
			t.Errorf("%s: of a changed file it left %q", name, got)
		}
		if text == "-" {
			h.put(userSettings, "")
			continue
		}
		h.put(userSettings, text)
		h.apply(plan, "")
		if h.apply(removal, ""); !reflect.DeepEqual(h.all(), before) {
			t.Errorf("%s: left %q, it was %q", name, h.all(), before)
		}
	}
}

func TestSettingsThatSpeakOfWatchingAreLeftAlone(t *testing.T) {
	for _, text := range []string{"[rewind]\n\twatch = false\n", "[rewind] WATCH=auto\n", "[rewind]\nwatch\n"} {
		h := newHouse(t)
		h.put(userSettings, text)
		if p, err := h.PlanWatch(); err != nil || len(p.Changes) != 0 {
			t.Errorf("%q: %v %v", text, p, err)
		}
	}
}
