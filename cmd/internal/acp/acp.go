// Package acp stands between an editor and an agent that speak the Agent Client
// Protocol, JSON-RPC in lines over standard input and output. It passes on every byte as
// it is, and knows when the agent begins to work on a prompt and when its turn has ended.
//
// Only what is needed for that is read. What cannot be read, or is of a later version,
// passes like anything else.
package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"
)

// A Turn is the work of an agent on one prompt.
type Turn struct {
	Agent   string // its name, as it says itself
	Session string // "": it could not be read
	Dir     string // where the session works; "": where the agent was started
	Text    string // of the prompt
}

// A Relay is one connection. Its functions are called before the line that says so is
// passed on, by two goroutines: Begins before the agent has the prompt, Ends before the
// editor knows that the turn is over.
type Relay struct {
	Agent        string // until it says its name
	Begins, Ends func(Turn)

	mu       sync.Mutex // guards what follows
	version  int        // of the protocol, as the agent has agreed to it
	asked    map[string]request
	sessions map[string]string // where each works
	working  map[string]Turn   // by session; in version 2 no answer tells the end
}

// A request is one of the editor's whose answer says something.
type request struct {
	method string
	dir    string // of the session that is to be made
	turn   Turn   // of a prompt
}

// The methods that say something, and what only version 2 has.
const (
	initialize = "initialize"
	prompt     = "session/prompt"
	update     = "session/update"

	// From version 2 on the answer to a prompt says that it was taken, and an update
	// that the agent rests.
	updatesEnd = 2
)

// A message is what is read of one.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params params          `json:"params"`
	Result struct {
		Version int    `json:"protocolVersion"`
		Session string `json:"sessionId"`
		Info    struct {
			Name string `json:"name"`
		} `json:"info"`
		AgentInfo struct {
			Name string `json:"name"`
		} `json:"agentInfo"`
	} `json:"result"`
}

type params struct {
	Session string `json:"sessionId"`
	Dir     string `json:"cwd"`
	Prompt  []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"prompt"`
	Update struct {
		Kind  string `json:"sessionUpdate"`
		State string `json:"state"`
	} `json:"update"`
}

// words is the first text of a prompt.
func (p *params) words() string {
	for _, block := range p.Prompt {
		if block.Type == "text" && strings.TrimSpace(block.Text) != "" {
			return block.Text
		}
	}
	return ""
}

// messages reads a line: one message, or a list of them. Of a line that was cut it reads
// what comes before that.
func messages(line []byte) []message {
	line = bytes.TrimSpace(line)
	if len(line) > 0 && line[0] == '[' {
		var list []message
		_ = json.Unmarshal(line, &list)
		return list
	}
	var m message
	var other *json.UnmarshalTypeError // whose other fields are read all the same
	if err := json.Unmarshal(line, &m); err == nil || errors.As(err, &other) {
		return []message{m}
	}
	d := json.NewDecoder(bytes.NewReader(line))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		into := any(new(json.RawMessage))
		switch name {
		case "id":
			into = &m.ID
		case "method":
			into = &m.Method
		case "params":
			into = &m.Params
		}
		if d.Decode(into) != nil {
			break
		}
	}
	return []message{m}
}

// fromEditor takes note of what the editor says.
func (r *Relay) fromEditor(line []byte) {
	list := messages(line)
	if list == nil && bytes.Contains(line, []byte(prompt)) {
		list = []message{{Method: prompt}}
	}
	for _, m := range list {
		if turn, begins := r.asks(&m); begins {
			r.Begins(turn)
		}
	}
}

// asks remembers a request, and reports whether a turn begins with it.
func (r *Relay) asks(m *message) (turn Turn, begins bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == nil {
		r.asked, r.sessions, r.working = map[string]request{}, map[string]string{}, map[string]Turn{}
	}
	p := &m.Params
	switch {
	case m.Method == prompt:
		if p.Session == "" && len(r.sessions) == 1 { // the line was too long for it to be read
			for p.Session = range r.sessions {
			}
		}
		turn = Turn{Agent: r.Agent, Session: p.Session, Dir: r.sessions[p.Session], Text: p.words()}
		r.working[p.Session] = turn
	case m.Method == initialize:
	case m.Method != "" && p.Dir != "": // session/new, load, resume, fork
		if p.Session != "" && m.Method != "session/fork" {
			r.sessions[p.Session] = p.Dir
		}
	default:
		return turn, false
	}
	if len(m.ID) > 0 {
		r.asked[string(m.ID)] = request{method: m.Method, dir: p.Dir, turn: turn}
	}
	return turn, m.Method == prompt
}

// fromAgent takes note of what the agent says.
func (r *Relay) fromAgent(line []byte) {
	if !r.waits() {
		return
	}
	for _, m := range messages(line) {
		if turn, ends := r.says(&m); ends {
			r.Ends(turn)
		}
	}
}

// waits reports whether anything that the agent says may matter.
func (r *Relay) waits() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asked)+len(r.working) > 0 || r.version >= updatesEnd
}

// says reports whether a turn ends with a message of the agent.
func (r *Relay) says(m *message) (turn Turn, ends bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.Method != "" {
		return r.rests(m)
	}
	q, ok := r.asked[string(m.ID)]
	if !ok {
		return turn, false
	}
	delete(r.asked, string(m.ID))
	switch s := m.Result.Session; {
	case q.method == initialize:
		r.version = m.Result.Version
		for _, name := range []string{m.Result.AgentInfo.Name, m.Result.Info.Name} {
			if name != "" {
				r.Agent = name
			}
		}
	case q.method != prompt:
		if s != "" {
			r.sessions[s] = q.dir
		}
	case r.version < updatesEnd:
		delete(r.working, q.turn.Session)
		return q.turn, true
	}
	return turn, false
}

// rests reports whether an update says that a turn is over. In version 2 the agent may
// begin one by itself.
func (r *Relay) rests(m *message) (turn Turn, ends bool) {
	p := &m.Params
	if r.version < updatesEnd || m.Method != update || p.Update.Kind != "state_update" {
		return turn, false
	}
	turn, ends = r.working[p.Session]
	switch p.Update.State {
	case "idle":
		delete(r.working, p.Session)
		return turn, ends
	case "running":
		if !ends {
			r.working[p.Session] = Turn{Agent: r.Agent, Session: p.Session, Dir: r.sessions[p.Session]}
		}
	}
	return Turn{}, false
}

// Left lists the turns that nobody has ended, as of an agent that was killed.
func (r *Relay) Left() (list []Turn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, turn := range r.working {
		list = append(list, turn)
	}
	return list
}
