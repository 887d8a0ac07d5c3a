// Command page makes a page of what `rewind bench --json` has written:
//
//	rewind bench --json | go run -C bench/page . > page.html
//	rewind bench --workloads size --json | go run -C bench/page . -plot size > plot.svg
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
	"math"
	"os"
	"strings"

	"github.com/seed-82afce7a/rewind/bench/report"
)

func main() {
	alone := flag.String("plot", "", "write one plot alone, as SVG: \"size\", or of what a `contender` takes for each verb of the workloads watched-…")
	tables := flag.Bool("tables", false, "write the tables of the workloads watched-… as text")
	flag.Parse()
	write := func() error { return run(os.Stdin, os.Stdout, *alone) }
	if *tables {
		write = func() error { return printTables(os.Stdin, os.Stdout) }
	}
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

// read reads a report.
func read(in io.Reader) (*report.Report, error) {
	var r report.Report
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("this is not what rewind bench --json writes: %w", err)
	}
	return &r, nil
}

// printTables reads a report and prints what each verb takes by whom.
func printTables(in io.Reader, out io.Writer) error {
	r, err := read(in)
	if err != nil {
		return err
	}
	for _, t := range r.Verbs() {
		if err := t.Print(out); err != nil {
			return err
		}
	}
	return nil
}

// run reads a report and writes the page of it, or one plot alone.
func run(in io.Reader, out io.Writer, alone string) error {
	r, err := read(in)
	if err != nil {
		return err
	}
	if alone == "" {
		return page.Execute(out, &shown{r})
	}
	plot := sizes(r)
	if alone != "size" {
		plot = verbs(r, alone)
	}
	if plot == "" {
		return errors.New("what the plot shows was not measured with several numbers of files")
	}
	_, err = io.WriteString(out, strings.Replace(string(plot), ">", ` xmlns="http://www.w3.org/2000/svg"><style>`+colours+"</style>", 1))
	return err
}

// shown is a report as the page shows it.
type shown struct{ *report.Report }

// A figure is one plot.
type figure struct {
	Title string
	Plot  template.HTML // "": it was not measured
}

// Figures are the plots of the page.
func (s *shown) Figures() []figure {
	all := []figure{{title, sizes(s.Report)}}
	for _, name := range []string{"rewind serve, watched", "rewind, beside rewind watch"} {
		if p := verbs(s.Report, name); p != "" {
			all = append(all, figure{verbsTitle + name, p})
		}
	}
	return all
}

var (
	//go:embed page.html
	pageText string
	//go:embed colours.css
	colours string
)

// page shows a report.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"ms": report.Milliseconds, "digits": report.Digits, "thousands": report.Thousands, "legend": func() [][2]string { return report.Legend }, "bar": barOf,
	"mib":     func(n int64) string { return fmt.Sprintf("%.0f", float64(n)/(1<<20)) },
	"colours": func() template.CSS { return template.CSS(colours) },
	"colour": func(name string) shade {
		if l, ok := looks[name]; ok {
			return l.colour
		} else if strings.HasPrefix(name, "rewind") {
			return ours
		}
		return other
	},
}).Parse(pageText))

// A bar is where a median and its interval lie between all of a table, in hundredths
// of the way.
type bar struct{ From, Wide, At float64 }

// barOf is that of a line, on a logarithmic scale.
func barOf(r report.Result, l report.Line) bar {
	low, high := math.Inf(1), 0.0
	for _, other := range r.Lines {
		if len(other.Seconds) > 0 {
			low, high = min(low, other.Time.Low), max(high, other.Time.High)
		}
	}
	at := func(v float64) float64 { return 96 * math.Log(v/low) / max(math.Log(high/low), 1e-9) }
	return bar{at(l.Time.Low), at(l.Time.High) - at(l.Time.Low) + 0.5, at(l.Time.Median)}
}
