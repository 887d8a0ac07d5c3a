package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tailscale/hujson"
)

// A configuration is somebody else's text. It is read as a tree that keeps every blank, so
// that what is not ours stays as it was, byte for byte; and only if it is JSON as the
// standard has it.

var errShape = errors.New("its form is not the one that the agent documents")

// parse reads a configuration; an empty one is an empty object.
func parse(text []byte) (hujson.Value, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	v, err := hujson.Parse(text)
	if err == nil && !v.IsStandard() {
		err = errors.New("it has comments, or a comma too many")
	}
	return v, err
}

// pattern compiles an expression when it is first needed: most commands set nothing up,
// and should not pay for it at their start.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

var indentation = pattern(`\n([ \t]+)"`)

// find returns the object that a value is, and the place of a key in it, -1 if it is not there.
func find(v *hujson.Value, key string) (*hujson.Object, int, error) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, 0, errShape
	}
	has := func(m hujson.ObjectMember) bool { return m.Name.Value.(hujson.Literal).String() == key }
	at := slices.IndexFunc(o.Members, has)
	if at >= 0 && slices.ContainsFunc(o.Members[at+1:], has) {
		return nil, 0, fmt.Errorf("%q stands in it twice", key)
	}
	return o, at, nil
}

// insert adds a value at the end of the array that a path of keys leads to. What is
// missing on the way is made.
func insert(text []byte, path []string, value any) ([]byte, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	unit := "  "
	if m := indentation().FindSubmatch(text); m != nil {
		unit = string(m[1])
	}
	line := func(depth int) hujson.Extra { return hujson.Extra("\n" + strings.Repeat(unit, depth)) }
	at := &root
	for depth, key := range path {
		o, i, err := find(at, key)
		if err != nil {
			return nil, err
		}
		if i < 0 {
			var inner hujson.ValueTrimmed = &hujson.Object{}
			if depth == len(path)-1 {
				inner = &hujson.Array{}
			}
			i = len(o.Members)
			o.Members = append(o.Members, hujson.ObjectMember{
				Name:  hujson.Value{BeforeExtra: line(depth + 1), Value: hujson.String(key)},
				Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: inner},
			})
			o.AfterExtra = line(depth)
		}
		at = &o.Members[i].Value
	}
	list, ok := at.Value.(*hujson.Array)
	if !ok {
		return nil, errShape
	}
	made, err := json.MarshalIndent(value, strings.Repeat(unit, len(path)+1), unit)
	if err != nil {
		return nil, err
	}
	element, err := hujson.Parse(made)
	if err != nil {
		return nil, err
	}
	element.BeforeExtra, element.AfterExtra = line(len(path)+1), nil
	list.Elements, list.AfterExtra = append(list.Elements, element), line(len(path))
	return root.Pack(), nil
}

// without cuts every array element that holds our command out of the object at the
// key "hooks", and what is empty then.
func without(text []byte, ours func(element []byte) bool) ([]byte, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	top, at, err := find(&root, "hooks")
	if err != nil || at < 0 {
		return text, err
	}
	events, ok := top.Members[at].Value.Value.(*hujson.Object)
	if !ok {
		return nil, errShape
	}
	found := false
	events.Members = slices.DeleteFunc(events.Members, func(m hujson.ObjectMember) bool {
		list, ok := m.Value.Value.(*hujson.Array)
		if !ok {
			return false
		}
		before := len(list.Elements)
		list.Elements = slices.DeleteFunc(list.Elements, func(e hujson.Value) bool { return ours(e.Pack()) })
		found = found || len(list.Elements) < before
		if n := len(list.Elements); n > 0 {
			list.Elements[n-1].AfterExtra = nil // what stood before the comma; else there would be one
		}
		return len(list.Elements) == 0 && before > 0
	})
	if !found {
		return text, nil
	}
	if len(events.Members) == 0 {
		top.Members = slices.Delete(top.Members, at, at+1)
	}
	for _, o := range []*hujson.Object{top, events} {
		if n := len(o.Members); n > 0 {
			o.Members[n-1].Value.AfterExtra = nil
		}
	}
	return root.Pack(), nil
}
