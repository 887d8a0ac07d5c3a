package worktree

import (
	"testing"
	"time"
)

func TestWhatWasTouchedShortlyBeforeTheSystemStoppedIsReadAgain(t *testing.T) {
	if boot() == "" {
		t.Skip("SKIPPED: this system does not tell when it was started")
	}
	p := newPlace(t)
	p.Write("old", "o")
	p.Write("new", "n")
	hour := func(c *Config) { c.Now = func() int64 { return time.Now().Add(time.Hour).UnixNano() } } // nothing is fresh then
	p.scan(hour)
	if n := p.scan(hour).Counters.Opened; n != 0 {
		t.Fatalf("%d files are opened while the system runs", n)
	}
	was := boot
	defer func() { boot = was }()
	boot = func() string { return "another one" }
	if n := p.scan(hour).Counters.Opened; n != 2 {
		t.Errorf("%d files are opened after it was started anew, want both", n)
	}
	if n := p.scan(hour).Counters.Opened; n != 0 {
		t.Errorf("%d files are opened once more", n)
	}
}
