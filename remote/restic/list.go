package restic

import (
	"encoding/hex"
	"encoding/json"
	"errors"
)

// Lists in the JSON of somebody else. What a list takes in memory is bounded by its bytes only where each element has to
// have some: of "{}" and "null" the package encoding/json makes values of any size, and looks at none before it has all.

var errList = errors.New("a list of something else")

// eachElement calls f with the elements of a list, whose text is valid JSON; null is an empty one.
func eachElement(text []byte, f func(one []byte) error) error {
	if string(text) == "null" {
		return nil
	}
	if text[0] != '[' {
		return errList
	}
	depth, from, quoted := 0, 1, false
	for i := 1; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[', c == '{':
			depth++
		case depth == 0 && (c == ',' || c == ']'):
			if c == ']' && isSpace(text[from:i]) {
				return nil // it has none
			}
			if err := f(text[from:i]); err != nil {
				return err
			}
			from = i + 1
		case c == ']', c == '}':
			depth--
		}
	}
	return nil
}

// isSpace reports whether JSON has nothing but space.
func isSpace(text []byte) bool {
	for _, c := range text {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

// An idList is a list of ids.
type idList []ID

// UnmarshalJSON implements [json.Unmarshaler].
func (l *idList) UnmarshalJSON(text []byte) error {
	*l = nil
	return eachElement(text, func(one []byte) error {
		for len(one) > 0 && isSpace(one[:1]) {
			one = one[1:]
		}
		for len(one) > 0 && isSpace(one[len(one)-1:]) {
			one = one[:len(one)-1]
		}
		var id ID
		if len(one) != 2*len(id)+2 || one[0] != '"' {
			return errList
		}
		if _, err := hex.Decode(id[:], one[1:len(one)-1]); err != nil {
			return err
		}
		*l = append(*l, id)
		return nil
	})
}

// A list has elements that have an id each.
type list[T interface{ name() ID }] []T

// UnmarshalJSON implements [json.Unmarshaler].
func (l *list[T]) UnmarshalJSON(text []byte) error {
	*l = nil
	return eachElement(text, func(one []byte) error {
		var v T
		err := json.Unmarshal(one, &v)
		if err == nil && v.name().IsZero() {
			err = errList
		}
		*l = append(*l, v)
		return err
	})
}

// textsMost is how many texts of a list are kept: millions fit into a file, which restic's --files-from may make too. No
// program of ours writes as many.
const textsMost = 10_000

// A texts is the beginning of a list of texts.
type texts []string

// UnmarshalJSON implements [json.Unmarshaler].
func (l *texts) UnmarshalJSON(text []byte) error {
	*l = nil
	return eachElement(text, func(one []byte) error {
		if len(*l) == textsMost {
			return nil
		}
		var v string
		err := json.Unmarshal(one, &v)
		*l = append(*l, v)
		return err
	})
}
