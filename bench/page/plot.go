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

// title is what the plot shows.
const title = "One edited file, over the number of files"

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
func svg(p *plot.Plot) template.HTML {
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

// A series is one contender's line, with the intervals of its points.
type series struct {
	plotter.XYs
	plotter.YErrors
}

// sizes draws the latency over the number of files; "" if there is only one number.
func sizes(r *report.Report) template.HTML {
	lines, order, files := map[string]*series{}, []string{}, map[int]bool{}
	for _, res := range r.Results {
		for _, l := range res.Lines {
			if _, drawn := looks[l.Contender]; res.Workload != "size" || len(l.Seconds) == 0 || !drawn {
				continue
			}
			s := lines[l.Contender]
			if s == nil {
				s = &series{}
				lines[l.Contender], order = s, append(order, l.Contender)
			}
			files[res.Files] = true
			s.XYs = append(s.XYs, plotter.XY{X: float64(res.Files), Y: l.Time.Median})
			s.YErrors = append(s.YErrors, struct{ Low, High float64 }{l.Time.Median - l.Time.Low, l.Time.High - l.Time.Median})
		}
	}
	if len(files) < 2 {
		return ""
	}
	p := newPlot()
	for _, name := range order {
		s, look := lines[name], looks[name]
		line := &plotter.Line{XYs: s.XYs, LineStyle: draw.LineStyle{Color: look.colour, Width: 1.6, Dashes: look.dashes}}
		p.Add(line, &plotter.YErrorBars{XYs: s.XYs, YErrors: s.YErrors, LineStyle: draw.LineStyle{Color: look.colour, Width: 1}, CapWidth: 3})
		p.Legend.Add(short(name), line)
	}
	return svg(p)
}

// short is a name for where there is little room.
func short(name string) string {
	return strings.NewReplacer("rewind serve, watched", "rewind, watched", "rewind, beside rewind watch", "rewind + watch").Replace(name)
}
