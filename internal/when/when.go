// Package when reads times as people type them: "10 minutes ago", "yesterday",
// "2026-11-21 14:00". It guesses nothing: what it does not know is an error that
// says what it knows.
package when

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrUnknown is a text that is no time.
var ErrUnknown = errors.New("is no time")

// A Range is what a text speaks of: a moment, or a day.
type Range struct {
	From, To time.Time // of a moment both are the same; of a day its first moment, and its last
}

// Parse reads a text. Where it names no zone it is in that of now.
func Parse(text string, now time.Time) (Range, error) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 0 {
		return Range{}, fmt.Errorf("an empty text %w", ErrUnknown)
	}
	if at, ok := absolute(strings.TrimSpace(text), now.Location()); ok {
		return moment(at), nil
	}
	if then, ok := ago(words, now); ok {
		return then, nil
	}
	day, rest, ok := dayOf(words, now)
	if ok && len(rest) == 0 {
		return Range{day, day.AddDate(0, 0, 1).Add(-time.Nanosecond)}, nil
	}
	if !ok {
		day, rest = midnight(now), words
	}
	if clock, ok := clockOf(rest); ok {
		return moment(at(day, clock)), nil
	}
	return Range{}, fmt.Errorf("%q %w; write such as \"10 minutes ago\", \"2h\", \"yesterday\", \"14:00\", \"2026-11-21\" or \"2026-11-21 14:00\"", text, ErrUnknown)
}

func moment(at time.Time) Range { return Range{at, at} }

// absolute reads a whole date with a time of day.
func absolute(text string, zone *time.Location) (time.Time, bool) {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02T15:04Z07:00",
		"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04",
	} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// ago reads how long ago something was: "2 hours ago", "2h", "now".
func ago(words []string, now time.Time) (Range, bool) {
	if len(words) == 1 && words[0] == "now" {
		return moment(now), true
	}
	if words[len(words)-1] == "ago" {
		words = words[:len(words)-1]
	}
	text := strings.Join(words, "")
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	number, unit := text[:digits], text[digits:]
	for prefix, one := range map[string]string{"a": "1", "an": "1", "one": "1"} {
		if len(words) == 2 && words[0] == prefix {
			number, unit = one, words[1]
		}
	}
	n, err := strconv.Atoi(number)
	if err != nil || n > 100_000 {
		return Range{}, false
	}
	if unit != "s" && len(unit) > 1 {
		unit = strings.TrimSuffix(unit, "s")
	}
	switch unit {
	case "s", "sec", "second":
		return moment(now.Add(-time.Duration(n) * time.Second)), true
	case "m", "min", "minute":
		return moment(now.Add(-time.Duration(n) * time.Minute)), true
	case "h", "hr", "hour":
		return moment(now.Add(-time.Duration(n) * time.Hour)), true
	case "d", "day":
		return moment(now.AddDate(0, 0, -n)), true
	case "w", "week":
		return moment(now.AddDate(0, 0, -7*n)), true
	case "mo", "month":
		return moment(now.AddDate(0, -n, 0)), true
	case "y", "year":
		return moment(now.AddDate(-n, 0, 0)), true
	}
	return Range{}, false
}

// dayOf reads the day that a text begins with.
func dayOf(words []string, now time.Time) (day time.Time, rest []string, ok bool) {
	first, rest := words[0], words[1:]
	if len(rest) > 0 && rest[0] == "at" {
		rest = rest[1:]
		if len(rest) == 0 {
			return day, nil, false
		}
	}
	switch first {
	case "today":
		return midnight(now), rest, true
	case "yesterday":
		return midnight(now).AddDate(0, 0, -1), rest, true
	}
	if day, err := time.ParseInLocation(time.DateOnly, first, now.Location()); err == nil {
		return day, rest, true
	}
	for back := range 7 {
		day := midnight(now).AddDate(0, 0, -back)
		if name := strings.ToLower(day.Weekday().String()); first == name || first == name[:3] {
			return day, rest, true
		}
	}
	return day, nil, false
}

// clockOf reads a time of day.
func clockOf(words []string) (clock time.Time, ok bool) {
	text := strings.ToUpper(strings.Join(words, ""))
	for _, layout := range []string{"15:04", "15:04:05", "3:04PM", "3PM"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return clock, false
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// at is a time of day on a day, as clocks show it there.
func at(day, clock time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day(), clock.Hour(), clock.Minute(), clock.Second(), 0, day.Location())
}
