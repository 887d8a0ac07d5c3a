package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// play gives a recorded session to the hook. OpenCode's plugin leaves out what
// belongs to the sessions of sub-agents.
func (w *world) play(agent, name string) {
	w.t.Helper()
	children := map[string]bool{}
	for _, r := range recording(w.t, name) {
		var m struct {
			Input      struct{ SessionID string }
			Properties struct {
				SessionID string
				Info      struct{ ParentID string }
			}
		}
		_ = json.Unmarshal(r.Input, &m)
		if m.Properties.Info.ParentID != "" {
			children[m.Properties.SessionID] = true
		}
		if children[m.Properties.SessionID] || children[m.Input.SessionID] || agent == "opencode" && r.Event == "file.edited" {
			continue
		}
		w.call(agent, r.Event, string(r.Input))
	}
}

func TestRecordedSessionsOfEveryAgentMakeTheRightPoints(t *testing.T) {
	gittest.Slashes(t)
	two := []string{"prompt P1 create and edit", "turn P1 create and edit", "prompt P2 delete by shell", "turn P2 delete by shell"}
	one := []string{"prompt P1 delegate", "turn P1 delegate"}
	for name, want := range map[string][]string{
		"claude-basic": two, "codex-basic": two, "copilot-basic": two, "gemini-basic": two, "opencode-basic": two, "qwen-basic": two, "cline-basic": {"prompt ", "turn "}, // it does not say its prompt
		"claude-sub": one, "codex-sub": one, "copilot-sub": one, "copilot-own": one, "gemini-sub": one, "opencode-sub": one,
		"qwen-sub": {"prompt P1 delegate", "turn P1 delegate", "turn P1 delegate"}, // the sub-agent still wrote at the first end
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			agent, _, _ := strings.Cut(name, "-")
			w.play(agent, name)
			for i, e := range w.points {
				if e.Prompt == "" || e.Session == "" || e.Session != w.points[0].Session || e.Agent != agent {
					t.Errorf("point %d knows too little: %+v", i, e)
				}
				if e.Act == After && e.Prompt != w.points[i&^1].Prompt {
					t.Errorf("the end of a turn has the prompt %s, its beginning %s", e.Prompt, w.points[i&^1].Prompt)
				}
				if e.Dir != "/home/u/project" && e.Dir != w.dir { // OpenCode's plugin is started there
					t.Errorf("point %d is of %s", i, e.Dir)
				}
			}
			if got := w.made(); !slices.Equal(got, want) {
				t.Errorf("points %q, want %q", got, want)
			}
			if said := w.said(); said != "" {
				t.Errorf("the user was told %s", said)
			}
		})
	}
}

func TestTheEndOfATurnKnowsWhereTheConversationBeganThoughTheModelWentElsewhere(t *testing.T) {
	gittest.Slashes(t)
	const began = "/home/u/project"
	for name, want := range map[string]string{began: began, "": "", "project": "", began + "/inner/": began + "/inner"} {
		w := newWorld(t)
		w.env["CLAUDE_PROJECT_DIR"] = name
		w.play("claude", "claude-cd")
		if len(w.points) != 2 {
			t.Fatalf("%d points", len(w.points))
		}
		for i, dir := range []string{began, began + "/inner"} {
			project := want
			if project == dir {
				project = ""
			}
			if e := w.points[i]; e.Dir != dir || e.Project != project {
				t.Errorf("in %q point %d is of %q and %q, want %q and %q", name, i, e.Dir, e.Project, dir, project)
			}
		}
	}
}

func TestToolsMakePointsIfTheUserWants(t *testing.T) {
	gittest.Slashes(t)
	before := []string{"prompt P1 create and edit", "before modifying notes.txt", "turn P1 create and edit", "prompt P2 delete by shell", "turn P2 delete by shell"}
	all := []string{"prompt P1 create and edit", "before modifying notes.txt", "tool P1 create and edit", "tool P1 create and edit", "tool P1 create and edit",
		"turn P1 create and edit", "prompt P2 delete by shell", "tool P2 delete by shell", "turn P2 delete by shell"}
	for _, name := range []string{"claude", "codex", "copilot", "gemini", "opencode", "qwen"} {
		for mode, want := range map[string][]string{ToolsChanges: before, ToolsAll: all} {
			w := newWorld(t)
			w.dir, w.env[toolsVariable] = "/home/u/project", mode
			w.play(name, name+"-basic")
			if got := w.made(); !slices.Equal(got, want) {
				t.Errorf("%s, %s: points\n%q, want\n%q", name, mode, got, want)
			}
		}
	}
}

func TestEachFileHasAPointBeforeItsFirstChangeAndEveryFifthWriteHasOne(t *testing.T) {
	gittest.Slashes(t)
	w := newWorld(t)
	w.env[toolsVariable] = ToolsChanges
	write := func(path string) {
		w.call("claude", "PreToolUse", `{"session_id":"s","tool_name":"Edit","tool_input":{"file_path":"`+path+`"}}`)
	}
	for _, path := range []string{"app.tsx", "app.ts", "app.ts", filepath.Join(w.dir, "app.ts"), "app.ts", "app.ts"} {
		write(path)
	}
	want := []string{"before modifying app.tsx", "before modifying app.ts", "before modifying app.ts"}
	if got := w.made(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSubAgentsEmptyPromptsAndWhatOnlyLooksLikeACompactionMakeNoPoint(t *testing.T) {
	for _, c := range []struct{ agent, event, input string }{
		{"claude", "UserPromptSubmit", `{"prompt":" \n"}`},
		{"codex", "UserPromptSubmit", `{"prompt":"do","agent_id":"a"}`},
		{"copilot", "agentStop", `{"sessionId":"b","agentId":"b","parentAgentId":"a"}`},
		{"gemini", "PreCompress", `{"trigger":"auto"}`},
		{"opencode", "chat.message", `{"input":{"sessionID":"s"},"output":{"parts":[{"type":"text","text":" "}]}}`},
		{"claude", "PreToolUse", `{"tool_name":"Read"}`},
		{"claude", "SessionEnd", `{"reason":"other"}`},
	} {
		w := newWorld(t)
		w.env[toolsVariable] = ToolsAll
		w.call(c.agent, c.event, c.input)
		if got := w.made(); got != nil {
			t.Errorf("%s %s %s made %q", c.agent, c.event, c.input, got)
		}
		if _, err := os.Stat(filepath.Join(w.env["XDG_STATE_HOME"], "rewind")); err == nil {
			t.Errorf("%s %s left something behind", c.agent, c.event)
		}
	}
}

func TestAPromptOfAnImageAloneIsAPrompt(t *testing.T) {
	w := newWorld(t)
	w.call("opencode", "chat.message", `{"input":{"sessionID":"s"},"output":{"message":{"id":"m"},"parts":[{"type":"file","url":"x"}]}}`)
	if got := w.made(); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestAFailureIsSaidOnceInASession(t *testing.T) {
	w := newWorld(t)
	w.take = func(context.Context, *Event) ([]string, error) {
		return []string{"a\nnote"}, errors.New("no space left on device")
	}
	for range 3 {
		w.call("claude", "UserPromptSubmit", `{"session_id":"s","prompt":"p"}`)
	}
	if said := w.said(); said != "a note; nothing was recorded: no space left on device" {
		t.Errorf("told %q", said)
	}
	w.call("claude", "UserPromptSubmit", `{"session_id":"t","prompt":"p"}`)
	if w.said() == "" {
		t.Error("another session was told nothing")
	}
}

func TestWithoutAPlaceToRememberThePointIsMadeAllTheSame(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.env["XDG_STATE_HOME"] = file
	c := w.caller("claude", "UserPromptSubmit", `{"session_id":"s","prompt":"p"}`)
	c.Start = func(task []byte) (io.ReadCloser, error) {
		from, to := io.Pipe()
		worker := &Worker{Getenv: w.getenv, Output: to, Take: func(_ context.Context, e *Event) ([]string, error) {
			w.points = append(w.points, *e)
			return nil, nil
		}}
		go func() {
			if worker.Work(context.Background(), task) == nil {
				t.Error("nobody is told that nothing can be remembered")
			}
			_ = to.Close()
		}()
		return from, nil
	}
	c.Call(context.Background())
	if got := w.made(); !slices.Equal(got, []string{"prompt p"}) {
		t.Errorf("%q", got)
	}
}

func TestWhatTakesLongerThanTheAgentWaitsGoesOnAndTheNextHookWaitsForIt(t *testing.T) {
	w := newWorld(t)
	goOn, began := make(chan bool), make(chan bool)
	w.take = func(context.Context, *Event) ([]string, error) {
		began <- true
		<-goOn
		return []string{"done at last"}, nil
	}
	c := w.caller("claude", "UserPromptSubmit", `{"session_id":"s","prompt":"p"}`)
	ctx, cancel := context.WithCancel(context.Background())
	c.Patience = time.Hour
	called := make(chan bool)
	go func() { c.Call(ctx); close(called) }()
	<-began
	cancel()
	<-called

	// A tool waits; nothing new is begun for it.
	waited := make(chan bool)
	go func() {
		w.call("claude", "PreToolUse", `{"session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"}}`)
		close(waited)
	}()
	select {
	case <-waited:
		t.Error("the tool did not wait for the point of its prompt")
	case <-time.After(50 * time.Millisecond):
	}
	close(goOn)
	<-waited
	w.take = func(context.Context, *Event) ([]string, error) { return nil, nil }
	w.call("claude", "Stop", `{"session_id":"s"}`)
	if got := w.made(); !slices.Equal(got, []string{"prompt p", "turn p"}) {
		t.Errorf("%q", got)
	}
	if said := w.said(); said != "done at last" {
		t.Errorf("the next hook told %q", said)
	}
}

func TestAnAgentThatIsOutOfPatienceIsTold(t *testing.T) {
	w := newWorld(t)
	goOn := make(chan bool)
	w.take = func(context.Context, *Event) ([]string, error) { <-goOn; return nil, nil }
	c := w.caller("claude", "UserPromptSubmit", `{"session_id":"s","prompt":"p"}`)
	c.Patience = 20 * time.Millisecond
	c.Call(context.Background())
	close(goOn)
	if said := w.said(); !strings.Contains(said, "it goes on by itself") {
		t.Errorf("told %q", said)
	}
	w.call("claude", "Stop", `{"session_id":"s"}`) // waits for the end of the first
}

func TestAWorkerThatDiesIsNoticed(t *testing.T) {
	w := newWorld(t)
	c := w.caller("claude", "UserPromptSubmit", `{"session_id":"s","prompt":"p"}`)
	c.Start = func([]byte) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("half a l")), nil }
	c.Call(context.Background())
	if said := w.said(); !strings.Contains(said, "came to an early end") {
		t.Errorf("told %q", said)
	}
}

func TestAnInputThatIsLeftOpenKeepsNobodyWaiting(t *testing.T) {
	w := newWorld(t)
	from, to := io.Pipe()
	c := w.caller("claude", "UserPromptSubmit", "")
	c.Input = from
	go func() { _, _ = io.WriteString(to, `{"session_id":"s","prompt":"p"}`+"\n") }() // and it stays open
	c.Call(context.Background())
	if got := w.made(); !slices.Equal(got, []string{"prompt p"}) {
		t.Errorf("%q", got)
	}
	c = w.caller("claude", "UserPromptSubmit", "")
	c.Input, _ = io.Pipe() // never says anything
	c.Patience = 2 * time.Second
	c.Call(context.Background())
	if said := w.said(); !strings.Contains(said, "did not say in time") {
		t.Errorf("told %q", said)
	}
	if got := w.made(); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestFilesOfOldSessionsGo(t *testing.T) {
	w := newWorld(t)
	w.call("claude", "Stop", `{"session_id":"old"}`)
	dir := filepath.Join(w.env["XDG_STATE_HOME"], "rewind", "hooks")
	old := sessionFile(dir, &Event{Agent: "claude", Session: "old"})
	awaitSession(context.Background(), old)
	long := time.Now().Add(-2 * staleAfter)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	w.call("claude", "Stop", `{"session_id":"new"}`)
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"claude-basic", "codex-basic", "opencode-basic", "copilot-own", "qwen-sub", "gemini-sub"} {
		agent, _, _ := strings.Cut(name, "-")
		for _, r := range recording(f, name) {
			f.Add(agent, r.Event, string(r.Input))
		}
	}
	f.Fuzz(func(t *testing.T, agent, name, input string) {
		e, _ := readEvent(agent, name, strings.NewReader(input))
		if _, known := dialects()[e.Agent]; !known {
			t.Errorf("%q is taken for %q", agent, e.Agent)
		}
		if len([]rune(e.Text)) > wordsMax || len(e.Session) > idMax || len(e.Prompt) > idMax || len(e.Files) > filesMax {
			t.Errorf("more than the bounds allow: %+v", e)
		}
	})
}

func TestTheLastHookOfAnAgentIsRemembered(t *testing.T) {
	w := newWorld(t)
	if seen := LastSeen(w.getenv, "claude"); !seen.Time.IsZero() {
		t.Errorf("of an agent that never called: %+v", seen)
	}
	const before = `{"session_id":"%s","hook_event_name":"UserPromptSubmit","prompt":"words","prompt_id":"p"}`
	w.call("claude", "", fmt.Sprintf(before, "one"))
	if seen := LastSeen(w.getenv, "claude"); seen.Fail != "" || time.Since(seen.Time) > time.Minute {
		t.Errorf("%+v", seen)
	}
	w.take = func(context.Context, *Event) ([]string, error) { return nil, errors.New("the disk\nis full") }
	w.call("claude", "", fmt.Sprintf(before, "two"))
	if seen := LastSeen(w.getenv, "claude"); seen.Fail != "the disk is full" {
		t.Errorf("%+v", seen)
	}
	if seen := LastSeen(w.getenv, "codex"); !seen.Time.IsZero() {
		t.Errorf("of another agent: %+v", seen)
	}
}

func TestTheLastOfTwoHooksIsKnownWithinOneTickOfTheFileSystem(t *testing.T) {
	for _, failing := range []int{0, 1, 2, 3} {
		w := newWorld(t)
		at := time.Now()
		for i := range 4 {
			w.take = func(context.Context, *Event) ([]string, error) {
				if i != failing {
					return nil, nil
				}
				return nil, errors.New("the disk is full")
			}
			w.call("claude", "", fmt.Sprintf(`{"session_id":"%d","hook_event_name":"UserPromptSubmit","prompt":"words","prompt_id":"p"}`, (i+failing)%4))
		}
		dir := filepath.Join(w.env["XDG_STATE_HOME"], "rewind", "hooks")
		list, err := os.ReadDir(dir)
		if err != nil || len(list) != 4 {
			t.Fatalf("%v, %v", list, err)
		}
		for _, entry := range list {
			if err := os.Chtimes(filepath.Join(dir, entry.Name()), at, at); err != nil {
				t.Fatal(err)
			}
		}
		if seen := LastSeen(w.getenv, "claude"); (seen.Fail != "") != (failing == 3) {
			t.Errorf("the hook %d of 4 failed: %+v", failing, seen)
		}
	}
}
