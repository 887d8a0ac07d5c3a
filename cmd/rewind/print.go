package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// printJSON prints the one object of a --json command.
func (a *app) printJSON(v any) {
	a.told = true
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// A value of our own types always encodes; a closed pipe is the reader's choice.
	_ = enc.Encode(v)
	_, _ = io.WriteString(a.out, plainJSON(b.String()))
}

// plainJSON writes as an escape what a terminal may obey: JSON itself asks for that
// below U+0020 only. The value is the same.
func plainJSON(s string) string {
	end := len(strings.TrimSuffix(s, "\n"))
	if strings.IndexFunc(s[:end], hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s[:end] {
		switch high, low := utf16.EncodeRune(r); {
		case !hidden(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String() + s[end:]
}

// idText is empty for the zero id, so that the field is left out.
func idText(id oid.ID) string { return id.String() }

// short is the part of an id that a person reads and types.
func short(id oid.ID) string { return id.Short() }

// quote shows a path on one line: as it is, or in double quotes with escapes
// where it holds anything that would not print.
func quote(p engine.Path) string {
	s := string(p)
	q := strconv.Quote(s)
	if q == `"`+s+`"` && utf8.ValidString(s) {
		return s
	}
	return q
}

// count puts a number before a noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// size shows bytes for a person.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, prefixes := float64(n), "KMGTPE"
	i := -1
	for v >= unit && i < len(prefixes)-1 {
		v /= unit
		i++
	}
	return fmt.Sprintf("%.1f %ciB", v, prefixes[i])
}

// age says how long ago something was.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

// paths names paths in one line, the first few of many.
func paths(list []engine.Path) string {
	var names []string
	for i, p := range list {
		if i == 5 {
			names = append(names, fmt.Sprintf("%d more", len(list)-i))
			break
		}
		names = append(names, quote(p))
	}
	return strings.Join(names, ", ")
}
