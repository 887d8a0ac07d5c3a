package gitconf

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// ErrSyntax is reported for a file that git would refuse as a configuration
// file; the error's text names the file and the line.
var ErrSyntax = errors.New("malformed configuration")

// A Scope says how far a setting reaches. Later scopes win.
type Scope uint8

// The scopes, in the order in which they are read.
const (
	System   Scope = iota + 1 // the machine
	Global                    // the user
	Local                     // the repository
	Worktree                  // one worktree (extensions.worktreeConfig)
	Command                   // the environment (GIT_CONFIG_COUNT)
)

// A Setting is one line of a configuration file.
type Setting struct {
	// Name is section.key or section.subsection.key; section and key are in
	// lower case, the subsection is as written and may contain dots.
	Name  string
	Value string
	Bare  bool // only the name was written, without "=": true as a boolean
	Scope Scope
	File  string // "" for the environment
	Line  int    // where the setting ends, from 1
}

// A parser reads one file. The syntax is that of git-config(1); where that page
// is silent git decides (the tests ask it).
type parser struct {
	data     []byte
	at       int
	line     int
	eof      bool
	file     string
	scope    Scope
	settings []Setting
	buf      []byte // of a name or a value
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// parse reads a whole file.
func parse(data []byte, file string, scope Scope) ([]Setting, error) {
	p := parser{data: bytes.TrimPrefix(data, byteOrderMark), line: 1, file: file, scope: scope}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		p.line += bytes.Count(data[:i], []byte{'\n'})
		return nil, p.fault()
	}
	if err := p.lines(); err != nil {
		return nil, err
	}
	return p.settings, nil
}

func (p *parser) fault() error { return fmt.Errorf("%s:%d: %w", p.file, p.line, ErrSyntax) }

// next returns the next byte; CRLF is one newline, and so is the end.
func (p *parser) next() byte {
	if p.at == len(p.data) {
		p.eof = true
		p.line++
		return '\n'
	}
	c := p.data[p.at]
	p.at++
	if c == '\r' && p.at < len(p.data) && p.data[p.at] == '\n' {
		p.at++
		c = '\n'
	}
	if c == '\n' {
		p.line++
	}
	return c
}

func (p *parser) lines() error {
	section := ""
	comment := false
	for {
		c := p.next()
		switch {
		case c == '\n':
			if p.eof {
				return nil
			}
			comment = false
		case comment || isSpace(c):
		case c == '#' || c == ';':
			comment = true
		case c == '[':
			name, ok := p.section()
			if !ok {
				return p.fault()
			}
			section = name + "."
		case isLetter(c):
			if err := p.setting(section, c); err != nil {
				return err
			}
		default:
			return p.fault()
		}
	}
}

// section reads what follows "[" up to "]".
func (p *parser) section() (string, bool) {
	var name []byte
	for {
		switch c := p.next(); {
		case p.eof:
			return "", false
		case c == ']':
			return string(name), len(name) > 0
		case isSpace(c):
			return p.subsection(name, c)
		case isKey(c) || c == '.':
			name = append(name, lower(c))
		default:
			return "", p.backOver(c)
		}
	}
}

// subsection reads blanks, a quoted name and "]"; c is the first blank.
func (p *parser) subsection(name []byte, c byte) (string, bool) {
	for ; isSpace(c); c = p.next() {
		if c == '\n' {
			return "", p.backOver(c)
		}
	}
	if c != '"' {
		return "", false
	}
	name = append(name, '.')
	for c = p.next(); c != '"'; c = p.next() {
		if c == '\\' {
			c = p.next()
		}
		if c == '\n' {
			return "", p.backOver(c)
		}
		name = append(name, c)
	}
	return string(name), p.next() == ']'
}

// backOver makes an error at the end of a line name that line. It returns
// false.
func (p *parser) backOver(c byte) bool {
	if c == '\n' {
		p.line--
	}
	return false
}

// setting reads a name whose first letter is c, and its value.
func (p *parser) setting(section string, c byte) error {
	name := append(append(p.buf[:0], section...), lower(c))
	for c = p.next(); !p.eof && isKey(c); c = p.next() {
		name = append(name, lower(c))
	}
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	p.buf = name
	s := Setting{Name: string(name), Bare: true, Scope: p.scope, File: p.file}
	if c != '\n' {
		if c != '=' {
			return p.fault()
		}
		value, ok := p.value()
		if !ok {
			return p.fault()
		}
		s.Bare, s.Value = false, value
	}
	s.Line = p.line - 1 // a newline was read
	if len(p.settings) == settingsMax {
		return fmt.Errorf("%w: more than %d settings", p.fault(), settingsMax)
	}
	p.settings = append(p.settings, s)
	return nil
}

var escapes = map[byte]byte{'t': '\t', 'b': '\b', 'n': '\n', '\\': '\\', '"': '"'}

// value reads what follows "=" up to the end of the line. Blanks at both ends
// are dropped unless quoted; a backslash at the end continues the line.
func (p *parser) value() (string, bool) {
	v := p.buf[:0]
	defer func() { p.buf = v }()
	end := 0 // of v without the blanks at its end
	quoted, comment := false, false
	for {
		c := p.next()
		switch {
		case c == '\n':
			return string(v[:end]), !quoted || p.backOver(c)
		case comment:
			continue
		case !quoted && isSpace(c):
			if len(v) > 0 {
				v = append(v, c)
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			comment = true
			continue
		case c == '"':
			quoted = !quoted
		case c == '\\':
			c = p.next()
			if c == '\n' {
				break
			}
			e, ok := escapes[c]
			if !ok {
				return "", false
			}
			v = append(v, e)
		default:
			v = append(v, c)
		}
		end = len(v)
	}
}

func isSpace(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isLetter(c byte) bool { return lower(c) >= 'a' && lower(c) <= 'z' }
func isKey(c byte) bool    { return isLetter(c) || c >= '0' && c <= '9' || c == '-' }

// lower folds ASCII letters only, as git does whatever the locale.
func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// canonical brings a setting's name into the form of [Setting.Name]; ok is
// false if no file could contain it.
func canonical(name string) (s string, ok bool) {
	first, last := strings.IndexByte(name, '.'), strings.LastIndexByte(name, '.')
	if first < 1 || last == len(name)-1 || !isLetter(name[last+1]) {
		return "", false
	}
	b := []byte(name)
	for i, c := range b {
		switch {
		case i >= first && i <= last:
			if c == '\n' || c == 0 {
				return "", false
			}
		case !isKey(c):
			return "", false
		default:
			b[i] = lower(c)
		}
	}
	return string(b), true
}
