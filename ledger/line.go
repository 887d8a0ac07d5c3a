package ledger

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	nameBytesMax = 64 // names of members, types, roles, tools
	idBytesMax   = 256
	pathBytesMax = 64 << 10
	textBytesMax = 200
	toolsMax     = 16
)

// A line is what the ledger takes from one line of a session file.
type line struct {
	start, end int64 // offsets in the file, the newline included
	whole      bool  // a newline ended it
	blank      bool
	bad        string // why it is no JSON object, "" if it is one

	entry         Entry
	version       float64 // of a header
	cwd           string
	parentSession string
	target, label string // of a label entry
	data          [2]int64
}

// A parser reads the lines of a session file in order.
type parser struct {
	*scanner
	words map[string]string // one copy of every type, role and tool name
	line  line
	text  []byte // the preview found so far
	tool  []byte // scratch: the name in a content part
	last  string // id of the previous entry, usually the next one's parent
}

const wordsMax = 1 << 12

func newParser(src io.Reader, offset int64, bufferBytes int) *parser {
	return &parser{scanner: newScanner(src, offset, bufferBytes), words: make(map[string]string)}
}

// next reads one line into p.line and reports false behind the last. An error
// of the source also ends the lines: see failed.
func (p *parser) next() bool {
	p.line = line{start: p.offset()}
	p.bad, p.text = "", p.text[:0]
	if p.line.start == 0 {
		p.byteOrderMark() // trimmed by Pi's older readers
	}
	switch p.peek() {
	case '{':
		if p.object(p.member) && p.peek() != '\n' && !p.spent() {
			p.fail("text behind the object")
		}
		p.preview()
	case '\n':
		p.line.blank = true
	default:
		p.line.blank = p.spent()
		p.fail("not a JSON object")
	}
	p.line.whole = p.finish()
	p.line.bad, p.line.end = p.bad, p.offset()
	return p.failed() == nil && p.line.end > p.line.start
}

// spent reports whether every byte of the source is consumed.
func (p *parser) spent() bool { return p.pos == p.end && !p.fill() }

// failed returns the error that stopped the source, nil at its regular end.
func (p *parser) failed() error {
	if p.err == io.EOF {
		return nil
	}
	return p.err
}

// byteOrderMark skips the mark that some editors put before the first line.
func (p *parser) byteOrderMark() {
	if p.at() == 0xEF && bytes.HasPrefix(p.buf[p.pos:p.end], []byte("\xEF\xBB\xBF")) {
		p.pos += 3
	}
}

// member takes one member of the line's object. The same name again replaces
// what came before, as in JavaScript.
func (p *parser) member(name []byte) bool {
	l := &p.line
	switch string(name) {
	case "type":
		return p.word(&l.entry.Type)
	case "customType":
		return p.word(&l.entry.CustomType)
	case "id":
		return p.value(&l.entry.ID, idBytesMax)
	case "parentId":
		return p.value(&l.entry.ParentID, idBytesMax)
	case "timestamp":
		return p.stamp(&l.entry.Time)
	case "version":
		return p.versionNumber()
	case "cwd":
		return p.value(&l.cwd, pathBytesMax)
	case "parentSession":
		return p.value(&l.parentSession, pathBytesMax)
	case "targetId":
		return p.value(&l.target, idBytesMax)
	case "label":
		return p.value(&l.label, textBytesMax)
	case "summary", "content", "name":
		return p.content()
	case "message":
		l.entry.Role, l.entry.Tools, p.text = "", nil, p.text[:0]
		if p.peek() != '{' {
			return p.skip()
		}
		return p.object(p.messageMember)
	case "data":
		p.peek()
		l.data[0] = p.offset()
		ok := p.skip()
		l.data[1] = p.offset()
		return ok
	}
	return p.skip()
}

func (p *parser) messageMember(name []byte) bool {
	switch string(name) {
	case "role":
		return p.word(&p.line.entry.Role)
	case "toolName":
		if p.peek() != '"' {
			return p.skip()
		}
		ok := p.str(nameBytesMax)
		p.useTool(p.raw)
		return ok
	case "content", "command":
		return p.content()
	}
	return p.skip()
}

// content takes the preview from a text, or from the parts of a message.
func (p *parser) content() bool {
	switch p.peek() {
	case '"':
		ok := p.str(textBytesMax)
		p.text = append(p.text[:0], p.raw...)
		return ok
	case '[':
		p.text = p.text[:0]
		return p.array(p.part)
	}
	return p.skip()
}

// part takes the first text and the names of called tools from one part.
func (p *parser) part() bool {
	if p.peek() != '{' {
		return p.skip()
	}
	call := false
	p.tool = p.tool[:0]
	ok := p.object(func(name []byte) bool {
		switch string(name) {
		case "type":
			ok := p.scalarOrSkip(nameBytesMax)
			call = string(p.raw) == "toolCall"
			return ok
		case "name":
			ok := p.scalarOrSkip(nameBytesMax)
			p.tool = append(p.tool[:0], p.raw...)
			return ok
		case "text":
			if len(p.text) == 0 {
				return p.content()
			}
		}
		return p.skip()
	})
	if call {
		p.useTool(p.tool)
	}
	return ok
}

// scalarOrSkip leaves the beginning of a scalar in raw, nothing of the rest.
func (p *parser) scalarOrSkip(keep int) bool {
	if c := p.peek(); c == '{' || c == '[' {
		ok := p.skip()
		p.raw = p.raw[:0]
		return ok
	}
	p.raw = p.raw[:0]
	return p.scalar(keep)
}

func (p *parser) useTool(name []byte) {
	tools := p.line.entry.Tools
	for _, t := range tools {
		if t == string(name) {
			return
		}
	}
	if len(name) > 0 && len(tools) < toolsMax {
		p.line.entry.Tools = append(tools, p.intern(name))
	}
}

// preview ends the text at its first line that is not blank. Only what a
// person chooses a point by is kept, so that a large session stays small.
func (p *parser) preview() {
	e := &p.line.entry
	switch {
	case e.Type == "message" && e.Role != "user" && e.Role != "bashExecution":
		return
	case e.Type == "custom":
		return
	}
	e.Text = firstLine(p.text)
}

func firstLine(text []byte) string {
	text = bytes.TrimSpace(text)
	if i := bytes.IndexAny(text, "\r\n"); i >= 0 {
		text = text[:i]
	}
	for n := 0; n < utf8.UTFMax && len(text) > 0; n++ { // a character cut by textBytesMax
		if r, size := utf8.DecodeLastRune(text); r != utf8.RuneError || size > 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// value takes a string; of a value of another type it takes "".
func (p *parser) value(to *string, max int) bool {
	*to = ""
	if p.peek() != '"' {
		return p.skip()
	}
	if !p.str(max) {
		return false
	}
	if p.long && to != &p.line.label {
		return p.fail("id or path too long")
	}
	if string(p.raw) == p.last {
		*to = p.last
		return true
	}
	*to = string(p.raw)
	return true
}

// word is value for words that occur again and again.
func (p *parser) word(to *string) bool {
	*to = ""
	if p.peek() != '"' {
		return p.skip()
	}
	ok := p.str(nameBytesMax)
	*to = p.intern(p.raw)
	return ok
}

func (p *parser) intern(word []byte) string {
	if known, ok := p.words[string(word)]; ok {
		return known
	}
	w := string(word)
	if len(p.words) < wordsMax {
		p.words[w] = w
	}
	return w
}

func (p *parser) stamp(to *time.Time) bool {
	*to = time.Time{}
	if p.peek() != '"' {
		return p.skip()
	}
	ok := p.str(nameBytesMax)
	if t, err := time.Parse(time.RFC3339, string(p.raw)); err == nil {
		*to = t.UTC()
	}
	return ok
}

func (p *parser) versionNumber() bool {
	p.line.version = 0
	ok := p.scalarOrSkip(nameBytesMax)
	if v, err := strconv.ParseFloat(string(p.raw), 64); err == nil {
		p.line.version = v
	}
	return ok
}
