// Package cquote reads text in the quotes of C, as git puts names into them.
package cquote

import "strings"

// Cut reads the quoted text at the head of a line, and returns what follows it. It is not
// ok where there is none, or one that is not well formed.
func Cut(line string) (text, rest string, ok bool) {
	if line == "" || line[0] != '"' {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(line); i++ {
		switch c := line[i]; c {
		case '"':
			return b.String(), line[i+1:], true
		case '\\':
			c, n := unescape(line[i+1:])
			if n == 0 {
				return "", "", false
			}
			b.WriteByte(c)
			i += n
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// unescape returns what an escape means (s follows its backslash) and its
// length, 0 if it is not one.
func unescape(s string) (byte, int) {
	if s == "" {
		return 0, 0
	}
	if i := strings.IndexByte(`abfnrtv\"`, s[0]); i >= 0 {
		return "\a\b\f\n\r\t\v\\\""[i], 1
	}
	if len(s) < 3 || s[0] > '3' {
		return 0, 0
	}
	var n byte
	for _, c := range []byte(s[:3]) {
		if c < '0' || '7' < c {
			return 0, 0
		}
		n = n<<3 | (c - '0')
	}
	return n, 3
}
