package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// lineBytesMax bounds what is in memory of a line. One that is longer says nothing;
	// the ids that stand in it are still mentioned.
	lineBytesMax = 32 << 20
	nameBytesMax = 64 << 10 // of an id or a path
	textBytesMax = 200
)

// A lineReader reads a file line by line.
type lineReader struct {
	in         *bufio.Reader
	start, end int64  // where the line lies in the file, its newline included
	text       []byte // until the next line is read; more than lineBytesMax: not all of it
	long       []byte // room for a line that is longer than the buffer of in
	err        error  // what stopped the source, nil at its regular end
}

func newLineReader(src io.Reader) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(src, 64<<10)}
}

// next reads a line, and reports false behind the last one or after an error.
func (r *lineReader) next() bool {
	r.start, r.long = r.end, r.long[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		r.end += int64(len(part))
		if err == nil && len(r.long) == 0 {
			r.text = part
			return true
		}
		r.long = append(r.long, part[:min(len(part), lineBytesMax+1-len(r.long))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if r.text = r.long; err != nil && err != io.EOF {
			r.err = err
			return false
		}
		return r.end > r.start
	}
}

// A line is what the ledger takes from one line of a session file.
type line struct {
	entry         Entry
	version       float64 // of a header
	cwd           string
	parentSession string
	target, label string // of a label entry
	data          []byte // of a custom entry; a part of the line
}

// A parser reads lines as JSON.parse does, because an entry that Pi cannot read must not
// count here either. What is not asked for is checked and passed over.
type parser struct {
	dec   *jsontext.Decoder
	words map[string]string // one copy of every type, kind and role
	line  line
	text  string // the preview found so far
	raw   []byte // room for a string
}

func newParser() *parser {
	return &parser{dec: new(jsontext.Decoder), words: map[string]string{}}
}

var (
	grammar   = jsontext.AllowDuplicateNames(true)
	allBytes  = jsontext.AllowInvalidUTF8(true)
	errLine   = errors.New("not one JSON object")
	errLength = errors.New("a line, id or path is too long")
)

// parse reads one line into p.line. With an error the line says nothing.
func (p *parser) parse(text []byte) error {
	p.line, p.text = line{}, ""
	if len(text) > lineBytesMax {
		return errLength
	}
	src := bytes.NewBuffer(text)
	p.dec.Reset(src, grammar, allBytes)
	if p.dec.PeekKind() != '{' {
		return errLine
	}
	if err := p.object(p.member); err != nil {
		return err
	}
	if _, err := p.dec.ReadToken(); err != io.EOF {
		return errLine
	}
	if e := &p.line.entry; e.Type != "message" && e.Type != "custom" || e.Role == "user" || e.Role == "bashExecution" {
		e.Text = p.text // of other messages nobody chooses a point by
	}
	return nil
}

// object reads an object. Member has to read the value.
func (p *parser) object(member func(name string) error) error {
	if p.dec.PeekKind() != '{' {
		return p.dec.SkipValue()
	}
	_, err := p.dec.ReadToken()
	for err == nil && p.dec.PeekKind() != '}' {
		var name jsontext.Value
		if name, err = p.dec.ReadValue(); err == nil {
			err = member(p.word(name))
		}
	}
	if err == nil {
		_, err = p.dec.ReadToken()
	}
	return err
}

// member takes one member of the line's object. The same name again replaces
// what came before, as in JavaScript.
func (p *parser) member(name string) error {
	l := &p.line
	switch name {
	case "type":
		return p.name(&l.entry.Type)
	case "customType":
		return p.name(&l.entry.CustomType)
	case "id":
		return p.value(&l.entry.ID)
	case "parentId":
		return p.value(&l.entry.ParentID)
	case "timestamp":
		text, err := p.str()
		at, _ := time.Parse(time.RFC3339, string(text))
		l.entry.Time = at.UTC()
		return err
	case "version":
		v, err := p.dec.ReadValue()
		l.version, _ = strconv.ParseFloat(strings.Trim(string(v), `"`), 64)
		return err
	case "cwd":
		return p.value(&l.cwd)
	case "parentSession":
		return p.value(&l.parentSession)
	case "targetId":
		return p.value(&l.target)
	case "label":
		text, err := p.str()
		l.label = firstLine(text)
		return err
	case "summary", "content", "name":
		return p.content()
	case "message":
		l.entry.Role, p.text = "", ""
		return p.object(p.messageMember)
	case "data":
		v, err := p.dec.ReadValue()
		l.data = v
		return err
	}
	return p.dec.SkipValue()
}

func (p *parser) messageMember(name string) error {
	switch name {
	case "role":
		return p.name(&p.line.entry.Role)
	case "content", "command":
		return p.content()
	}
	return p.dec.SkipValue()
}

// content takes the preview from a text, or from the first part of a message that has
// one.
func (p *parser) content() error {
	p.text = ""
	if p.dec.PeekKind() != '[' {
		text, err := p.str()
		p.text = firstLine(text)
		return err
	}
	_, err := p.dec.ReadToken()
	for err == nil && p.dec.PeekKind() != ']' {
		err = p.object(func(name string) error {
			if name != "text" || p.text != "" {
				return p.dec.SkipValue()
			}
			text, err := p.str()
			p.text = firstLine(text)
			return err
		})
	}
	if err == nil {
		_, err = p.dec.ReadToken()
	}
	return err
}

// str reads a string, which stays until the next one; of a value of another type it is
// nil.
func (p *parser) str() ([]byte, error) {
	if p.dec.PeekKind() != '"' {
		return nil, p.dec.SkipValue()
	}
	v, err := p.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	return p.unquote(v), nil
}

func (p *parser) unquote(v jsontext.Value) []byte {
	p.raw, _ = jsontext.AppendUnquote(p.raw[:0], v) // checked already; what is no text becomes U+FFFD
	return p.raw
}

// value takes a string; of a value of another type it takes "".
func (p *parser) value(to *string) error {
	text, err := p.str()
	if *to = string(text); len(text) > nameBytesMax {
		return errLength
	}
	return err
}

// name is value for words that occur again and again.
func (p *parser) name(to *string) error {
	*to = ""
	if p.dec.PeekKind() != '"' {
		return p.dec.SkipValue()
	}
	v, err := p.dec.ReadValue()
	if err == nil {
		*to = p.word(v)
	}
	return err
}

// wordsMax and wordBytesMax bound what is remembered of words.
const (
	wordsMax     = 1 << 12
	wordBytesMax = 64
)

func (p *parser) word(v jsontext.Value) string {
	text := p.unquote(v)
	if known, ok := p.words[string(text)]; ok {
		return known
	}
	w := string(text)
	if len(p.words) < wordsMax && len(w) <= wordBytesMax {
		p.words[w] = w
	}
	return w
}

// firstLine returns the first line of a text that is not blank, or its beginning. Only
// what a person chooses a point by is kept, so that a large session stays small.
func firstLine(text []byte) string {
	text, _, _ = bytes.Cut(bytes.TrimSpace(text), []byte{'\n'})
	text = bytes.TrimRight(text, "\r")
	if len(text) > textBytesMax {
		text = text[:textBytesMax]
		for len(text) > 0 && !utf8.Valid(text[max(0, len(text)-utf8.UTFMax):]) { // a character was cut
			text = text[:len(text)-1]
		}
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}
