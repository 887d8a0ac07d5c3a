package main

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/seed-82afce7a/rewind/bench/report"
)

// The titles say what a plot shows.
const (
	title      = "One edited file, over the number of files"
	verbsTitle = "Two edited files, over the number of files: "
)

// A look is how a contender is drawn.
type look struct {
	colour shade
	dashes []vg.Length
}

// The colours by their numbers: --c0 and so on in colours.css.
const ours, other shade = 0, 8

var (
	broken = []vg.Length{5, 3}
	dotted = []vg.Length{1.5, 2.5}
)

// looks are those of the contenders that the plot shows. Beside them variants of the
// same program would hide one another; they stand in the tables.
var looks = map[string]look{
	"rewind": {ours, nil}, "rewind serve": {ours, broken}, "rewind serve, watched": {ours, []vg.Length{9, 2}}, "rewind, beside rewind watch": {ours, dotted},
	"OpenCode": {1, nil}, "pi-rewind": {2, nil}, "pi-rewind-hook": {3, nil}, "Zed": {4, nil}, "Cline": {5, nil},
	"restic": {6, nil}, "borg": {7, nil},
	"git status": {other, nil}, "list and lstat": {other, dotted},
}

// variables are those of colours.css. What is drawn has, until it is written, colours
// that stand for them: the last byte says which.
var variables = []string{"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "ink", "soft", "faint"}

const ink, soft, faint shade = 9, 10, 11

// A shade is the number of a variable.
type shade uint8

// RGBA is what stands for the shade in the picture of a plot.
func (s shade) RGBA() (r, g, b, a uint32) {
	return color.NRGBA{R: 1, G: 2, B: uint8(s), A: 0xff}.RGBA()
}

var standing = regexp.MustCompile(`#0102([0-9A-F]{2})`)

// newPlot makes an empty one. Room is reserved for text larger than colours.css has it:
// a reader may have another typeface.
func newPlot() *plot.Plot {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Tick.Color, a.Tick.Label.Color, a.Label.TextStyle.Color = faint, faint, soft, soft
		a.Tick.Label.Font.Size, a.Label.TextStyle.Font.Size = 11, 11
		a.Padding = 2
	}
	p.Legend.TextStyle.Color, p.Legend.TextStyle.Font.Size = ink, 11
	p.Legend.Top, p.Legend.Left, p.Legend.ThumbnailWidth, p.Legend.Padding = true, true, 22, 2
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint, faint
	p.Add(grid)
	p.X.Scale, p.Y.Scale, p.X.Label.Text = plot.LogScale{}, plot.LogScale{}, "files"
	p.X.Tick.Marker = powers(func(v float64) string { return report.Thousands(int(v)) })
	p.Y.Tick.Marker = powers(func(v float64) string { return time.Duration(math.Round(v * 1e9)).String() })
	return p
}

// The plot is so wide and high, of which so much is for the names beside lines.
const wide, high, legendWide = 430, 300, 120

// svg writes a plot, with room for the legend at the right.
func svg(p *plot.Plot, title string) template.HTML {
	canvas := vgsvg.New(wide, high)
	all := draw.New(canvas)
	names := p.Legend
	p.Legend = plot.NewLegend()
	p.Draw(draw.Crop(all, 0, -legendWide-8, 0, -6))
	names.Draw(draw.Crop(all, wide-legendWide+8, 0, 0, -8))
	var text bytes.Buffer
	if _, err := canvas.WriteTo(&text); err != nil {
		panic(err) // a buffer takes all
	}
	_, body, _ := strings.Cut(text.String(), "\n<g ")
	body = standing.ReplaceAllStringFunc(body, func(hex string) string {
		n, _ := strconv.ParseUint(hex[5:], 16, 8)
		return "var(--" + variables[n] + ")"
	})
	return template.HTML(fmt.Sprintf("<svg class=\"plot\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=%q>\n<g %s", wide, high, title, body))
}

// powers labels the powers of ten of a logarithmic axis.
func powers(label func(float64) string) plot.Ticker {
	return plot.TickerFunc(func(low, high float64) []plot.Tick {
		ticks := plot.LogTicks{}.Ticks(low, high)
		for i, t := range ticks {
			if t.Label != "" {
				ticks[i].Label = label(t.Value)
			}
		}
		return ticks
	})
}

// A series is one line, with the intervals of its points.
type series struct {
	plotter.XYs
	plotter.YErrors
	look
}

// curves are the lines of one plot: what something takes, over the number of files.
type curves struct {
	lines map[string]*series
	order []string
	files map[int]bool
}

// add adds the point of one result to a line.
func (c *curves) add(name string, as look, files int, l report.Line) {
	if len(l.Seconds) == 0 {
		return
	}
	if c.lines == nil {
		c.lines, c.files = map[string]*series{}, map[int]bool{}
	}
	s := c.lines[name]
	if s == nil {
		s = &series{look: as}
		c.lines[name], c.order = s, append(c.order, name)
	}
	c.files[files] = true
	s.XYs = append(s.XYs, plotter.XY{X: float64(files), Y: l.Time.Median})
	s.YErrors = append(s.YErrors, struct{ Low, High float64 }{l.Time.Median - l.Time.Low, l.Time.High - l.Time.Median})
}

// draw draws them; "" if there is only one number of files.
func (c *curves) draw(title string) template.HTML {
	if len(c.files) < 2 {
		return ""
	}
	p := newPlot()
	for _, name := range c.order {
		s := c.lines[name]
		line := &plotter.Line{XYs: s.XYs, LineStyle: draw.LineStyle{Color: s.colour, Width: 1.6, Dashes: s.dashes}}
		p.Add(line, &plotter.YErrorBars{XYs: s.XYs, YErrors: s.YErrors, LineStyle: draw.LineStyle{Color: s.colour, Width: 1}, CapWidth: 3})
		p.Legend.Add(short(name), line)
	}
	return svg(p, title)
}

// sizes draws the latency of a snapshot over the number of files.
func sizes(r *report.Report) template.HTML {
	var c curves
	for _, res := range r.Results {
		for _, l := range res.Lines {
			if as, drawn := looks[l.Contender]; drawn && res.Workload == "size" {
				c.add(l.Contender, as, res.Files, l)
			}
		}
	}
	return c.draw(title)
}

// verbs draws what each verb takes by one contender, over the number of files, and what
// git status takes beside it.
func verbs(r *report.Report, contender string) template.HTML {
	var c curves
	colours := map[string]look{}
	for _, res := range r.Results {
		if _, known := colours[res.Verb]; res.Verb != "" && !known {
			n := len(colours)
			colours[res.Verb] = look{shade(n % int(other)), [][]vg.Length{nil, broken}[n/int(other)%2]}
		}
		for _, l := range res.Lines {
			switch {
			case res.Verb == "":
			case l.Contender == contender:
				c.add(res.Verb, colours[res.Verb], res.Files, l)
			case l.Contender == "git status" && res.Verb == "status":
				c.add("git status", looks["git status"], res.Files, l)
			}
		}
	}
	return c.draw(verbsTitle + contender)
}

// short is a name for where there is little room.
func short(name string) string {
	return strings.NewReplacer("rewind serve, watched", "rewind, watched", "rewind, beside rewind watch", "rewind + watch").Replace(name)
}
