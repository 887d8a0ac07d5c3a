package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
)

// A configuration is somebody else's text. It is changed by inserting and cutting
// text, so that everything else stays as it was, byte for byte; and only if it is
// JSON as the standard has it.

// A member is one entry of an object or an array: where its text lies.
type member struct {
	key        string // of an object
	start, end int    // with the key
	value      int    // where the value begins
}

var errShape = errors.New("its form is not the one that the agent documents")

// members lists the entries of the object or array that begins at an offset of a
// text, and where that ends.
func members(text []byte, at int) (list []member, object bool, end int, err error) {
	d := json.NewDecoder(bytes.NewReader(text[at:]))
	open, err := d.Token()
	if err != nil {
		return nil, false, 0, err
	}
	delim, ok := open.(json.Delim)
	if !ok {
		return nil, false, 0, errShape
	}
	object = delim == '{'
	for d.More() {
		m := member{start: -1}
		if object {
			before := at + int(d.InputOffset())
			key, err := d.Token()
			if err != nil {
				return nil, false, 0, err
			}
			m.key, m.start = key.(string), before+bytes.IndexByte(text[before:], '"')
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, false, 0, err
		}
		m.end = at + int(d.InputOffset())
		m.value = m.end - len(value)
		if m.start < 0 {
			m.start = m.value
		}
		list = append(list, m)
	}
	_, err = d.Token()
	return list, object, at + int(d.InputOffset()), err
}

// isJSON says why a text is not one JSON value and nothing else, nil if it is.
func isJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	var v json.RawMessage
	if err := d.Decode(&v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something stands behind its end")
	}
	return nil
}

// pattern compiles an expression when it is first needed: most commands set nothing up,
// and should not pay for it at their start.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

var indentation = pattern(`\n([ \t]+)"`)

// insert adds a value at the end of the array that a path of keys leads to. What is
// missing on the way is made.
func insert(text []byte, path []string, value any) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	unit := "  "
	if m := indentation().FindSubmatch(text); m != nil {
		unit = string(m[1])
	}
	at := len(text) - len(bytes.TrimLeft(text, " \t\r\n\ufeff"))
	for depth, key := range path {
		list, object, end, err := members(text, at)
		if err != nil || !object {
			return nil, errors.Join(errShape, err)
		}
		found := -1
		for i, m := range list {
			if m.key == key {
				if found >= 0 {
					return nil, fmt.Errorf("%q stands in it twice", key)
				}
				found = i
			}
		}
		if found >= 0 {
			at = list[found].value
			continue
		}
		var missing any = []any{value}
		for _, inner := range reversed(path[depth+1:]) {
			missing = map[string]any{inner: missing}
		}
		return spliced(text, list, end, entry{key, missing, unit, depth})
	}
	list, object, end, err := members(text, at)
	if err != nil || object {
		return nil, errors.Join(errShape, err)
	}
	return spliced(text, list, end, entry{"", value, unit, len(path)})
}

// An entry is what is put at the end of an object or array.
type entry struct {
	key   string
	value any
	unit  string // of indentation
	depth int    // of what it is put into
}

// spliced puts an entry behind the others of an object or array that ends at end.
func spliced(text []byte, list []member, end int, e entry) ([]byte, error) {
	outer := strings.Repeat(e.unit, e.depth)
	rendered, err := json.MarshalIndent(e.value, outer+e.unit, e.unit)
	if err != nil {
		return nil, err
	}
	added := "\n" + outer + e.unit
	if e.key != "" {
		key, _ := json.Marshal(e.key) // a string
		added += string(key) + ": "
	}
	added += string(rendered)
	var at int
	if len(list) > 0 {
		at = list[len(list)-1].end
		added = "," + added
	} else {
		added += "\n" + outer
		at = end - 1 - (len(text[:end-1]) - len(bytes.TrimRight(text[:end-1], " \t\r\n")))
	}
	tail := text[at:]
	if len(list) == 0 {
		tail = text[end-1:]
	} else if tail[0] == ']' || tail[0] == '}' { // all on one line
		added += "\n" + outer
	}
	return append(append(bytes.Clone(text[:at]), added...), tail...), nil
}

// without cuts every array element that holds our command out of the object at the
// key "hooks", and what is empty then.
func without(text []byte, ours func(element []byte) bool) ([]byte, error) {
	for {
		next, err := withoutOne(text, ours)
		if err != nil || next == nil {
			return text, err
		}
		text = next
	}
}

// withoutOne cuts the first element that is found, nil if there is none.
func withoutOne(text []byte, ours func([]byte) bool) ([]byte, error) {
	root := len(text) - len(bytes.TrimLeft(text, " \t\r\n\ufeff"))
	top, object, _, err := members(text, root)
	if err != nil || !object {
		return nil, errors.Join(errShape, err)
	}
	for i, hooks := range top {
		if hooks.key != "hooks" {
			continue
		}
		events, object, _, err := members(text, hooks.value)
		if err != nil || !object {
			return nil, errors.Join(errShape, err)
		}
		for j, event := range events {
			elements, object, _, err := members(text, event.value)
			if err != nil || object {
				continue
			}
			for k, e := range elements {
				if !ours(text[e.start:e.end]) {
					continue
				}
				switch {
				case len(elements) > 1:
					return cut(text, elements, k), nil
				case len(events) > 1:
					return cut(text, events, j), nil
				}
				return cut(text, top, i), nil
			}
		}
	}
	return nil, nil
}

// cut takes one entry out, with the comma that it needed.
func cut(text []byte, list []member, i int) []byte {
	from, to := list[i].start, list[i].end
	switch {
	case i > 0:
		from = list[i-1].end
	case len(list) > 1:
		to = list[1].start
	default:
		from -= len(text[:from]) - len(bytes.TrimRight(text[:from], " \t\r\n"))
		to += len(text[to:]) - len(bytes.TrimLeft(text[to:], " \t\r\n"))
	}
	return append(bytes.Clone(text[:from]), text[to:]...)
}

func reversed(list []string) []string {
	out := make([]string, 0, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		out = append(out, list[i])
	}
	return out
}
