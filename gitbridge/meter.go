package gitbridge

import (
	"bytes"
	"regexp"
	"strconv"
	"sync"
)

// A meter takes out of what the git program says how far it is, and tells that. The rest, which is what it complains of,
// is kept.
type meter struct {
	bounded
	told func(done, total int) // nil: nobody is told
	line []byte                // that has not ended
}

// lineMost bounds a line: the host has a say in it.
const lineMost = 4 << 10

// Write takes what git says next.
func (m *meter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			m.line = append(m.line, p...)
			p = nil
		} else {
			m.line = append(m.line, p[:end+1]...)
			p = p[end+1:]
		}
		if end >= 0 || len(m.line) > lineMost {
			m.takes(m.line)
			m.line = m.line[:0]
		}
	}
	return n, nil
}

// measures are the lines that say how far git is, and those of them that count what goes or comes; what a host counts
// for itself is none of these. Both are compiled when they are needed: a start has no time for it.
var measures = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:remote: )?(?:Enumerating objects|Counting objects|Compressing objects|Resolving deltas|Delta compression|Total \d|(?:Writing|Receiving|Unpacking) objects)`)
})

var counts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:Writing|Receiving|Unpacking) objects: +\d+% \((\d{1,9})/(\d{1,9})\)`)
})

func (m *meter) takes(line []byte) {
	if !measures().Match(line) {
		_, _ = m.bounded.Write(line)
		return
	}
	if at := counts().FindSubmatch(line); at != nil && m.told != nil {
		done, _ := strconv.Atoi(string(at[1]))
		total, _ := strconv.Atoi(string(at[2]))
		m.told(done, total)
	}
}

// rest is what was said beside that.
func (m *meter) rest() string {
	m.takes(m.line)
	m.line = nil
	return m.String()
}
