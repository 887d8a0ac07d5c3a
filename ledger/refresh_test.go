package ledger

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// sum is everything that a session answers.
func sum(s *Session) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.header, s.mentioned)
	for e := range s.Entries() {
		fmt.Fprintln(&b, e.ID, e.ParentID, e.Type, e.Role, e.Time, e.Text, e.Tools, e.Offset, s.State(e.ID), s.Label(e.ID))
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

func TestAnswersDependOnTheBytesAloneWhereverTheFileWasTorn(t *testing.T) {
	text := small()
	dir := t.TempDir()
	whole := sum(open(t, text))
	header := strings.IndexByte(text, '\n')
	for cut := range len(text) {
		path := write(t, filepath.Join(dir, "s.jsonl"), text[:cut])
		s, err := look(path)
		if cut < header {
			if !errors.Is(err, ErrNotSession) {
				t.Fatalf("cut %d: %v", cut, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut %d: %v", cut, err)
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		middle := cut + (len(text)-cut)/2
		for _, part := range []string{text[cut:middle], text[middle:]} {
			if _, err := f.WriteString(part); err != nil {
				t.Fatal(err)
			}
			if err := again(s); err != nil {
				t.Fatalf("cut %d: %v", cut, err)
			}
		}
		f.Close()
		if got := sum(s); got != whole {
			t.Fatalf("cut %d: looked thrice:\n%s\nlooked once:\n%s", cut, got, whole)
		}
		os.Remove(path)
	}
}

func TestALastLineWithoutNewlineCountsIfItIsWhole(t *testing.T) {
	text := small()
	s := open(t, strings.TrimSuffix(text, "\n"))
	if want := sum(open(t, text)); sum(s) != want {
		t.Errorf("%s\nwant\n%s", sum(s), want)
	}
}

func TestOnlyAppendedBytesAreParsedAgain(t *testing.T) {
	s := newScript("")
	for range 1000 {
		s.user("prompt")
	}
	path := write(t, "s.jsonl", s.text())
	session, err := look(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := len(s.text())
	for range 5 {
		if err := again(session); err != nil || session.parsed != int64(seen) {
			t.Fatalf("parsed %d bytes, the file has %d, %v", session.parsed, seen, err)
		}
		before := len(s.lines)
		s.user("more")
		added := strings.Join(s.lines[before:], "\n") + "\n"
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(added)
		f.Close()
		seen += len(added)
		if err := again(session); err != nil || session.parsed != int64(seen) {
			t.Fatalf("parsed %d bytes, the file has %d, %v", session.parsed, seen, err)
		}
	}
	if len(session.entries) != 1005 {
		t.Errorf("%d entries", len(session.entries))
	}
}

func TestARewrittenFileIsReadAnew(t *testing.T) {
	text := small()
	one, two := newScript(""), newScript("")
	one.user("other")
	for range 50 {
		two.user("longer than before")
	}
	same := strings.Replace(text, "häßlich", "häszlich", 1)
	for name, replacement := range map[string]string{"shorter": one.text(), "longer": two.text(), "as long": same, "headless": "{}\n", "empty": ""} {
		for _, how := range []string{"in place", "renamed"} {
			dir := t.TempDir()
			path := write(t, filepath.Join(dir, "s.jsonl"), text)
			s, err := look(path)
			if err != nil {
				t.Fatal(err)
			}
			if how == "in place" {
				write(t, path, replacement)
				later := time.Now().Add(time.Second)
				err = os.Chtimes(path, later, later)
			} else {
				err = os.Rename(write(t, filepath.Join(dir, "new"), replacement), path)
			}
			if err != nil {
				t.Fatal(err)
			}
			err = again(s)
			if name == "headless" || name == "empty" {
				if !errors.Is(err, ErrNotSession) || len(s.entries) > 0 {
					t.Errorf("%s, %s: %v", name, how, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := sum(open(t, replacement)); sum(s) != want {
				t.Errorf("%s, %s: %s\nwant\n%s", name, how, sum(s), want)
			}
		}
	}
}

func TestAChangeFarFromTheEndsIsSeen(t *testing.T) {
	s := newScript("")
	for i := range 100 {
		s.user(fmt.Sprintf("prompt %03d", i))
	}
	session := open(t, s.text())
	changed := strings.Replace(s.text(), "prompt 050", "promptless", 1)
	write(t, session.Path(), changed)
	later := time.Now().Add(time.Second)
	if err := os.Chtimes(session.Path(), later, later); err != nil {
		t.Fatal(err)
	}
	if err := again(session); err != nil || sum(session) != sum(open(t, changed)) {
		t.Errorf("%v: %s", err, sum(session))
	}
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
		`{"type":"message","id":"`+strings.Repeat("x", idBytesMax+1)+`"}`, `{"type":"custom","data":{"v":2,"snapshots":["`+id(9).String()+`"],"curr`)
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

func TestRandomSessionsAnswerAlikeHoweverTheyGrew(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 9))
		s := newScript("")
		randomize(r, s, 40)
		text := s.text()
		at := strings.IndexByte(text, '\n') + r.IntN(20)
		path := write(t, "s.jsonl", text[:at])
		session, err := look(path)
		for at < len(text) && err == nil {
			n := min(1+r.IntN(400), len(text)-at)
			var f *os.File
			if f, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0); err == nil {
				_, err = f.WriteString(text[at : at+n])
				f.Close()
			}
			at += n
			err = errors.Join(err, again(session))
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if want := sum(open(t, text)); sum(session) != want {
			t.Fatalf("seed %d:\n%s\nwant\n%s", seed, sum(session), want)
		}
	}
}

func FuzzSession(f *testing.F) {
	f.Add([]byte(small()), 100)
	f.Add([]byte("\ufeff{\"type\":\"session\",\"version\":3,\"id\":\"a\"}\r\n{\"id\":\"b\",\"parentId\":\"b\"}"), 3)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		dir := t.TempDir()
		whole, err := look(write(t, filepath.Join(dir, "a"), string(text)))
		if err != nil {
			return
		}
		new(Sessions).Live(whole)
		for e := range whole.Entries() {
			whole.State(e.ID)
		}
		path := write(t, filepath.Join(dir, "b"), string(text[:max(0, min(cut, len(text)))]))
		part, err := look(path)
		if err != nil {
			return
		}
		write(t, path, string(text)) // in place, the same bytes and more
		if err := again(part); err != nil || sum(part) != sum(whole) {
			t.Fatalf("%q cut at %d: %v", text, cut, err)
		}
	})
}
