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

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A picture is a plot with what is to be said of it.
type picture struct {
	Title, Needs string // Needs: the workload that measures it
	About        string
	SVG          template.HTML // "": what it needs was not measured
}

// A look is how a contender is drawn, the same in every plot.
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

// looks are those of the contenders that the plots with lines show. Beside them
// variants of the same program would hide one another; they stand in the tables.
var looks = map[string]look{
	"rewind": {ours, nil}, "rewind serve": {ours, broken}, "rewind serve, watched": {ours, []vg.Length{9, 2}}, "rewind, beside rewind watch": {ours, dotted},
	"OpenCode": {1, nil}, "pi-rewind": {2, nil}, "pi-rewind-hook": {3, nil}, "Zed": {4, nil}, "Cline": {5, nil},
	"restic": {6, nil}, "borg": {7, nil}, "kopia": {6, broken}, "jj": {7, broken},
	"git status": {other, nil}, "list and lstat": {other, dotted},
}

// lookOf gives that of any contender.
func lookOf(name string) look {
	l, ok := looks[name]
	switch {
	case ok:
		return l
	case strings.HasPrefix(name, "rewind"):
		return look{ours, dotted}
	}
	return look{other, dotted}
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

// Plots are all, in the order of the page.
func (r *report) Plots() []picture {
	return []picture{r.sizes(), r.turns(), r.growth(), r.bytes(), r.memory(), r.restores()}
}

// newPlot makes an empty one, in the looks that all have. Room is reserved for text
// larger than colours.css has it: a reader may have another typeface.
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
	return p
}

// wide is the width of every plot, and legendWide that of the names beside lines.
const wide, legendWide = 430, 120

// draw gives a picture its plot, with room for the legend at the right.
func (p picture) draw(of *plot.Plot, height, legend vg.Length) picture {
	canvas := vgsvg.New(wide, height)
	all := draw.New(canvas)
	names := of.Legend
	of.Legend = plot.NewLegend()
	of.Draw(draw.Crop(all, 0, -legend-8, 0, -6))
	names.Draw(draw.Crop(all, wide-legend+8, 0, 0, -8))
	var text bytes.Buffer
	if _, err := canvas.WriteTo(&text); err != nil {
		panic(err) // a buffer takes all
	}
	_, body, _ := strings.Cut(text.String(), "\n<g ")
	body = standing.ReplaceAllStringFunc(body, func(hex string) string {
		n, _ := strconv.ParseUint(hex[5:], 16, 8)
		return "var(--" + variables[n] + ")"
	})
	p.SVG = template.HTML(fmt.Sprintf("<svg class=\"plot\" viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=%q>\n<g %s", wide, float64(height), p.Title, body))
	return p
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

// sizeTicks are those of an axis of bytes.
func sizeTicks(low, high float64) []plot.Tick {
	unit := 1.0 // in which round values are looked for
	for high/unit >= 1000 {
		unit *= 1024
	}
	ticks := plot.DefaultTicks{}.Ticks(low/unit, high/unit)
	for i, t := range ticks {
		ticks[i].Value *= unit
		if t.Label != "" {
			ticks[i].Label = size(t.Value * unit)
		}
	}
	return ticks
}

// A series is one contender's line.
type series struct {
	plotter.XYs
	plotter.YErrors // none, or one for each point
}

// add draws a series, and names it at the right.
func (s series) add(p *plot.Plot, name string, l look) {
	line := &plotter.Line{XYs: s.XYs, LineStyle: draw.LineStyle{Color: l.colour, Width: 1.6, Dashes: l.dashes}}
	p.Add(line)
	p.Legend.Add(short(name), line)
	if len(s.YErrors) > 0 {
		p.Add(&plotter.YErrorBars{XYs: s.XYs, YErrors: s.YErrors, LineStyle: draw.LineStyle{Color: l.colour, Width: 1}, CapWidth: 3})
	}
}

// sizes is the latency over the number of files.
func (r *report) sizes() picture {
	pic := picture{Title: "One edited file, over the number of files", Needs: "size",
		About: "How long a snapshot takes after one file was edited. Both scales are logarithmic; the bars are the intervals of the medians. Whoever looks at every file rises with their number; that is what a watcher avoids."}
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
		return pic
	}
	p := newPlot()
	p.X.Scale, p.Y.Scale, p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogScale{}, plot.LogScale{}, powers(func(v float64) string { return thousands(int(v)) }), powers(duration)
	p.X.Label.Text = "files"
	for _, name := range order {
		lines[name].add(p, name, lookOf(name))
	}
	return pic.draw(p, 300, legendWide)
}

// growth is what is stored over the turns.
func (r *report) growth() picture {
	pic := picture{Title: "What is stored, turn by turn", Needs: "turns",
		About: "What each has allocated under .git and in its store since the first turn of the scripted agent. The dotted line is the content that was changed: each changed file as it was then, deflated. What lies above it is what a turn costs beyond that."}
	p := newPlot()
	p.X.Label.Text, p.Y.Tick.Marker = "turns", plot.TickerFunc(sizeTicks)
	var content series // of who did the most turns
	for _, l := range r.last("turns").Lines {
		if _, drawn := looks[l.Contender]; len(l.Growth) < 2 || !drawn {
			continue
		}
		var stored, changed series
		for _, g := range l.Growth {
			stored.XYs = append(stored.XYs, plotter.XY{X: float64(g.Turn), Y: float64(g.Stored)})
			changed.XYs = append(changed.XYs, plotter.XY{X: float64(g.Turn), Y: float64(g.Content)})
		}
		stored.add(p, l.Contender, lookOf(l.Contender))
		if len(content.XYs) == 0 || changed.XYs[len(changed.XYs)-1].X > content.XYs[len(content.XYs)-1].X {
			content = changed
		}
	}
	if len(content.XYs) == 0 {
		return pic
	}
	content.add(p, "changed content", look{other, dotted})
	return pic.draw(p, 300, legendWide)
}

// A row says what a plot of one row for each line draws: a figure beside the name, and
// its marks at a height.
type row struct {
	figure func(line) string
	marks  func(l line, y float64) []plot.Plotter
}

// rows gives a picture a row for each line, the first on top.
func (p picture) rows(of *plot.Plot, lines []line, r row) picture {
	if len(lines) == 0 {
		return p
	}
	names := make([]string, len(lines))
	for i, l := range lines {
		y := len(lines) - 1 - i
		names[y] = short(l.Contender) + ": " + r.figure(l)
		of.Add(r.marks(l, float64(y))...)
	}
	of.NominalY(names...)
	of.Y.Min, of.Y.Max = -0.6, float64(len(lines))-0.4
	of.X.Min, of.X.Max = of.X.Min/1.15, of.X.Max*1.05
	return p.draw(of, vg.Length(36+19*len(lines)), 0)
}

// logarithmic is a plot of durations from left to right.
func logarithmic() *plot.Plot {
	p := newPlot()
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, powers(duration)
	return p
}

// cloudMost is how many turns of a contender are drawn; of more, as many of their
// quantiles.
const cloudMost = 200

// turns is how the times of turns are distributed.
func (r *report) turns() picture {
	pic := picture{Title: "Every turn, a dot", Needs: "turns",
		About: "The time of each snapshot, on a logarithmic scale. The mark is the median; the numbers are the median and the 99th percentile."}
	figure := func(l line) string { return ms(l.Time.Median) + " · " + ms(quantile(l.Seconds, 0.99)) + " ms" }
	return pic.rows(logarithmic(), r.last("turns").measured(), row{figure, func(l line, y float64) []plot.Plotter {
		var dots plotter.XYs
		n := min(len(l.Seconds), cloudMost)
		for i := range n {
			_, part := math.Modf(float64(i) * math.Phi) // scattered by a rule: the same figures give the same picture
			dots = append(dots, plotter.XY{X: quantile(l.Seconds, float64(i+1)/float64(n)), Y: y + (part-0.5)/2})
		}
		colour := lookOf(l.Contender).colour
		return []plot.Plotter{
			&plotter.Scatter{XYs: dots, GlyphStyle: draw.GlyphStyle{Color: colour, Radius: 0.9, Shape: draw.CircleGlyph{}}},
			&plotter.Line{XYs: plotter.XYs{{X: l.Time.Median, Y: y - 0.4}, {X: l.Time.Median, Y: y + 0.4}}, LineStyle: draw.LineStyle{Color: ink, Width: 1.5}},
		}
	}})
}

// restores is how long it takes to put back, and who does.
func (r *report) restores() picture {
	pic := picture{Title: "A thousand files put back", Needs: "restore-1000",
		About: "The median time of a restore, with its interval, on a logarithmic scale. A ring: the directory was not what had been recorded."}
	figure := func(l line) string { return duration(l.Time.Median) }
	return pic.rows(logarithmic(), r.last("restore-1000").measured(), row{figure, func(l line, y float64) []plot.Plotter {
		colour, shape := lookOf(l.Contender).colour, draw.GlyphDrawer(draw.CircleGlyph{})
		if l.Exact == "no" {
			shape = draw.RingGlyph{}
		}
		return []plot.Plotter{
			&plotter.Line{XYs: plotter.XYs{{X: l.Time.Low, Y: y}, {X: l.Time.High, Y: y}}, LineStyle: draw.LineStyle{Color: colour, Width: 2}},
			&plotter.Scatter{XYs: plotter.XYs{{X: l.Time.Median, Y: y}}, GlyphStyle: draw.GlyphStyle{Color: colour, Radius: 3.5, Shape: shape}},
		}
	}})
}

// bars are a size of each contender.
func (p picture) bars(res result, value func(line) float64) picture {
	figure := func(l line) string { return size(value(l)) }
	of := newPlot()
	of.X.Tick.Marker = plot.TickerFunc(sizeTicks)
	return p.rows(of, res.by(value), row{figure, func(l line, y float64) []plot.Plotter {
		return []plot.Plotter{&plotter.BarChart{Values: plotter.Values{value(l)}, XMin: y, Horizontal: true, Width: 11, Color: lookOf(l.Contender).colour}}
	}})
}

// bytes is what a turn adds to what is stored.
func (r *report) bytes() picture {
	pic := picture{Title: "Bytes a turn", Needs: "turns",
		About: "What a turn of the scripted agent adds to .git and the store, as it is allocated on disk: the mean over the turns that it did."}
	if turns := r.last("turns"); len(turns.Lines) > 0 {
		return pic.bars(turns, line.Each)
	}
	pic.About = "What a turn with one edited file adds to .git and the store, as it is allocated on disk: the median."
	return pic.bars(r.last("edit-1"), func(l line) float64 { return float64(quantile(append(l.DiskBytes, 0), 0.5)) })
}

// memory is what a turn needs.
func (r *report) memory() picture {
	pic := picture{Title: "Memory a turn", Needs: "edit-1",
		About: "Resident memory of the largest process of a turn with one edited file, at its highest. Of a process that lives on: of that process."}
	return pic.bars(r.last("edit-1"), func(l line) float64 { return float64(l.PeakBytes) })
}

// short is a name for where there is little room.
func short(name string) string {
	return strings.NewReplacer("rewind serve, watched", "rewind, watched", "rewind serve --no-git, watched", "watched, --no-git", "rewind serve --no-git", "serve, --no-git",
		"rewind, beside rewind watch", "rewind + watch", "git status, untracked cache", "git status, cached", "git status, fsmonitor", "git, fsmonitor").Replace(name)
}
