package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/rpc"
	"github.com/seed-82afce7a/rewind/cmd/internal/verb"
)

func mcpCommand(a *app) *cobra.Command {
	t := &tools{app: a, plans: map[string]shown{}}
	c := cli.Command("mcp", "Serve an agent over the Model Context Protocol, on standard input and output (docs/agents.md)", cli.Nothing, func(c *cobra.Command, _ []string) error {
		signal.Ignore(syscall.SIGPIPE)
		err := rpc.Serve(c.Context(), a.In, a.Out, t.handle)
		if c.Context().Err() != nil || errors.Is(err, rpc.ErrGone) {
			return nil
		}
		return err
	})
	c.Flags().BoolVar(&t.restore, "allow-restore", false, "let the agent carry out a restore or undo whose plan it has shown")
	return c
}

// mcpVersions are the versions of the Model Context Protocol that are spoken, the newest
// first. What they differ in is not used here.
var mcpVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

const instructions = "rewind recorded all files of this directory before each prompt and after each turn. Look up what a file was, or what changed. A restore changes the user's files: show the plan, with what it deletes, and ask first."

// object is a JSON object that is told and not read.
type object = map[string]any

// pointsURI is the one resource: the recorded states.
const pointsURI = "rewind://points"

// handle answers one message of an agent.
func (t *tools) handle(ctx context.Context, r *rpc.Request) (any, error) {
	switch r.Method {
	case "initialize":
		var p struct{ ProtocolVersion string }
		if err := r.Decode(&p); err != nil {
			return nil, err
		}
		if !slices.Contains(mcpVersions, p.ProtocolVersion) {
			p.ProtocolVersion = mcpVersions[0]
		}
		return object{
			"protocolVersion": p.ProtocolVersion, "capabilities": object{"tools": object{}, "resources": object{}},
			"serverInfo": object{"name": "rewind", "version": cli.Version()}, "instructions": instructions,
		}, nil
	case "ping":
		return nil, nil
	case "tools/list":
		var list []object
		for _, tool := range t.list() {
			list = append(list, tool.offer())
		}
		return object{"tools": list}, nil
	case "tools/call":
		return t.use(ctx, r)
	case "resources/list":
		return object{"resources": []object{{"uri": pointsURI, "name": "points", "description": "The recorded states of the files, newest first", "mimeType": "application/json"}}}, nil
	case "resources/read":
		return t.points(ctx, r)
	}
	return nil, &rpc.Error{Code: rpc.CodeNoMethod, Message: fmt.Sprintf("there is no method %q", r.Method)}
}

// use carries out one call of a tool. What goes wrong in it is for the agent to read.
func (t *tools) use(ctx context.Context, r *rpc.Request) (any, error) {
	var p struct {
		Name      string
		Arguments arguments
	}
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	list := t.list()
	i := slices.IndexFunc(list, func(tool tool) bool { return tool.name == p.Name })
	if i < 0 {
		return nil, &rpc.Error{Code: rpc.CodeParams, Message: fmt.Sprintf("there is no tool %q", p.Name)}
	}
	if p.Arguments == nil {
		p.Arguments = arguments{}
	}
	err := list[i].check(p.Arguments)
	var out any
	if err == nil {
		out, err = list[i].do(ctx, p.Arguments)
	}
	if err != nil {
		return told(exit.Sentence(ctx, err), object{"isError": true}), nil
	}
	text, err := json.Marshal(out)
	return told(string(text), object{"structuredContent": json.RawMessage(text)}), err
}

// told is the result of a tool: its text, and what else there is.
func told(text string, more object) object {
	more["content"] = []object{{"type": "text", "text": text}}
	return more
}

// offer is what an agent is told of a tool.
func (t *tool) offer() object {
	properties, needed := object{}, []string{}
	for _, p := range t.params {
		schema := schemaOf(p.Type)
		schema["description"] = strings.NewReplacer("<", "", ">", "").Replace(p.Help)
		if properties[p.Name] = schema; p.Need {
			needed = append(needed, p.Name)
		}
	}
	return object{
		"name": t.name, "description": t.about,
		"inputSchema": object{"type": "object", "properties": properties, "required": needed, "additionalProperties": false},
		"annotations": object{"readOnlyHint": !t.destroys, "destructiveHint": t.destroys},
	}
}

// schemaOf is the JSON schema of a parameter.
func schemaOf(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int:
		return object{"type": "integer"}
	case reflect.Slice:
		return object{"type": "array", "items": schemaOf(t.Elem())}
	}
	return object{"type": "string"}
}

// check compares arguments with what the tool takes.
func (t *tool) check(args arguments) error {
	for _, p := range t.params {
		value, ok := args[p.Name]
		if !ok && p.Need {
			return fmt.Errorf("%s: %s is missing: %s", t.name, p.Name, p.Help)
		}
		text, _ := json.Marshal(value) // which was JSON
		if ok && (value == nil || json.Unmarshal(text, reflect.New(p.Type).Interface()) != nil) {
			return fmt.Errorf("%s: %s is %s, which is no %v", t.name, p.Name, text, schemaOf(p.Type)["type"])
		}
	}
	for name := range args {
		if !slices.ContainsFunc(t.params, func(p verb.Param) bool { return p.Name == name }) {
			return fmt.Errorf("%s: there is no %s", t.name, name)
		}
	}
	return nil
}

// points is the resource of the recorded states.
func (t *tools) points(ctx context.Context, r *rpc.Request) (any, error) {
	var p struct{ URI string }
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if p.URI != pointsURI {
		return nil, &rpc.Error{Code: -32002, Message: fmt.Sprintf("there is no resource %q", p.URI)}
	}
	list, err := t.call(ctx, "list", object{"limit": 100})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(list)
	return object{"contents": []object{{"uri": p.URI, "mimeType": "application/json", "text": string(text)}}}, err
}
