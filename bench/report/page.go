package report

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"sync"
)

//go:embed page.html
var pageText string

// page is filled with a pageData. It is made when it is wanted: this package is in a
// program that is started at each turn.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"ms": ms, "thousands": thousands, "digits": digits, "duration": duration,
		"svg": func(s string) template.HTML { return template.HTML(s) }, // made in this package, from escaped text
		"css": func() template.CSS { return template.CSS(plotStyle) },
	}).Parse(pageText))
})

// A pageData is what the page shows.
type pageData struct {
	*Report
	Date   string
	Heads  []head
	Plots  []shown
	Tables []table
	Legend [][2]string
}

// A shown is a plot as the page has it.
type shown struct{ Title, About, Picture, Needs string }

// A head is one of the few figures on top.
type head struct{ Name, Figure, About string }

// A table is a result as the page has it.
type table struct {
	Result
	Rows  []row
	Notes []string
}

// A row is a line as the page has it.
type row struct {
	Line
	Median, Low, High      string
	RatioOne, Between      string
	Peak, Disk, Range, Tag string
	Colour                 int
}

// HTML writes the report as one page that needs nothing else.
func (r *Report) HTML(w io.Writer) error {
	data := pageData{Report: r, Date: r.Time.Format("2 January 2006"), Legend: Legend, Heads: r.heads()}
	for _, p := range []plot{r.sizes(false), r.turns(), r.growth(), r.bytes(), r.memory(), r.restores()} {
		data.Plots = append(data.Plots, shown{p.title, p.about, p.picture, p.needs})
	}
	for i := range r.Results {
		data.Tables = append(data.Tables, r.Results[i].table())
	}
	return page().Execute(w, data)
}

// Plot writes the plot of latency over the number of files as a picture of its
// own: light or dark as the reader's page is.
func (r *Report) Plot(w io.Writer) error {
	_, err := io.WriteString(w, r.sizes(true).picture)
	return err
}

// table gives a result the form of the page.
func (r *Result) table() table {
	t := table{Result: *r}
	var all []float64
	for _, l := range r.Lines {
		if len(l.Seconds) > 0 {
			all = append(all, l.Time.Low, l.Time.High)
		}
	}
	for i, l := range r.Lines {
		t.Notes = append(t.Notes, l.notes()...)
		if len(l.Seconds) == 0 {
			continue
		}
		one, between := l.ratio(i == 0)
		t.Rows = append(t.Rows, row{Line: l, Median: ms(l.Time.Median), Low: ms(l.Time.Low), High: ms(l.Time.High), RatioOne: one, Between: between,
			Peak: l.peak(), Disk: l.disk(), Range: l.rangePicture(around(all, 2, 118)), Colour: lookOf(l.Contender).colour})
	}
	return t
}

// rangePicture shows a median and its interval between all of a table.
func (l *Line) rangePicture(x scale) string {
	c := &canvas{width: 120, height: 16}
	c.add(`<path class="grid" d="M2 8H118"/>`)
	c.add(`<g class="c%d"><path class="mark" d="M%.1f 8H%.1f"/><circle class="dot" cx="%.1f" cy="8" r="3.4"/></g>`, lookOf(l.Contender).colour,
		x.at(l.Time.Low), max(x.at(l.Time.High), x.at(l.Time.Low)+0.5), x.at(l.Time.Median))
	return c.svg(l.Contender+": "+duration(l.Time.Median), false)
}

// heads are the figures of a turn with one edited file that are looked for first:
// ours, the quickest other that is exact, and git's look.
func (r *Report) heads() (list []head) {
	res := r.last("edit-1")
	if res == nil {
		return nil
	}
	add := func(l Line, about string) {
		list = append(list, head{l.Contender, duration(l.Time.Median), about})
	}
	var peers []Line
	for _, l := range res.Lines {
		switch {
		case len(l.Seconds) == 0:
		case l.Contender == "rewind":
			add(l, "a new process, which looks at every file")
		case l.Contender == "rewind serve, watched":
			add(l, "a process that lives on and is told of changes")
		case l.Exact == Exact && lookOf(l.Contender).colour != 0:
			peers = append(peers, l)
		}
	}
	if len(peers) > 0 {
		add(slices.MinFunc(peers, func(a, b Line) int { return compare(a.Time.Median, b.Time.Median) }), "the quickest of the others that was exact")
	}
	for _, l := range res.Lines {
		if l.Contender == "git status" && len(l.Seconds) > 0 {
			add(l, "only looks")
		}
	}
	return list
}
