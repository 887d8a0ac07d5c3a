// Package script reads the scenarios of a text file and walks through them. A scenario
// is a fact, and the steps that show it:
//
//	# Why anybody would doubt it.
//	= a touched file is converted anew
//	each ENDING "\n" "\r\n"
//	write f "a line{ENDING}"
//	for DIR d d/e {
//	  write {DIR}/f 1
//	}
//
// A step is a word and what it is about, with a space between any two; a text in quotes
// is one of Go. "{NAME}" stands for what NAME is, if it is anything. "each" makes a
// scenario of its own of every value; where several names with commas between them are
// given, so are the values. "needs" says without what there is no such scenario. "for" repeats the steps in its block, "repeat" so many times,
// "if" carries them out if its word is not empty, "set NAME STEP" keeps what a step gives,
// and "do" carries out the steps in a text, with ";" between any two. What any other step
// means is for the user of the package.
package script

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// A Fact is what scenarios show.
type Fact struct {
	Name      string
	Needs     []string // what must be there for it, of its "needs" lines
	Scenarios []*Scenario
}

// A Scenario is a fact with one value for each name of its "each" lines.
type Scenario struct {
	Name string // of the values

	file  string
	vars  map[string]string
	steps []step
	at    int // the line of the step under way
}

// A step is a line, and the lines in its block.
type step struct {
	at    int
	words []string
	block []step
}

// Read reads the facts of a file. Known are names that stand for something in all of
// them.
func Read(t testing.TB, file string, known map[string]string) []Fact {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := parse(file, string(text), known)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func parse(file, text string, known map[string]string) (all []Fact, err error) {
	p := parser{file: file, lines: strings.Split(text, "\n")}
	for p.next < len(p.lines) {
		name, begins := strings.CutPrefix(p.lines[p.next], "= ")
		if p.next++; !begins {
			continue
		}
		steps, err := p.steps(false)
		if err != nil {
			return nil, err
		}
		f := Fact{Name: name, Scenarios: []*Scenario{{file: file, vars: known}}}
		for ; len(steps) > 0; steps = steps[1:] {
			words := steps[0].words
			if words[0] == "each" {
				f.Scenarios = multiplied(f.Scenarios, words[1:])
			} else if words[0] == "needs" {
				f.Needs = append(f.Needs, words[1:]...)
			} else {
				break
			}
		}
		for _, s := range f.Scenarios {
			s.steps = steps
		}
		all = append(all, f)
	}
	return all, nil
}

// multiplied makes each scenario one for every value of a name.
func multiplied(all []*Scenario, words []string) (out []*Scenario) {
	for _, s := range all {
		for _, value := range words[1:] {
			name := strings.TrimSpace(s.Name + " " + strings.Trim(strconv.Quote(value), `"`))
			out = append(out, &Scenario{Name: name, file: s.file, vars: bound(s.vars, words[0], s.expanded(value))})
		}
	}
	return out
}

// bound returns names and one more, or several with commas between them.
func bound(vars map[string]string, name, value string) map[string]string {
	out := make(map[string]string, len(vars)+1)
	for n, v := range vars {
		out[n] = v
	}
	names := strings.Split(name, ",")
	values := strings.SplitN(value, ",", len(names))
	for i, n := range names {
		out[n] = ""
		if i < len(values) {
			out[n] = values[i]
		}
	}
	return out
}

type parser struct {
	file  string
	lines []string
	next  int
}

// steps reads up to the end of a block, or to the next scenario.
func (p *parser) steps(inBlock bool) (out []step, err error) {
	for ; p.next < len(p.lines); p.next++ {
		line := strings.TrimSpace(p.lines[p.next])
		switch {
		case line == "", line[0] == '#':
			continue
		case strings.HasPrefix(line, "= ") && !inBlock:
			return out, nil
		case line == "}" && inBlock:
			return out, nil
		}
		s := step{at: p.next + 1}
		line, opens := strings.CutSuffix(line, " {")
		if s.words, err = words(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", p.file, s.at, err)
		}
		if opens {
			p.next++
			if s.block, err = p.steps(true); err != nil {
				return nil, err
			}
		}
		out = append(out, s)
	}
	if inBlock {
		return nil, fmt.Errorf("%s: a block does not end", p.file)
	}
	return out, nil
}

// words cuts a line.
func words(line string) (out []string, err error) {
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		if line[0] != '"' {
			word, rest, _ := strings.Cut(line, " ")
			out, line = append(out, word), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		text, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		out, line = append(out, text), line[len(quoted):]
	}
	return out, nil
}

// At says which step is under way.
func (s *Scenario) At() string { return fmt.Sprintf("%s:%d", s.file, s.at) }

// Run calls do for each step, with its words, and with what carries out the steps in its
// block; the result is what "set" keeps.
func (s *Scenario) Run(do func(words []string, block func()) string) {
	s.vars = bound(s.vars, "", "")
	s.run(s.steps, do)
}

// do carries out the steps in a text; one that cannot be read is for the user to refuse.
func (s *Scenario) do(text string, do func([]string, func()) string) {
	p := parser{file: s.file, lines: strings.Split(text, ";")}
	steps, err := p.steps(false)
	if err != nil {
		do([]string{err.Error()}, nil)
	}
	for i := range steps {
		steps[i].at = s.at
	}
	s.run(steps, do)
}

func (s *Scenario) run(steps []step, do func([]string, func()) string) {
	for _, x := range steps {
		s.at = x.at
		var w []string
		for _, word := range x.words {
			w = append(w, s.expanded(word))
		}
		block := func() { s.run(x.block, do) }
		switch w[0] {
		case "for":
			for _, value := range w[2:] {
				s.vars = bound(s.vars, w[1], value)
				block()
			}
		case "repeat":
			n, _ := strconv.Atoi(w[1])
			for range n {
				block()
			}
		case "if":
			if w[1] != "" {
				block()
			}
		case "set":
			s.vars = bound(s.vars, w[1], do(w[2:], block))
		case "do":
			s.do(w[1], do)
		default:
			do(w, block)
		}
	}
}

// expanded puts what names stand for in their places.
func (s *Scenario) expanded(word string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(word, "{")
		name, after, ended := strings.Cut(rest, "}")
		value, known := s.vars[name]
		if !found || !ended {
			out.WriteString(word)
			return out.String()
		}
		if out.WriteString(before); known && name != "" {
			out.WriteString(value)
			word = after
			continue
		}
		out.WriteString("{")
		word = rest
	}
}
