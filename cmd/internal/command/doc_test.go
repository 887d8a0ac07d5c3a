package command

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/verb"
	"github.com/seed-82afce7a/rewind/engine"
)

var update = flag.Bool("update", false, "write the parts of the docs anew that the program tells")

const (
	cliDoc      = "../../../docs/cli.md"
	commandsDoc = "../../../docs/commands.md"
	jsonDoc     = "../../../docs/json.md"
	protocolDoc = "../../../docs/protocol.md"
)

// written has the parts of the docs that are written by this test: between a line that
// begins such a part, and one that ends it.
func written(t *testing.T) map[string]map[string]string {
	return map[string]map[string]string{
		cliDoc:      {"settings": settingsTable(t)},
		commandsDoc: {"verbs": reference(newRoot(&cli.App{}))},
		jsonDoc:     {"objects": objects(t)},
		protocolDoc: {"methods": methods(), "parameters": parameters()},
	}
}

// reference is the help of every command. What flags of the same name and meaning have
// in common is said once.
func reference(root *cobra.Command) string {
	var b strings.Builder
	shared := common(root)
	b.WriteString(listed(shared) + "\n")
	for _, c := range documented(root) {
		fmt.Fprintf(&b, "### rewind %s\n\n%s.\n\n```\n%s\n```\n\n", c.Name(), c.Short, strings.TrimSuffix(c.UseLine(), " [flags]"))
		own, also := pflag.NewFlagSet("", pflag.ContinueOnError), []string{}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			switch same := shared.Lookup(f.Name); {
			case f.Name == "help" || f.Hidden || f == root.PersistentFlags().Lookup(f.Name):
			case same != nil && same.Usage == f.Usage:
				also = append(also, "`--"+f.Name+"`")
			default:
				own.AddFlag(f)
			}
		})
		for _, sub := range c.Commands() {
			fmt.Fprintf(&b, "- `%s`: %s\n", sub.Name(), sub.Short)
		}
		b.WriteString(listed(own))
		if len(also) > 0 {
			fmt.Fprintf(&b, "- %s\n", strings.Join(also, ", "))
		}
		if len(c.Aliases) > 0 {
			fmt.Fprintf(&b, "\nAlso called `%s`.\n", strings.Join(c.Aliases, "`, `"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// listed is a list of flags: each with its value, and what it means.
func listed(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		value, usage := pflag.UnquoteUsage(f)
		name := "`--" + f.Name
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		switch {
		case f.NoOptDefVal != "" && value != "":
			name += "[=" + f.NoOptDefVal + "]"
		case value != "":
			name += " " + strings.ToUpper(value)
		}
		if !slices.Contains([]string{"", "false", "0", "0s", "[]", "."}, f.DefValue) {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(&b, "- %s`: %s\n", name, usage)
	})
	return b.String()
}

// settingsTable tells of every setting.
func settingsTable(t *testing.T) string {
	e, err := engine.Open(t.Context(), t.TempDir(), &engine.Options{NoStore: true, Getenv: func(name string) string {
		return map[string]string{"HOME": t.TempDir()}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| setting | environment | values | default | meaning |\n|---|---|---|---|---|\n")
	for _, told := range e.Settings() {
		values, otherwise := strings.Join(told.Words, ", "), ""
		if told.Many {
			values = "many"
		} else if values == "" {
			values = "a number"
		}
		if len(told.Values) > 0 {
			otherwise = "`" + told.Values[0].Text + "`"
		}
		if told.Name == "rewind.gitMaxFileSize" {
			otherwise = "`16m`" // in a repository
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n", told.Name, told.Variable, values, otherwise, told.Means)
	}
	return b.String()
}

// documented are the commands that the reference has.
func documented(root *cobra.Command) (list []*cobra.Command) {
	for _, c := range root.Commands() {
		if !c.Hidden && c.Name() != "help" && c.Name() != "completion" {
			list = append(list, c)
		}
	}
	return list
}

// common are the flags that mean the same in three commands or more, and those of all.
func common(root *cobra.Command) *pflag.FlagSet {
	of := map[string]int{}
	out := pflag.NewFlagSet("", pflag.ContinueOnError)
	out.AddFlagSet(root.PersistentFlags())
	for _, c := range documented(root) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if of[f.Name+f.Usage]++; of[f.Name+f.Usage] == 3 && out.Lookup(f.Name) == nil && f.Name != "help" {
				out.AddFlag(f)
			}
		})
	}
	return out
}

// methods is the table of the protocol's methods.
func methods() string {
	var b strings.Builder
	b.WriteString("| method | parameters | result |\n|---|---|---|\n")
	for _, v := range append([]verb.Verb{verb.Handshake}, verb.Verbs()...) {
		var names []string
		for _, p := range v.Params() {
			name := "`" + p.Name + "`"
			if !p.Need {
				name = "`" + p.Name + "?`"
			}
			names = append(names, name)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", v.Name, strings.Join(names, ", "), v.Result)
	}
	return b.String()
}

// parameters is the table of what they mean.
func parameters() string {
	type meaning struct{ name, kind, help string }
	of := map[meaning][]string{}
	var order []meaning
	for _, v := range append([]verb.Verb{verb.Handshake}, verb.Verbs()...) {
		for _, p := range v.Params() {
			m := meaning{p.Name, p.Type.String(), strings.NewReplacer("<", "", ">", "").Replace(p.Help)}
			if of[m] == nil {
				order = append(order, m)
			}
			of[m] = append(of[m], "`"+v.Name+"`")
		}
	}
	slices.SortStableFunc(order, func(a, b meaning) int { return strings.Compare(a.name, b.name) })
	var b strings.Builder
	b.WriteString("| parameter | type | of | meaning |\n|---|---|---|---|\n")
	for _, m := range order {
		kind := map[string]string{"bool": "true", "int": "number", "float64": "number", "[]string": "list of texts"}[m.kind]
		if kind == "" {
			kind = "text"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, kind, strings.Join(of[m], ", "), m.help)
	}
	return b.String()
}

func TestTheReferenceInTheDocsIsWhatTheProgramSays(t *testing.T) {
	for file, parts := range written(t) {
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(doc)
		for name, want := range parts {
			begin := fmt.Sprintf("<!-- %s: written by `go test ./cmd/internal/command -run Reference -update` -->\n\n", name)
			end := fmt.Sprintf("\n<!-- end of %s -->\n", name)
			head, rest, ok := strings.Cut(text, begin)
			_, tail, ended := strings.Cut(rest, end)
			if !ok || !ended {
				t.Fatalf("%s has no lines %q and %q", file, begin, end)
			}
			text = head + begin + strings.TrimSpace(want) + "\n" + end + tail
		}
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if text != string(doc) {
			t.Errorf("%s does not say what the program says; run the command in its comments", file)
		}
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
