package command

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWhatWasNotAgreedToIsNotDone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newServed(t, dir)
	put(t, dir, "a", "1")
	first := s.must("snapshot", nil)["id"].(string)
	put(t, dir, "a", "2")
	second := s.must("snapshot", nil)["id"].(string)
	put(t, dir, "b", "new")
	type is = map[string]any
	for _, v := range []struct {
		plan, do string
		params   is
	}{
		{"plan", "restore", is{"id": first}},
		{"planUndo", "undo", nil},
		{"planRedo", "redo", nil},
		{"planRevert", "revert", is{"ids": []string{second}}},
		{"planApply", "apply", is{"ids": []string{second}}},
	} {
		put(t, dir, "a", "2")
		params := is{}
		for name, value := range v.params {
			params[name] = value
		}
		shown := s.must(v.plan, params)["plan"].(string)
		if again := s.must(v.plan, params)["plan"]; again != shown {
			t.Errorf("%s: the same plan is %v and %v", v.plan, shown, again)
		}
		put(t, dir, "a", "a third thing") // after the user has seen the plan
		before := s.must("status", nil)
		params["plan"] = shown
		s.fails(11, v.do, params)
		has(t, dir, "a", "a third thing")
		after := s.must("status", nil)
		for _, what := range []string{"undo", "redo", "total", "here", "last"} {
			if before[what] != after[what] {
				t.Errorf("%s: %s was %v, is %v", v.do, what, before[what], after[what])
			}
		}
		put(t, dir, "a", "2")
		params["plan"] = s.must(v.plan, v.params)["plan"]
		s.must(v.do, params)
	}
}

func TestAFileOfASnapshotIsReadInParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := bytes.Repeat([]byte("0123456789abcde\x00"), (9<<20)/16)
	odd := "a%b#c?d e\nf"
	if runtime.GOOS == "windows" {
		odd = "a%b#c d"
	}
	put(t, dir, odd, "\xff\x00\xfe")
	put(t, dir, "empty", "")
	if err := os.WriteFile(filepath.Join(dir, "large"), large, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newServed(t, dir)
	id := s.must("snapshot", nil)["id"]
	read := func(params map[string]any) (data []byte, more bool) {
		params["id"] = id
		out := s.must("cat", params)
		data, err := base64.StdEncoding.DecodeString(out["data"].(string))
		if err != nil {
			t.Fatal(err)
		}
		more, _ = out["more"].(bool)
		return data, more
	}
	for _, c := range []struct {
		params map[string]any
		want   []byte
		more   bool
	}{
		{map[string]any{"path": odd}, []byte("\xff\x00\xfe"), false},
		{map[string]any{"pathB64": []byte(odd)}, []byte("\xff\x00\xfe"), false},
		{map[string]any{"path": odd, "maxBytes": 2}, []byte("\xff\x00"), true},
		{map[string]any{"path": odd, "maxBytes": 3}, []byte("\xff\x00\xfe"), false},
		{map[string]any{"path": odd, "offset": 2}, []byte("\xfe"), false},
		{map[string]any{"path": odd, "offset": 3}, nil, false},
		{map[string]any{"path": odd, "offset": 100}, nil, false},
		{map[string]any{"path": "empty"}, nil, false},
		{map[string]any{"path": "large"}, large[:8<<20], true},
		{map[string]any{"path": "large", "maxBytes": 100 << 20}, large[:8<<20], true},
		{map[string]any{"path": "large", "offset": 8 << 20}, large[8<<20:], false},
	} {
		if data, more := read(c.params); !bytes.Equal(data, c.want) || more != c.more {
			t.Errorf("%v: %d bytes, more %v; want %d, %v", c.params, len(data), more, len(c.want), c.more)
		}
	}
	s.fails(3, "cat", map[string]any{"id": id, "path": "none"})
	s.fails(3, "cat", map[string]any{"id": "ffffffff", "path": "large"})
	s.fails(1, "cat", map[string]any{"id": id, "path": ""})
}
