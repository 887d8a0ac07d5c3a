package when

import (
	"errors"
	"testing"
	"time"
)

func TestATimeIsWhatPeopleMean(t *testing.T) {
	zone := time.FixedZone("here", 3600)
	now := time.Date(2026, 11, 22, 13, 5, 30, 7, zone) // a Sunday
	const layout = "2006-01-02 15:04:05"
	for text, want := range map[string]string{
		"now":                  "2026-11-22 13:05:30",
		"10 minutes ago":       "2026-11-22 12:55:30",
		" 10   Minutes  AGO ":  "2026-11-22 12:55:30",
		"a minute ago":         "2026-11-22 13:04:30",
		"an hour ago":          "2026-11-22 12:05:30",
		"2h":                   "2026-11-22 11:05:30",
		"2 hours":              "2026-11-22 11:05:30",
		"90s ago":              "2026-11-22 13:04:00",
		"3 days ago":           "2026-11-19 13:05:30",
		"2 weeks ago":          "2026-11-08 13:05:30",
		"1 month ago":          "2026-10-22 13:05:30",
		"1 year ago":           "2025-11-22 13:05:30",
		"14:00":                "2026-11-22 14:00:00",
		"9:30pm":               "2026-11-22 21:30:00",
		"9 am":                 "2026-11-22 09:00:00",
		"yesterday 14:00":      "2026-11-21 14:00:00",
		"yesterday at 14:00":   "2026-11-21 14:00:00",
		"2026-11-21 14:00":     "2026-11-21 14:00:00",
		"2026-11-21 14:00:05":  "2026-11-21 14:00:05",
		"2026-11-21T14:00":     "2026-11-21 14:00:00",
		"2026-11-21T14:00:05Z": "2026-11-21 15:00:05",
		"2026-11-21 at 14:00":  "2026-11-21 14:00:00",
		"friday 8:15":          "2026-11-20 08:15:00",
		"yesterday":            "2026-11-21 00:00:00 to 2026-11-21 23:59:59",
		"today":                "2026-11-22 00:00:00 to 2026-11-22 23:59:59",
		"2026-11-21":           "2026-11-21 00:00:00 to 2026-11-21 23:59:59",
		"sun":                  "2026-11-22 00:00:00 to 2026-11-22 23:59:59",
		"monday":               "2026-11-16 00:00:00 to 2026-11-16 23:59:59",
	} {
		moment, err := Parse(text, now)
		got := moment.From.In(zone).Format(layout)
		if moment.From != moment.To {
			got += " to " + moment.To.In(zone).Format(layout)
		}
		if err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestWhatIsNoTimeIsNotGuessed(t *testing.T) {
	for _, text := range []string{"", " ", "3", "soon", "10 apples ago", "yesterday noonish", "2026-13-01", "2026-02-30", "25:00", "ago", "minutes ago", "-5 minutes ago", "99999999999999999999 days ago", "yesterday at", "2026-11-21 14", "at 5", "\x00"} {
		if moment, err := Parse(text, time.Now()); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v, %v", text, moment, err)
		}
	}
}
