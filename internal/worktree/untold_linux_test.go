package worktree

import (
	"os"
	"testing"
)

// The kernel's own files say that they have no bytes, whatever they have. Nothing is
// recorded that is not theirs, and each scan names them.
func TestAFileThatHidesItsLengthIsNotRecordedAsEmpty(t *testing.T) {
	const limits = "/proc/sys/kernel/pty"
	if b, err := os.ReadFile(limits + "/max"); err != nil || len(b) == 0 {
		t.Skip("SKIPPED: the kernel's files cannot be read here")
	}
	p := newPlace(t)
	p.Write("empty", "")
	if r := p.scan(); len(r.Skipped) > 0 || p.recorded(r)["empty"] == "" {
		t.Fatalf("an empty file is left out: %v", r.Skipped)
	}
	p.Dir = limits
	for range 2 {
		r := p.scan()
		if got := p.recorded(r)["max"]; got != "" {
			t.Errorf("it is recorded as %s", got)
		}
		named := false
		for _, s := range r.Skipped {
			named = named || s.Path == "max" && s.Reason == untold
		}
		if !named {
			t.Errorf("it is not named: %v", r.Skipped)
		}
	}
}
