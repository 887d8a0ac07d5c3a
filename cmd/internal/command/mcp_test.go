package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What the tools do is told by testdata/mcp.txtar; here another's client finds them.
func TestAClientOfTheModelContextProtocolFindsAndUsesTools(t *testing.T) {
	g := newGround(t)
	id := g.json("snapshot")["id"].(string)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	c, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: g.command("mcp", "--allow-restore")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 9 {
		t.Errorf("tools %+v, %v", list, err)
	}
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "show", Arguments: map[string]any{"id": "@"}})
	if err != nil || r.IsError {
		t.Fatalf("%+v, %v", r, err)
	}
	if text, err := json.Marshal(r.StructuredContent); err != nil || !strings.Contains(string(text), id) {
		t.Errorf("show says %s, %v", text, err)
	}
	about, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "rewind://points"})
	if err != nil || len(about.Contents) != 1 || !strings.Contains(about.Contents[0].Text, id) {
		t.Errorf("the resource is %+v, %v", about, err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
