package setup

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/trust"
)

func TestAReceiptOfSomebodyElseIsNotObeyed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give a directory to another user")
	}
	t.Setenv("SUDO_UID", "")
	const nobody = 65534
	for _, name := range []string{"state/rewind", "state/rewind/setup"} {
		h := newHouse(t)
		h.put(".bashrc", "as every user has it\n")
		planted, err := json.Marshal(receipt{Files: []entryOf{{Path: filepath.Join(h.home, ".bashrc"), Before: []byte("evil\n"), Sum: sum([]byte("as every user has it\n"))}}})
		if err != nil {
			t.Fatal(err)
		}
		h.put("state/rewind/setup/claude.json", string(planted))
		for _, given := range []string{name, "state/rewind/setup", "state/rewind/setup/claude.json"} {
			if err := os.Chown(filepath.Join(h.home, given), nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
		for _, find := range []func(string) (*Plan, error){h.PlanRemoval, h.Plan} {
			p, err := find("claude")
			if !errors.Is(err, trust.ErrForeign) {
				t.Errorf("%s: %+v, %v", name, p, err)
			}
			if err == nil {
				err = p.Apply()
			}
			if text := h.read(".bashrc"); text != "as every user has it\n" {
				t.Errorf("%s: the user's file has %q, %v", name, text, err)
			}
		}
	}
}

func TestWithoutAHomeNothingOfTheWorkingDirectoryIsObeyed(t *testing.T) {
	h := newHouse(t)
	h.put("repo/file", "mine\n")
	h.put("repo/.local/state/rewind/setup/claude.json", `{"files":[{"path":"file","before":"ZXZpbAo=","after":"`+sum([]byte("mine\n"))+`"}]}`)
	t.Chdir(filepath.Join(h.home, "repo"))
	h.Getenv = func(string) string { return "" }
	for _, find := range []func(string) (*Plan, error){h.PlanRemoval, h.Plan} {
		if p, err := find("claude"); err == nil {
			t.Errorf("%+v", p)
		}
	}
}
