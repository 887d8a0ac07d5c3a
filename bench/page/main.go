// Command page makes a page of what `rewind bench --json` has written:
//
//	rewind bench --json | go run -C bench/page . > page.html
//	rewind bench --workloads size --json | go run -C bench/page . -plot > plot.svg
//
// The page needs nothing else, and is light or dark as its reader's pages are. The
// program is a module of its own, so that rewind links none of what it needs.
// Package bench says what the figures mean.
package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io"
	"os"
	"strings"
)

func main() {
	alone := flag.Bool("plot", false, "write the plot of the workload size alone, as SVG")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *alone); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

// run reads a report and writes the page of it, or one plot.
func run(in io.Reader, out io.Writer, alone bool) error {
	var r report
	d := json.NewDecoder(in)
	d.DisallowUnknownFields() // a field that has another name now would be missing in silence
	if err := d.Decode(&r); err != nil {
		return fmt.Errorf("this is not what rewind bench --json writes: %w", err)
	}
	if !alone {
		return page.Execute(out, &r)
	}
	p := r.sizes()
	if p.SVG == "" {
		return errors.New("the plot shows the workload size, which was not measured with several numbers of files")
	}
	_, err := io.WriteString(out, strings.Replace(string(p.SVG), ">", ` xmlns="http://www.w3.org/2000/svg"><style>`+colours+"</style>", 1))
	return err
}

var (
	//go:embed page.html
	pageText string
	//go:embed colours.css
	colours string
)

// page shows a report.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"ms": ms, "digits": digits, "thousands": thousands, "duration": duration,
	"mib":     func(n int64) string { return fmt.Sprintf("%.0f", float64(n)/(1<<20)) },
	"gib":     func(n int64) string { return fmt.Sprintf("%.0f GiB", float64(n)/(1<<30)) },
	"colours": func() template.CSS { return template.CSS(colours) },
	"colour":  func(name string) shade { return lookOf(name).colour },
}).Parse(pageText))
