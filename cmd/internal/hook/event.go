// Package hook understands what coding agents tell their hooks, and does what
// rewind has to do then: a point before the agent works on a prompt, and one when
// its turn has ended.
//
// A hook stands in the agent's way. So nothing here fails: what cannot be read is
// said in one line, once, and the agent goes on; and a snapshot that takes longer
// than the agent's patience goes on in a process of its own
// (docs/decisions/0020-hooks.md). The package takes no snapshots itself.
package hook

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// An Act is what an event asks for. Its text is the trigger of the point.
type Act string

// The acts. Of a tool that changes files there are two events, one before it and
// one after it.
const (
	Nothing    Act = ""
	Before     Act = "prompt"
	After      Act = "turn"
	BeforeTool Act = "before tool"
	AfterTool  Act = "tool"
	Compaction Act = "compaction"
	Untold     Act = "hook" // nobody knows what happened, as of an event of a newer agent
)

// An Event is what a hook was called for, in the same words for every agent.
type Event struct {
	Agent   string   `json:"agent"`
	Name    string   `json:"name"` // what the agent calls the event
	Act     Act      `json:"act"`
	Session string   `json:"session,omitempty"`
	Prompt  string   `json:"prompt,omitempty"`  // the id of the prompt
	Text    string   `json:"text,omitempty"`    // how the prompt begins
	Dir     string   `json:"dir"`               // where the agent works
	Project string   `json:"project,omitempty"` // where the conversation began, if that is another directory
	Tool    string   `json:"tool,omitempty"`
	Files   []string `json:"files,omitempty"`  // what the tool changes, as far as its arguments tell
	Label   string   `json:"label,omitempty"`  // of the point; only from "generic"
	Unread  bool     `json:"unread,omitempty"` // not all that was said could be read: there is a point, whatever it asks for
}

// Bounds of what is taken over from an agent.
const (
	inputMax = 16 << 20 // a tool's arguments may hold a file
	idMax    = 256      // bytes of an id
	wordsMax = 72       // characters of a prompt
	filesMax = 32       // files of one tool call
)

// readEvent understands what an agent wrote to its hook. The name of the event on the
// command line counts where the input has none. The event is whole even beside an
// error: a point that knows less is better than none. What asks for nothing has the act
// [Nothing], what is not known [Untold].
func readEvent(agent, name string, input io.Reader) (Event, error) {
	e := Event{Agent: agent, Name: name}
	d, known := dialects()[agent]
	if !known {
		d, e.Agent = dialects()[Generic], Generic
	}
	m, err := object(input)
	if said := m.text("hook_event_name", "event"); said != "" {
		e.Name = said
	}
	e.Session = m.text("session_id", "sessionId", "sessionID", "session")
	e.Prompt = m.text("prompt_id", "promptId", "turn_id", "message_id")
	e.Dir = m.text("cwd", "directory", "dir")
	e.Tool = m.text("tool_name", "toolName", "tool")
	e.Text = firstWords(m.text("prompt", "text"))
	if d.read != nil {
		d.read(&e, m)
	}
	act, listed := d.act(e.Name)
	if e.Prompt == "" && act == Before {
		e.Prompt = m.text("timestamp") // of Gemini and Copilot: no two prompts have the same
	}
	e.Session, e.Prompt = bounded(e.Session), bounded(e.Prompt)
	e.Unread = err != nil || !listed
	e.Act = wanted(&e, act, m)
	if e.Act == BeforeTool || e.Act == AfterTool {
		e.Files = changedBy(m)
	}
	const less = "; its point says less"
	switch {
	case err != nil:
		err = fmt.Errorf("what %s told the hook cannot be read: %w%s", agent, err, less)
	case !known:
		err = fmt.Errorf("%q is no agent that rewind knows (%s), and was taken for a generic one", agent, strings.Join(agents(), ", "))
	case !listed && e.Name == "":
		err = fmt.Errorf("no event was named, as in \"rewind hook %s EVENT\" (docs/agents.md has the events)%s", e.Agent, less)
	case !listed:
		err = fmt.Errorf("%s has no event %q that this version of rewind knows%s", agent, e.Name, less)
	}
	return e, err
}

// wanted leaves out what only looks like an event that asks for a point: that of
// a sub-agent, a prompt without text, a compaction that is none, a tool that
// changes no files.
func wanted(e *Event, act Act, m fields) Act {
	switch act {
	case Before, After, Compaction, Untold:
		if m.text("agent_id", "agentId", "parent_agent_id", "parentAgentId") != "" {
			return Nothing
		}
		if prompt, isText := m["prompt"].(string); act == Before && isText && strings.TrimSpace(prompt) == "" {
			return Nothing
		}
		if e.Agent == "gemini" && act == Compaction && m.text("trigger") == "auto" {
			return Nothing // before every request to the model, whether anything is compressed or not
		}
	case BeforeTool, AfterTool:
		if e.Tool != "" && !changes(e.Tool) {
			return Nothing
		}
	}
	return act
}

// fields are a JSON object of which nothing is certain.
type fields map[string]any

// byteOrderMark is what some shells of Windows write before a text in UTF-8.
const byteOrderMark = "\ufeff"

// object reads one JSON object, and not to the end of the input, which an agent may
// leave open. Beside an error it returns the fields that came before what cannot be read.
func object(input io.Reader) (fields, error) {
	limited := &io.LimitedReader{R: input, N: inputMax}
	from := bufio.NewReader(limited)
	if first, err := from.Peek(1); err == nil && first[0] == byteOrderMark[0] { // one byte first: "{}" may be all that comes
		if mark, err := from.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
			from.Discard(len(mark))
		}
	}
	m, err := members(json.NewDecoder(from))
	switch {
	case err == io.EOF && limited.N == inputMax: // no input at all
		return m, nil
	case err != nil && limited.N <= 0:
		return m, fmt.Errorf("it has more than %d bytes", inputMax)
	case err == io.EOF:
		return m, errors.New("it ends too early")
	}
	return m, err
}

func members(from *json.Decoder) (m fields, err error) {
	if begin, err := from.Token(); err != nil || begin == nil { // null: nothing was said
		return nil, err
	} else if begin != json.Delim('{') {
		return nil, errors.New("it is no object")
	}
	for m = (fields{}); from.More(); {
		name, err := from.Token()
		var value any
		if err == nil {
			err = from.Decode(&value)
		}
		if err != nil {
			return m, err
		}
		m[fmt.Sprint(name)] = value
	}
	_, err = from.Token() // the end
	return m, err
}

// text returns the first of these fields that is there. A number counts as the text
// that it is.
func (m fields) text(names ...string) string {
	for _, name := range names {
		switch v := m[name].(type) {
		case string:
			if v != "" {
				return v
			}
		case float64:
			return string(bytes.TrimSuffix(fmt.Appendf(nil, "%f", v), []byte(".000000")))
		}
	}
	return ""
}

// in returns an object of the object, empty if there is none.
func (m fields) in(name string) fields {
	inner, _ := m[name].(map[string]any)
	return inner
}

// firstWords is how a prompt begins, on one line.
func firstWords(text string) string {
	if len(text) > 16*wordsMax {
		text = text[:16*wordsMax]
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if n := len(text); n > 1 && text[0] == '"' && text[n-1] == '"' { // OpenCode's command line
		text = strings.TrimSpace(text[1 : n-1])
	}
	if r := []rune(text); len(r) > wordsMax {
		text = string(r[:wordsMax-1]) + "…"
	}
	return text
}

func bounded(id string) string {
	if len(id) <= idMax {
		return id
	}
	for id = id[:idMax]; !utf8.ValidString(id); {
		id = id[:len(id)-1]
	}
	return id
}

// projects are the variables in which agents say where their conversation began. What
// they call the current directory goes along with a "cd" of the model's.
var projects = map[string]string{
	"claude": "CLAUDE_PROJECT_DIR", "copilot": "CLAUDE_PROJECT_DIR", "gemini": "GEMINI_PROJECT_DIR", "qwen": "QWEN_PROJECT_DIR",
}

// atHome are the agents that call a user's hooks in a folder of their own, and the
// variables in which they say where they work, if not in what they tell.
var atHome = map[string]string{"cursor": "CURSOR_PROJECT_DIR"}

// place makes the event's directory absolute; base is where the hook was called, which
// counts where the name of another is not UTF-8, and so was not to be read.
func (e *Event) place(base string, getenv func(string) string) (err error) {
	if _, gone := os.Stat(e.Dir); gone != nil && strings.ContainsRune(e.Dir, utf8.RuneError) {
		e.Dir, e.Unread = "", true
		err = fmt.Errorf("where %s works cannot be read, as it is not UTF-8; its point is of %q", e.Agent, base)
	}
	if name := atHome[e.Agent]; name != "" && e.Dir == "" {
		if e.Dir = getenv(name); !filepath.IsAbs(e.Dir) {
			e.Act, e.Unread = Nothing, false
			return fmt.Errorf("nothing was recorded: %s did not say where it works", e.Agent)
		}
	}
	if !filepath.IsAbs(e.Dir) {
		e.Dir = filepath.Join(base, e.Dir)
	}
	if name := projects[e.Agent]; name != "" {
		if dir := filepath.Clean(getenv(name)); filepath.IsAbs(dir) && dir != filepath.Clean(e.Dir) {
			e.Project = dir
		}
	}
	return err
}
