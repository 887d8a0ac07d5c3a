package command

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
)

// An agentClient is an agent that talks to rewind over the Model Context Protocol.
type agentClient struct {
	*mcp.ClientSession
	t   *testing.T
	dir string
}

// newAgentClient starts the program itself, with these arguments behind mcp.
func newAgentClient(t *testing.T, args ...string) *agentClient {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	dir := filepath.Join(base, "project")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(base, "home"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(base, "state"))
	cmd := exec.Command(self)
	cmd.Args, cmd.Dir = append([]string{"rewind", "mcp"}, args...), dir
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &agentClient{session, t, dir}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return c
}

func (c *agentClient) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// snapshot records the files by the command line, and returns the id.
func (c *agentClient) snapshot() string {
	c.t.Helper()
	var out strings.Builder
	if code := run(context.Background(), []string{"-C", c.dir, "snapshot", "--json"}, cli.Stdio{In: strings.NewReader(""), Out: &out, Err: os.Stderr}); code != 0 {
		c.t.Fatal(out.String())
	}
	var r struct{ ID string }
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		c.t.Fatal(err)
	}
	return r.ID
}

// use calls a tool, and returns what the agent reads.
func (c *agentClient) use(tool string, args map[string]any) (text string, failed bool) {
	c.t.Helper()
	r, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		c.t.Fatalf("%s: %v", tool, err)
	}
	for _, part := range r.Content {
		if t, ok := part.(*mcp.TextContent); ok {
			text += t.Text
		}
	}
	return text, r.IsError
}

func (c *agentClient) want(tool string, args map[string]any, has ...string) string {
	c.t.Helper()
	text, failed := c.use(tool, args)
	if failed {
		c.t.Fatalf("%s: %s", tool, text)
	}
	for _, part := range has {
		if !strings.Contains(text, part) {
			c.t.Errorf("%s lacks %s: %s", tool, part, text)
		}
	}
	return text
}

func (c *agentClient) plan(tool string, args map[string]any) string {
	c.t.Helper()
	var p struct{ Plan string }
	if err := json.Unmarshal([]byte(c.want(tool, args)), &p); err != nil || p.Plan == "" {
		c.t.Fatalf("no plan: %v", err)
	}
	return p.Plan
}

func TestAnAgentLooksUpItsMistakeOverMCPAndTakesItBack(t *testing.T) {
	c := newAgentClient(t, "--allow-restore")
	c.write("notes", "one\n")
	first := c.snapshot()
	c.write("notes", "two\n")
	c.write("made", "by mistake\n")
	second := c.snapshot()

	c.want("list", nil, first, second)
	c.want("show", map[string]any{"id": second}, `"made"`, `"notes"`)
	c.want("diff", map[string]any{"from": first, "patch": true}, `-one`, `+two`)
	c.want("read", map[string]any{"id": first, "path": "notes"}, `one\n`, `"truncated":false`)
	c.want("log", map[string]any{"path": "made"}, second)
	if text := c.want("log", map[string]any{"path": "made"}); strings.Contains(text, `"snapshot":{"id":"`+first) {
		t.Errorf("made changed in the first state, too: %s", text)
	}
	c.want("log", map[string]any{"path": "notes"}, first, second)
	c.want("blame", map[string]any{"path": "notes"}, `"line":1,"text":"two","snapshot":"`+second)
	c.want("blame", map[string]any{"path": "/notes", "id": first}, `"text":"one","snapshot":"`+first+`","older":true`)
	c.write("long", strings.Repeat("line\n", 500))
	if text := c.want("blame", map[string]any{"path": "long", "first": 100}, `"line":100,`, `"line":299,`); strings.Contains(text, `"line":300,`) {
		t.Error("all of a long file is told at once")
	}
	if text, failed := c.use("blame", map[string]any{"path": "never"}); !failed || !strings.Contains(text, "never") {
		t.Errorf("a file that was never there: %s", text)
	}
	if err := os.Remove(filepath.Join(c.dir, "long")); err != nil {
		t.Fatal(err)
	}
	r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "rewind://points"})
	if err != nil || len(r.Contents) != 1 || !strings.Contains(r.Contents[0].Text, first) {
		t.Errorf("the resource is %+v, %v", r, err)
	}

	plan := c.plan("plan_restore", map[string]any{"id": first})
	if _, err := os.Stat(filepath.Join(c.dir, "made")); err != nil {
		t.Fatal("a plan changed something")
	}
	c.want("restore", map[string]any{"plan": plan}, `"written":1`, `"deleted":1`)
	if text, _ := os.ReadFile(filepath.Join(c.dir, "notes")); string(text) != "one\n" {
		t.Errorf("notes is %q", text)
	}
	if text, failed := c.use("restore", map[string]any{"plan": plan}); !failed || !strings.Contains(text, "no plan") {
		t.Errorf("a plan was carried out twice: %s", text)
	}
	c.want("restore", map[string]any{"plan": c.plan("plan_undo", nil)})
	if text, _ := os.ReadFile(filepath.Join(c.dir, "made")); string(text) != "by mistake\n" {
		t.Errorf("made is %q", text)
	}

	// What would do something else than was shown is not done.
	plan = c.plan("plan_restore", map[string]any{"id": first})
	c.write("more", "since then\n")
	if text, failed := c.use("restore", map[string]any{"plan": plan}); !failed || !strings.Contains(text, "changed since") {
		t.Errorf("%s", text)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "more")); err != nil {
		t.Error("what was made since then is gone")
	}
}

func TestAnAgentRestoresNothingThatTheUserHasNotAllowed(t *testing.T) {
	c := newAgentClient(t)
	c.write("notes", "one\n")
	first := c.snapshot()
	c.write("notes", "two\n")
	plan := c.plan("plan_restore", map[string]any{"id": first})
	if text, failed := c.use("restore", map[string]any{"plan": plan}); !failed || !strings.Contains(text, "not allowed") {
		t.Errorf("%s", text)
	}
	if text, _ := os.ReadFile(filepath.Join(c.dir, "notes")); string(text) != "two\n" {
		t.Errorf("notes is %q", text)
	}
	for _, args := range []map[string]any{{"id": "nothing"}, {}, {"id": 7}} {
		if r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "show", Arguments: args}); err == nil && !r.IsError {
			t.Errorf("show %v succeeded", args)
		}
	}
	c.write("bytes", "\xff\xfe\x00")
	if text, failed := c.use("read", map[string]any{"id": c.snapshot(), "path": "bytes"}); !failed || !strings.Contains(text, "not text") {
		t.Errorf("%s", text)
	}
}

func TestAnAgentIsToldThatBytesAreNoText(t *testing.T) {
	c := newAgentClient(t)
	c.write("bytes", "\xff\xfe\xff")
	c.write("end", "almost text\xff")
	c.write("long", strings.Repeat("x", 400_000-1)+"é")
	c.write("longbytes", strings.Repeat("\xff", 400_000+1))
	id := c.snapshot()
	for _, name := range []string{"bytes", "end", "longbytes"} {
		if text, failed := c.use("read", map[string]any{"id": id, "path": name}); !failed || !strings.Contains(text, "is not text") {
			t.Errorf("%s reads as %.80s", name, text)
		}
	}
	c.want("read", map[string]any{"id": id, "path": "long"}, `xx"`, `"truncated":true`) // not half of the last letter
}
