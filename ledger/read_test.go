package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// sum is everything that a session answers.
func sum(s *Session) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.header, s.mentioned)
	for e := range s.Entries() {
		fmt.Fprintln(&b, e.ID, e.ParentID, e.Type, e.Role, e.Time, e.Text, s.State(e.ID), s.Label(e.ID))
		if i := s.byID[e.ID]; s.entries[i].ID != e.ID {
			fmt.Fprintln(&b, "index is wrong")
		}
	}
	fmt.Fprintln(&b, s.bound, s.labels, len(s.byID))
	return b.String()
}

// small is a session with every sort of line in it.
func small() string {
	s := newScript("")
	u := s.user("häßlich 😀")
	a := s.assistant("bash")
	s.record(Record{Kind: Turn, Bindings: []Binding{{u, id(1)}, {a, id(2)}}})
	s.lines = append(s.lines, `{"type":"cus`+s.lines[3][20:], "", " \r")
	s.label(a, "keep")
	s.record(Record{Kind: Op, Current: id(1), Undo: id(3)})
	s.label(a, "")
	s.line(object{"type": "message", "id": a, "parentId": u, "message": object{"role": "user", "content": "again"}})
	return s.text()
}

func TestHeadersAreChecked(t *testing.T) {
	for text, want := range map[string]error{
		"":                               ErrNotSession,
		"{}":                             ErrNotSession,
		`{"type":"message","id":"a"}`:    ErrNotSession,
		`{"type":"session","version":3}`: ErrNotSession,
		`{"type":"session","id":"a"}`:    ErrVersion,
		`{"type":"session","version":2,"id":"a"}`:                     ErrVersion,
		`{"type":"session","version":"3","id":"a"}`:                   nil,
		`{"type":"session","version":4,"id":"a"}`:                     ErrVersion,
		`{"type":"session","version":3,"id":"a"}`:                     nil,
		"\ufeff" + `{"type":"session","version":3,"id":"a"}` + "\r\n": nil,
		"garbage\n\n" + `{"id":"a","version":3.0,"type":"session"}`:   nil,
	} {
		path := write(t, "s.jsonl", text)
		if _, err := look(path); !errors.Is(err, want) {
			t.Errorf("%q: Open: %v", text, err)
		}
		if _, err := readHeader(path); !errors.Is(err, want) {
			t.Errorf("%q: readHeader: %v", text, err)
		}
	}
	if _, err := look(t.TempDir()); !errors.Is(err, ErrNotSession) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := look(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}

func TestLineEndingsOfWindowsAndForeignBytesAreRead(t *testing.T) {
	text := small()
	crlf := open(t, "\ufeff"+strings.ReplaceAll(text, "\n", "\r\n"))
	plain := open(t, text)
	if len(crlf.entries) != len(plain.entries) || !reflect.DeepEqual(crlf.bound, plain.bound) {
		t.Errorf("%s\nwant\n%s", sum(crlf), sum(plain))
	}
	latin := open(t, strings.ReplaceAll(text, "häßlich 😀", "h\xe4\xdflich"))
	if e := latin.entries[latin.byID["00000001"]]; e.Text != "h\ufffdlich" && e.Text != "h\ufffd\ufffdlich" {
		t.Errorf("%q", e.Text)
	}
}

func TestALineThatCannotBeUsedHidesNothing(t *testing.T) {
	s := newScript("")
	s.lines = append(s.lines, "nonsense", `{"type":"session","version":3,"id":"b"}`, `{"type":"message","parentId":null}`,
		`{"type":"custom","customType":"rewind-op","id":"x","parentId":null,"data":{"v":3,"snapshots":["`+id(7).String()+`"]}}`)
	s.leaf = "x"
	s.user("fine")
	s.lines = append(s.lines, `{"type":"label","id":"x","targetId":"00000001","label":"keep"}`,
		`{"type":"custom","customType":"rewind-turn","data":{"v":2,"snapshots":["`+id(8).String()+`"],"bindings":[["00000001",0]]}}`,
		`{"type":"message","id":"`+strings.Repeat("x", nameBytesMax+1)+`"}`, `{"type":"custom","data":{"v":2,"snapshots":["`+id(9).String()+`"],"curr`)
	session := open(t, strings.TrimSuffix(s.text(), "\n"))
	if session.header.ID != "0197-session" || session.Label("00000001") != "keep" || session.bound["00000001"] != id(8) {
		t.Error("a good line beside them is lost")
	}
	live := new(Sessions).Live(session)
	if live[id(7)].Reasons != Unreadable || live[id(9)].Reasons != Unreadable {
		t.Errorf("what stands in lines that cannot be used is not kept: %v", live)
	}
}

func TestMemoryGrowsWithEntriesNotWithMessages(t *testing.T) {
	s := newScript("")
	body := strings.Repeat("text ", 20000)
	for range 200 {
		s.user(body)
	}
	path := write(t, "s.jsonl", s.text())
	s = nil
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	session, err := look(path)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 1<<20 {
		t.Errorf("a session of 20 MB in 200 entries keeps %d bytes", kept)
	}
	runtime.KeepAlive(session)
}

func FuzzSession(f *testing.F) {
	f.Add([]byte(small()))
	f.Add([]byte("\ufeff{\"type\":\"session\",\"version\":3,\"id\":\"a\"}\r\n{\"id\":\"b\",\"parentId\":\"b\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := look(write(t, "s", string(text)))
		if err != nil {
			return
		}
		new(Sessions).Live(s)
		for e := range s.Entries() {
			s.State(e.ID)
		}
	})
}
