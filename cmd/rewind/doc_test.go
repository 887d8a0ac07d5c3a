package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write the reference part of docs/cli.md anew")

const (
	cliDoc    = "../../docs/cli.md"
	docMarker = "<!-- What follows is written by `go test ./cmd/rewind -run Reference -update`. -->\n"
)

// reference is the help of every command, as docs/cli.md has it.
func reference(root *cobra.Command) string {
	var b bytes.Buffer
	b.WriteString(docMarker)
	for _, c := range root.Commands() {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		fmt.Fprintf(&b, "\n### rewind %s\n\n%s.\n\n```\n%s```\n", c.Name(), c.Short, c.UsageString())
	}
	return b.String()
}

func TestTheReferenceInTheDocsIsWhatTheProgramSays(t *testing.T) {
	doc, err := os.ReadFile(cliDoc)
	if err != nil {
		t.Fatal(err)
	}
	head, tail, ok := strings.Cut(string(doc), docMarker)
	if !ok {
		t.Fatalf("%s has no line %q", cliDoc, strings.TrimSpace(docMarker))
	}
	want := reference(newRoot(&app{}))
	if *update {
		if err := os.WriteFile(cliDoc, []byte(head+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if docMarker+tail != want {
		t.Errorf("%s does not say what the program's help says; run the command in its comment", cliDoc)
	}
}

func TestEveryExitCodeIsInTheDocs(t *testing.T) {
	doc, err := os.ReadFile(cliDoc)
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []int{exitDone, exitFailed, exitUsage, exitUnknown, exitDamaged, exitPartial} {
		if !strings.Contains(string(doc), fmt.Sprintf("\n| %d |", code)) {
			t.Errorf("exit code %d is not in the table of %s", code, cliDoc)
		}
	}
}
