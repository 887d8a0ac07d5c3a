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
	p.opens(0, "the system runs", hour)
	was := boot
	defer func() { boot = was }()
	boot = func() string { return "another one" }
	p.opens(2, "it was started anew", hour)
	p.opens(0, "they were read since", hour)
}
