// Command pages writes what a release has beside the program: the manual page, and what
// makes shells complete its commands. The program itself has no part of this.
package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-82afce7a/rewind/cmd/internal/command"
)

func main() {
	log.SetFlags(0)
	out := flag.String("out", "", "the directory to write to")
	date := flag.String("date", "", "the day that the manual page says, of the commit")
	flag.Parse()
	if *out == "" {
		log.Fatal("pages: -out is missing")
	}
	root := command.Tree()
	for name, write := range map[string]func(io.Writer) error{
		"rewind.1":    func(w io.Writer) error { return manual(w, root, *date) },
		"rewind.bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"_rewind":     root.GenZshCompletion,
		"rewind.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
		"rewind.ps1":  root.GenPowerShellCompletionWithDesc,
	} {
		var b bytes.Buffer
		err := write(&b)
		if err == nil {
			err = os.MkdirAll(*out, 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(*out, name), b.Bytes(), 0o644)
		}
		if err != nil {
			log.Fatalf("pages: %s: %v", name, err)
		}
	}
}

// manual writes the page. Texts of the help are laid out by hand, and stay so: what makes
// pages out of Markdown would lose their tables and what stands in angle brackets.
func manual(w io.Writer, root *cobra.Command, date string) error {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH REWIND 1 %q\n.SH NAME\nrewind \\- %s\n.SH SYNOPSIS\n.B rewind\n[flags] command ...\n.SH DESCRIPTION\n", date, roff(root.Short))
	laidOut(&b, root.Long)
	b.WriteString(".SH FLAGS BEFORE A COMMAND\n")
	flags(&b, root.PersistentFlags())
	b.WriteString(".SH COMMANDS\n")
	for _, c := range root.Commands() {
		commands(&b, c)
	}
	b.WriteString(".SH SEE ALSO\n.BR git (1)\n.PP\nhttps://github.com/seed-82afce7a/rewind/blob/main/docs/cli.md has the settings and the exit codes, docs/json.md beside it the objects of \\-\\-json.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// commands writes a command and those below it.
func commands(b *strings.Builder, c *cobra.Command) {
	if c.Hidden || c.Name() == "help" {
		return
	}
	fmt.Fprintf(b, ".SS %s\n", roff(strings.TrimSuffix(c.UseLine(), " [flags]")))
	laidOut(b, cmp.Or(c.Long, c.Short))
	flags(b, c.LocalFlags())
	for _, below := range c.Commands() {
		commands(b, below)
	}
}

func flags(b *strings.Builder, set *pflag.FlagSet) {
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, help := pflag.UnquoteUsage(f)
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(b, "\\fB\\-%s\\fR, ", f.Shorthand)
		}
		fmt.Fprintf(b, "\\fB\\-\\-%s\\fR", roff(f.Name))
		if value != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(value))
		}
		fmt.Fprintf(b, "\n%s\n", roff(help))
	})
}

// laidOut writes a text as it is.
func laidOut(b *strings.Builder, text string) {
	fmt.Fprintf(b, ".nf\n%s\n.fi\n", roff(strings.TrimSpace(text)))
}

// roff takes from a text what troff would obey.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
