package hook

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Generic is the agent of which nothing is known: whoever calls the hook says in
// rewind's own words what happened.
const Generic = "generic"

// Editors is what an editor and its agent said of a turn, as rewind acp heard it: the
// event has the agent's own name.
const Editors = "acp"

// A dialect is how one agent names what happens. An event that is listed with
// [Nothing] is known and asks for nothing.
type dialect struct {
	events []map[string]Act
	read   func(e *Event, m fields) // what the agent says in other fields than most
}

// agents lists the names that [readEvent] knows, and that somebody may call a hook with.
func agents() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(dialects())), func(name string) bool { return name == Editors })
}

// quiet are events of one agent or another that ask for nothing. A hook that is set
// up for all of them is no mistake.
const quiet = `SessionStart SessionEnd Setup UserPromptExpansion PermissionRequest PermissionDenied PostToolBatch
	SubagentStart SubagentStop Notification TaskCreated TaskCompleted ConfigChange InstructionsLoaded CwdChanged FileChanged
	DirectoryAdded WorktreeCreate WorktreeRemove PreModelRequest PostModelRequest BeforeModel AfterModel BeforeToolSelection
	sessionStart sessionEnd userPromptTransformed permissionRequest subagentStart subagentStop errorOccurred notification`

// dialects are made when a hook is called: whatever a program makes beforehand, each
// start of it takes longer.
var dialects = sync.OnceValue(func() map[string]dialect {
	type list = []map[string]Act
	claudes := map[string]Act{ // the events as Claude Code has them; others took the names over
		"UserPromptSubmit": Before, "Stop": After, "StopFailure": After,
		"PreToolUse": BeforeTool, "PostToolUse": AfterTool, "PostToolUseFailure": AfterTool,
		"PreCompact": Compaction, "PostCompact": Compaction,
	}
	return map[string]dialect{
		"claude": {events: list{claudes}},
		"codex":  {events: list{claudes, {"Interrupt": After}}},
		"qwen":   {events: list{claudes}},
		"tallow": {events: list{claudes, {"before_agent_start": Before, "agent_end": After, "tool_call": BeforeTool, "tool_result": AfterTool, "session_before_compact": Compaction, "session_compact": Compaction}}},
		"copilot": {read: readCopilot, events: list{claudes, {
			"userPromptSubmitted": Before, "agentStop": After, "preToolUse": BeforeTool, "postToolUse": AfterTool, "postToolUseFailure": AfterTool, "preCompact": Compaction,
		}}},
		"gemini": {events: list{{"BeforeAgent": Before, "AfterAgent": After, "BeforeTool": BeforeTool, "AfterTool": AfterTool, "PreCompress": Compaction}}},
		"opencode": {read: readOpenCode, events: list{{
			"chat.message": Before, "session.idle": After, "tool.execute.before": BeforeTool, "tool.execute.after": AfterTool,
			"experimental.session.compacting": Compaction, "session.compacted": Compaction,
			"plugin.load": Nothing, "session.created": Nothing, "session.status": Nothing, "dispose": Nothing,
		}}},
		"cline": {read: readCline, events: list{claudes, {
			"TaskStart": Before, "TaskResume": Before, "TaskComplete": After, "TaskCancel": After, "TaskError": After, "SessionShutdown": Nothing,
		}}},
		"cursor": {read: readCursor, events: list{{
			"beforeSubmitPrompt": Before, "stop": After, "preToolUse": BeforeTool, "postToolUse": AfterTool, "postToolUseFailure": AfterTool, "preCompact": Compaction,
		}}},
		"goose": {read: readGoose, events: list{claudes}},
		Editors: {read: readEditors, events: list{{"before": Before, "after": After}}},
		Generic: {read: func(e *Event, m fields) { e.Label = m.text("label") }, events: list{{
			"before": Before, "after": After, "before-tool": BeforeTool, "after-tool": AfterTool, "compaction": Compaction,
		}}},
	}
})

// act returns what an event asks for, [Untold] of one whose name is not known, and
// whether it is.
func (d *dialect) act(event string) (act Act, known bool) {
	for _, list := range d.events {
		if act, known = list[event]; known {
			return act, true
		}
	}
	if slices.Contains(strings.Fields(quiet), event) {
		return Nothing, true
	}
	return Untold, false
}

// readEditors takes over the name that the agent gave itself.
func readEditors(e *Event, m fields) {
	if name := firstWords(m.text("agent")); name != "" {
		e.Agent = name
	}
}

// readCline knows that Cline names the main agent as it does others, which have a parent,
// and calls a tool's arguments by the name of the event.
func readCline(e *Event, m fields) {
	if m.text("parent_agent_id") == "" {
		delete(m, "agent_id")
	}
	e.Session = cmp.Or(m.in("sessionContext").text("rootSessionId"), m.text("taskId"))
	e.Dir = cmp.Or(e.Dir, root(m, "workspaceRoots"))
	e.Text = firstWords(cmp.Or(m.in("userPromptSubmit").text("prompt"), m.in("taskStart").in("taskMetadata").text("initialTask")))
	for _, tool := range []string{"preToolUse", "postToolUse"} {
		e.Tool = cmp.Or(e.Tool, m.in(tool).text("toolName"))
		if args := m.in(tool).in("parameters"); args != nil {
			m["tool_input"] = map[string]any(args)
		}
	}
}

// readCursor reads Cursor's names for a conversation and a prompt.
func readCursor(e *Event, m fields) {
	e.Session = cmp.Or(m.text("conversation_id"), e.Session)
	e.Prompt = cmp.Or(e.Prompt, m.text("generation_id"))
	e.Dir = cmp.Or(e.Dir, root(m, "workspace_roots"))
}

// readGoose reads Goose's names for a prompt and the directory.
func readGoose(e *Event, m fields) {
	e.Text = cmp.Or(e.Text, firstWords(m.text("message")))
	e.Dir = cmp.Or(e.Dir, m.text("working_dir"))
}

// root is the first directory of a list of them.
func root(m fields, name string) string {
	list, _ := m[name].([]any)
	for _, dir := range list {
		if text, _ := dir.(string); text != "" {
			return text
		}
	}
	return ""
}

// readCopilot knows that Copilot's sub-agents have sessions of their own: what their
// tools do belongs to the session that they work for.
func readCopilot(e *Event, m fields) {
	if parent := m.text("parent_agent_id", "parentAgentId"); parent != "" {
		e.Session = parent
	}
}

// readOpenCode reads what OpenCode gives a plugin, which passes it on as it is:
// the input and output of a plugin's hook, or an event of the bus.
func readOpenCode(e *Event, m fields) {
	in, out := m.in("input"), m.in("output")
	for _, where := range []fields{in, m.in("properties")} {
		if e.Session == "" {
			e.Session = where.text("sessionID")
		}
	}
	if e.Name == "" {
		e.Name = m.text("type")
	}
	if e.Tool == "" {
		e.Tool = in.text("tool")
	}
	if e.Prompt == "" {
		e.Prompt = out.in("message").text("id")
	}
	parts, _ := out["parts"].([]any)
	for _, p := range parts {
		part, _ := p.(map[string]any)
		if text := fields(part).text("text"); e.Text == "" {
			e.Text = firstWords(text)
		}
	}
	if len(parts) > 0 && e.Text == "" && !slices.ContainsFunc(parts, attached) {
		m["prompt"] = "" // nothing was asked
	}
}

// attached reports whether a part of a message is something else than text.
func attached(p any) bool {
	part, _ := p.(map[string]any)
	kind := fields(part).text("type")
	return kind != "" && kind != "text"
}
