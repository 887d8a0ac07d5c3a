package textmerge

import "bytes"

// write writes the merged text.
func (m *merging) write(list []region) []byte {
	var out bytes.Buffer
	at := 0 // a line of ours
	for _, r := range list {
		out.Write(bytes.Join(m.ours.lines[at:r.ours.from], nil))
		at = r.ours.to
		ours, theirs := m.ours.lines[r.ours.from:r.ours.to], m.theirs.lines[r.theirs.from:r.theirs.to]
		switch r.kind {
		case takeOurs:
			out.Write(bytes.Join(ours, nil))
		case takeTheirs:
			out.Write(bytes.Join(theirs, nil))
		case conflict:
			end := m.lineEnd(r)
			marker(&out, '<', m.labels.Ours, end)
			version(&out, ours, end)
			marker(&out, '=', "", end)
			version(&out, theirs, end)
			marker(&out, '>', m.labels.Theirs, end)
		}
	}
	out.Write(bytes.Join(m.ours.lines[at:], nil))
	return out.Bytes()
}

// markerLength is how often a marker repeats its character.
const markerLength = 7

func marker(out *bytes.Buffer, c byte, label, end string) {
	out.Write(bytes.Repeat([]byte{c}, markerLength))
	if label != "" {
		out.WriteString(" " + label)
	}
	out.WriteString(end)
}

// version writes one version of a conflict. What follows it begins a line.
func version(out *bytes.Buffer, lines [][]byte, end string) {
	out.Write(bytes.Join(lines, nil))
	if n := len(lines); n > 0 && !bytes.HasSuffix(lines[n-1], []byte("\n")) {
		out.WriteString(end)
	}
}

// lineEnd returns how the lines end that a conflict brings of its own: as those
// around it do in both texts, if the base's do so too.
func (m *merging) lineEnd(r region) string {
	style := m.ours.style(r.ours.from - 1)
	if style != lf {
		style = m.theirs.style(r.theirs.from - 1)
	}
	if style != lf {
		style = m.base.style(0)
	}
	if style == crlf {
		return "\r\n"
	}
	return "\n"
}

// How a line ends.
type style int

const (
	unknown style = iota
	lf
	crlf
)

// style returns how a line ends, the first one if there is none at that place. The
// last line of a text may have no end: then it is as the one before it.
func (t text) style(at int) style {
	at = max(at, 0)
	if at < len(t.lines) && !bytes.HasSuffix(t.lines[at], []byte("\n")) {
		at--
	}
	switch {
	case at < 0 || at >= len(t.lines):
		return unknown
	case bytes.HasSuffix(t.lines[at], []byte("\r\n")):
		return crlf
	}
	return lf
}
