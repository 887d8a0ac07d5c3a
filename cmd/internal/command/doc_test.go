package command

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
)

var update = flag.Bool("update", false, "write the reference part of docs/cli.md anew")

const (
	cliDoc    = "../../../docs/cli.md"
	docMarker = "<!-- What follows is written by `go test ./cmd/internal/command -run Reference -update`. -->\n"
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
	want := reference(newRoot(&cli.App{}))
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
	for _, code := range []int{exit.Done, exit.Failed, exit.BadUsage, exit.Unknown, exit.Damaged, exit.Partial} {
		if !strings.Contains(string(doc), fmt.Sprintf("\n| %d |", code)) {
			t.Errorf("exit code %d is not in the table of %s", code, cliDoc)
		}
	}
}

// Where somebody is told what to run.
var told = []*regexp.Regexp{
	regexp.MustCompile("`(rewind [^`\n]+)`"),              // in a text
	regexp.MustCompile(`(?m)^(?:\$ )?(rewind [a-z-].*)$`), // in a block
	regexp.MustCompile(`\\"(rewind [a-z-][^"\\]*)\\"`),    // in a message
	regexp.MustCompile(`BENCH='([^']+)'`),
}

func TestWhatTheDocsAndTheMessagesTellToRunExists(t *testing.T) {
	places := []string{"../../../Makefile"}
	for _, pattern := range []string{"../../../*.md", "../../../docs/*.md", "../../../extension/pi/*.md", "../../../engine/*.go", "../../../engine/internal/*/*.go", "../../../gitbridge/*.go", "../../../gitbridge/*/*.go", "../*/*.go", "../../../internal/*/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		places = append(places, found...)
	}
	all := 0
	for _, place := range places {
		text, err := os.ReadFile(place)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(place, "_test.go") || strings.HasSuffix(place, "CHANGELOG.md") {
			continue
		}
		for _, where := range told {
			for _, m := range where.FindAllStringSubmatch(string(text), -1) {
				line := strings.TrimPrefix(m[1], "rewind ")
				if strings.HasPrefix(m[0], "BENCH") {
					line = "bench " + line
				}
				all++
				if why := unknown(line); why != "" {
					t.Errorf("%s: %q: %s", place, m[1], why)
				}
			}
		}
	}
	if all < 200 {
		t.Errorf("only %d commands were found", all)
	}
}

// unknown says what of a command line the program does not have.
func unknown(line string) string {
	line, _, _ = strings.Cut(line, " #")
	var args []string
	for _, word := range strings.Fields(line) {
		if word == "--" || strings.ContainsAny(word[:1], "|>;&<(") {
			break
		}
		args = append(args, strings.Trim(word, "'\",.;:[]()…"))
	}
	c, _, err := newRoot(&cli.App{}).Find(args)
	if err != nil {
		return err.Error()
	}
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		switch long := strings.TrimPrefix(name, "--"); {
		case long != name && long != "" && c.Flag(long) == nil && long != "help" && long != "version":
			return "there is no " + name
		case long == name && len(name) == 2 && name[0] == '-' && c.Flags().ShorthandLookup(name[1:]) == nil && c.InheritedFlags().ShorthandLookup(name[1:]) == nil && name != "-h":
			return "there is no " + name
		case long == name && len(name) > 2 && name[0] == '-' && name[1] > '9':
			return name + " is neither one letter nor a word"
		}
	}
	return ""
}
