package show

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

// PlainJSON writes as an escape what a terminal may obey: JSON itself asks for that
// below U+0020 only. The value is the same.
func PlainJSON(s string) string {
	end := len(strings.TrimSuffix(s, "\n"))
	if strings.IndexFunc(s[:end], visible.Hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s[:end] {
		switch high, low := utf16.EncodeRune(r); {
		case !visible.Hidden(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String() + s[end:]
}

// Quote shows a path on one line: as it is, or in double quotes with escapes
// where it holds anything that would not print.
func Quote(p engine.Path) string {
	s := string(p)
	q := strconv.Quote(s)
	if q == `"`+s+`"` && utf8.ValidString(s) {
		return s
	}
	return q
}

// Count puts a number before a noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Size shows bytes for a person.
func Size(n int64) string {
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

// Age says how long ago something was.
func Age(d time.Duration) string {
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

// Paths names paths in one line, the first few of many.
func Paths(list []engine.Path) string {
	var names []string
	for i, p := range list {
		if i == 5 {
			names = append(names, fmt.Sprintf("%d more", len(list)-i))
			break
		}
		names = append(names, Quote(p))
	}
	return strings.Join(names, ", ")
}
