package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-82afce7a/rewind/cmd/internal/verb"
)

// What tests exchange with `rewind serve` is held against docs/protocol.schema.json, by
// another hand than the one that makes it.

// A contract is that schema, and with no fields but those that it names.
type contract struct{ open, closed parts }

// Parts of the schema, each compiled when it is asked for first.
type parts struct {
	*jsonschema.Compiler
	*sync.Mutex
}

func newParts() parts { return parts{jsonschema.NewCompiler(), new(sync.Mutex)} }

var agreed = sync.OnceValues(func() (*contract, error) {
	data, err := os.ReadFile(schemaDoc)
	if err != nil {
		return nil, err
	}
	c := &contract{newParts(), newParts()}
	for i, of := range []parts{c.open, c.closed} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if i == 1 {
			for _, def := range doc.(map[string]any)["$defs"].(map[string]any) {
				closeObject(def.(map[string]any))
			}
		}
		if err := of.AddResource("protocol", doc); err != nil {
			return nil, err
		}
	}
	return c, nil
})

// closeObject takes away that there may be fields without a name.
func closeObject(schema map[string]any) {
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return
	}
	if schema["additionalProperties"] == nil {
		schema["additionalProperties"] = false
	}
	for _, p := range properties {
		closeObject(p.(map[string]any))
	}
}

// holds says what of a message is not as a part of the schema says.
func holds(of parts, part string, message []byte) error {
	of.Lock()
	schema, err := of.Compile("protocol" + part)
	of.Unlock()
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(message))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func def(name string) string { return "#/$defs/" + name }

// agrees checks a line of the server, and the request that it answers if it gives a result.
func (c *contract) agrees(line []byte, m served1, request []byte) error {
	if m.Method != "" {
		return holds(c.closed, def(m.Method), line)
	}
	if err := holds(c.closed, def("answer"), line); err != nil || m.Error != nil {
		return err
	}
	var asked struct{ Method string }
	if err := json.Unmarshal(request, &asked); err != nil {
		return err
	}
	if err := holds(c.open, def("request"), bytes.Replace(request, []byte(`"params":null`), []byte(`"params":{}`), 1)); err != nil {
		return fmt.Errorf("%s\nwas carried out: %w", request, err)
	}
	return holds(c.closed, def(asked.Method+".result"), m.Result)
}

// checked holds what was exchanged last against the schema.
func (s *served) checked(line []byte, m served1) {
	s.t.Helper()
	if s.cmd.Args[1] != "serve" {
		return // the Model Context Protocol
	}
	c, err := agreed()
	if err == nil {
		s.mu.Lock()
		request := s.asked[string(m.ID)]
		s.mu.Unlock()
		err = c.agrees(line, m, request)
	}
	if err != nil {
		s.t.Fatalf("%s\nis not as %s says: %v", line, schemaDoc, err)
	}
}

func TestTheSchemaRefusesWhatTheServerRefuses(t *testing.T) {
	c, err := agreed()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct{ part, message string }{
		{"request", `{"jsonrpc":"2.0","id":1,"method":"nothing"}`},
		{"request", `{"jsonrpc":"2.0","id":null,"method":"status"}`},
		{"request", `{"id":1,"method":"status"}`},
		{"request", `{"jsonrpc":"2.0","id":1,"method":"status","params":[]}`},
		{"request", `{"jsonrpc":"2.0","id":1,"method":"restore"}`},
		{"request", `{"jsonrpc":"2.0","id":1,"method":"restore","params":{"paths":["a"]}}`},
		{"request", `{"jsonrpc":"2.0","id":1,"method":"restore","params":{"id":"@","paths":"a"}}`},
		{"request", `{"jsonrpc":"2.0","id":1,"method":"list","params":{"limit":"many"}}`},
		{"cancel", `{"jsonrpc":"2.0","method":"cancel","params":{}}`},
		{"answer", `{"jsonrpc":"2.0","id":1}`},
		{"answer", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}`},
		{"answer", `{"jsonrpc":"2.0","id":1,"error":{"message":"x"}}`},
		{"snapshot.result", `{"tree":"x","reused":true,"skipped":null,"unexpected":[],"bridged":true,"elapsed_ms":1}`},
		{"restore.result", `{"id":"x","written":1,"deleted":0,"kept":[],"elapsed_ms":1}`},
	} {
		if holds(c.open, def(one.part), []byte(one.message)) == nil {
			t.Errorf("%s: %s", one.part, one.message)
		}
	}
	if err := holds(c.open, def("request"), []byte(`{"jsonrpc":"2.0","id":"a","method":"restore","params":{"id":"@","newer":1}}`)); err != nil {
		t.Errorf("unknown parameters are ignored: %v", err)
	}
	for _, line := range []string{`{"jsonrpc":"2.0","id":1,"method":"status"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, `{"jsonrpc":"2.0","method":"warning","params":{"message":"x"}}`} {
		if err := holds(c.open, "", []byte(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestEachMethodIsHeldAgainstTheSchema(t *testing.T) {
	var all []byte
	for _, pattern := range []string{"testdata/*.txtar", "*_test.go"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, text...)
		}
	}
	for _, v := range append(verb.Verbs(), verb.Handshake) {
		if !regexp.MustCompile(`(?m)^asks ` + v.Name + `\b|must\("` + v.Name + `"`).Match(all) {
			t.Errorf("no test asks for %s and gets a result", v.Name)
		}
	}
}
