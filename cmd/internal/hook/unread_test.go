package hook

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
)

func TestWhatCannotBeReadIsSaidOnceAndStillMakesAPoint(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		w.call("claude", "UserPromptSubmit", `{"session_id":`)
	}
	if said := w.said(); strings.Count(said, "cannot be read") != 1 {
		t.Errorf("told %q", said)
	}
	if got := w.made(); len(got) != 2 {
		t.Errorf("points %q", got)
	}
	w.call("../claude", "before", `{"session_id":["s"],"prompt":7}`)
	if said := w.said(); !strings.Contains(said, "no agent that rewind knows") {
		t.Errorf("told %q", said)
	}
	if got := w.made(); len(got) != 1 {
		t.Errorf("points %q", got)
	}
}

func TestAByteOrderMarkBeforeAnEventIsNoPartOfIt(t *testing.T) {
	w := newWorld(t)
	w.call("claude", "Stop", "\ufeff"+`{"session_id":"s","cwd":"/d","hook_event_name":"Stop"}`)
	if said := w.said(); said != "" {
		t.Errorf("told %q", said)
	}
	if got := w.made(); len(got) != 1 {
		t.Errorf("points %q", got)
	}
}

// An endless is an agent that says one thing and never comes to an end.
type endless struct {
	said io.Reader
	read *atomic.Int64
}

func (e endless) Read(p []byte) (int, error) {
	if n, _ := e.said.Read(p); n > 0 {
		return n, nil
	}
	e.read.Add(int64(len(p)))
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestAPointIsMadeWhateverOfAnEventCannotBeRead(t *testing.T) {
	gittest.Slashes(t)
	var read atomic.Int64
	text := func(s string) io.Reader { return strings.NewReader(s) }
	for _, c := range []struct {
		event string
		input io.Reader
		want  Event
		said  string
	}{
		{"", text(`{"session_id":"s","cwd":"/d","hook_event_name":"NewEvent"}`), Event{Act: Untold, Session: "s", Dir: "/d"}, `claude has no event "NewEvent" that this version`},
		{"NewEvent", text(""), Event{Act: Untold}, `claude has no event "NewEvent"`},
		{"", text(""), Event{Act: Untold}, "no event was named"},
		{"", text("null"), Event{Act: Untold}, "no event was named"},
		{"Stop", text("\xff\xfe{\x00"), Event{Act: After}, "cannot be read: invalid character"},
		{"Stop", text(`["s"]`), Event{Act: After}, "cannot be read: it is no object"},
		{"", text(`{"session_id":"s","cwd":"/d","hook_event_name":"Stop","more":`), Event{Act: After, Session: "s", Dir: "/d"}, "cannot be read: it ends too early"},
		{"Stop", text("{\"session_id\":\"s\",\"cwd\":\"/no\xff\"}"), Event{Act: After, Session: "s"}, "not UTF-8"},
		{"", endless{text(`{"session_id":"s","cwd":"/d","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"content":"`), &read},
			Event{Act: BeforeTool, Session: "s", Dir: "/d", Label: "before a tool"}, "it has more than 16777216 bytes"},
		{"PostToolUse", endless{text(`{"content":"`), &read}, Event{Act: AfterTool}, "it has more than"},
	} {
		w := newWorld(t)
		call := w.caller("claude", c.event, "")
		call.Input = c.input
		call.Call(context.Background())
		if said := w.said(); !strings.Contains(said, c.said) || strings.Contains(said, "\n") {
			t.Errorf("told %q, want %q", said, c.said)
		}
		if len(w.points) != 1 {
			t.Errorf("%d points where %q", len(w.points), c.said)
			continue
		}
		if c.want.Dir == "" {
			c.want.Dir = w.dir
		}
		if e := w.points[0]; e.Act != c.want.Act || e.Session != c.want.Session || e.Dir != c.want.Dir || e.Label != c.want.Label {
			t.Errorf("where %q the point is %+v", c.said, e)
		}
	}
	if read.Load() == 0 {
		t.Error("nobody read what had no end")
	}
}

func TestOfSubAgentsAndOfWhatAsksForNothingThereIsNoPointThoughTheRestCannotBeRead(t *testing.T) {
	w := newWorld(t)
	w.call("claude", "", `{"agent_id":"a","hook_event_name":"NewEvent"}`)
	w.call("claude", "Stop", `{"agent_id":"a",`)
	w.call("claude", "SessionEnd", `{`)
	w.call("claude", "PreToolUse", `{"tool_name":"Read",`)
	if got := w.made(); got != nil {
		t.Errorf("points %q", got)
	}
}
