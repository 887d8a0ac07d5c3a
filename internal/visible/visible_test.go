package visible_test

import (
	"testing"

	"github.com/seed-82afce7a/rewind/internal/visible"
)

func TestALineHoldsNothingThatATerminalObeys(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                 "plain",
		"größe 世界":              "größe 世界",
		"a\x1b[31mred\x07":      `a\x1b[31mred\x07`,
		"one\ntwo\tthree\r":     `one\ntwo\tthree\r`,
		"turn\u202earound":      `turn\u202earound`,
		"join\u200ded":          `join\u200ded`,
		"\xff\xfe":              `\xff\xfe`,
		"\u009b31m":             `\u009b31m`,
		"tag \U000e0041 hidden": `tag \U000e0041 hidden`,
	} {
		if got := visible.Line(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestALaterLineIsIndented(t *testing.T) {
	if got, want := visible.Lines("one\nrewind: all is well\n"), "one\n  rewind: all is well"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
