package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A plot is a picture with what is to be said of it.
type plot struct {
	title, about string
	picture      string // "": what it needs was not measured
	needs        string // the workload that measures it
}

// A series is one contender's line.
type series struct {
	name string
	x, y []float64
	span []Interval // of y; nil: none
}

// margins of the pictures with lines: right of them stand the names.
const (
	leftOf, rightOf, topOf, bottomOf = 46, 122, 10, 30
	nameGap                          = 12.5
	wide                             = 410 // of every picture
	names                            = 148 // of the names, where each has a row
)

// axes draws the grid of two scales with its labels.
func (c *canvas) axes(x, y scale, xTitle string, yLabel func(float64) string) {
	for _, v := range y.ticks() {
		c.add(`<path class="grid" d="M%.1f %.1fH%.1f"/>`, x.from, y.at(v), x.to)
		c.text(x.from-5, y.at(v)+3.5, "tick end", yLabel(v))
	}
	for _, v := range x.ticks() {
		c.add(`<path class="grid" d="M%.1f %.1fV%.1f"/>`, x.at(v), y.from, y.to)
		c.text(x.at(v), y.from+14, "tick mid", thousands(int(v)))
	}
	c.text((x.from+x.to)/2, y.from+27, "tick mid", xTitle)
}

// lines draws series, and their names at their ends.
func (c *canvas) lines(all []series, x, y scale) {
	var ends []float64
	for _, s := range all {
		ends = append(ends, y.at(s.y[len(s.y)-1]))
	}
	ends = spread(ends, nameGap, y.to+4, y.from-2)
	for i, s := range all {
		l := lookOf(s.name)
		var path strings.Builder
		for j := range s.x {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(j, 1)], x.at(s.x[j]), y.at(s.y[j]))
		}
		c.add(`<g class="c%d"><path class="line %s" d="%s"/>`, l.colour, l.stroke, &path)
		for j, in := range s.span {
			c.add(`<path class="span" d="M%.1f %.1fV%.1f"/>`, x.at(s.x[j]), y.at(in.Low), y.at(in.High))
			c.add(`<circle class="dot" cx="%.1f" cy="%.1f" r="2.6"/>`, x.at(s.x[j]), y.at(s.y[j]))
		}
		last := len(s.x) - 1
		c.add(`<path class="lead" d="M%.1f %.1fL%.1f %.1f"/>`, x.at(s.x[last])+3, y.at(s.y[last]), x.to+14, ends[i])
		c.text(x.to+17, ends[i]+3.8, "name", short(s.name))
		c.add("</g>")
	}
}

// sizes is the latency over the number of files.
func (r *Report) sizes(alone bool) plot {
	p := plot{title: "One edited file, over the number of files", needs: "size",
		about: "How long a snapshot takes after one file was edited. Both scales are logarithmic; the bars are the intervals of the medians. Whoever looks at every file rises with their number; that is what a watcher avoids."}
	lines := map[string]*series{}
	var order []string
	for _, res := range r.Results {
		for _, l := range res.Lines {
			if _, drawn := looks[l.Contender]; res.Workload != "size" || len(l.Seconds) == 0 || !drawn {
				continue
			}
			if lines[l.Contender] == nil {
				lines[l.Contender] = &series{name: l.Contender}
				order = append(order, l.Contender)
			}
			s := lines[l.Contender]
			s.x, s.y, s.span = append(s.x, float64(res.Files)), append(s.y, l.Time.Median), append(s.span, l.Time)
		}
	}
	var all []series
	var xs, ys []float64
	for _, name := range order {
		all = append(all, *lines[name])
		xs = append(xs, lines[name].x...)
		for _, in := range lines[name].span {
			ys = append(ys, in.Low, in.High)
		}
	}
	if len(all) == 0 || slices.Min(xs) == slices.Max(xs) {
		return p
	}
	c := &canvas{width: wide, height: 300}
	x, y := around(xs, leftOf, c.width-rightOf), around(ys, c.height-bottomOf, topOf)
	c.axes(x, y, "files", duration)
	c.lines(all, x, y)
	p.picture = c.svg(p.title, alone)
	return p
}

// growth is what is stored over the turns.
func (r *Report) growth() plot {
	p := plot{title: "What is stored, turn by turn", needs: "turns",
		about: "What each has allocated under .git and in its store since the first turn of the scripted agent. The dotted line is the content that was changed: each changed file as it was then, deflated. What lies above it is what a turn costs beyond that."}
	res := r.last("turns")
	if res == nil {
		return p
	}
	var all []series
	var content series
	var most, turns float64
	for _, l := range res.Lines {
		if _, drawn := looks[l.Contender]; len(l.Growth) < 2 || !drawn {
			continue
		}
		s, changed := series{name: l.Contender}, series{name: "changed content"}
		for _, g := range l.Growth {
			s.x, s.y = append(s.x, float64(g.Turn)), append(s.y, float64(g.Stored))
			changed.x, changed.y = append(changed.x, float64(g.Turn)), append(changed.y, float64(g.Content))
		}
		if len(changed.x) > 0 && (len(content.x) == 0 || changed.x[len(changed.x)-1] > content.x[len(content.x)-1]) {
			content = changed
		}
		most, turns = max(most, slices.Max(s.y)), max(turns, slices.Max(s.x))
		all = append(all, s)
	}
	if len(all) == 0 {
		return p
	}
	c := &canvas{width: wide, height: 300}
	x := scale{low: 0, high: turns, from: leftOf + 8, to: c.width - rightOf}
	unit := 1.0 // of the axis, so that its ticks are round
	for most/unit >= 1000 {
		unit *= 1024
	}
	for _, s := range append(all, content) {
		for i := range s.y {
			s.y[i] /= unit
		}
	}
	y := scale{low: 0, high: most / unit * 1.05, from: c.height - bottomOf, to: topOf}
	c.axes(x, y, "turns", func(v float64) string { return size(v * unit) })
	c.lines(append(all, content), x, y)
	p.picture = c.svg(p.title, false)
	return p
}

// cloudMost is how many turns of a contender are drawn; of more, as many of their
// quantiles.
const cloudMost = 400

// turns is how the times of turns are distributed.
func (r *Report) turns() plot {
	p := plot{title: "Every turn, a dot", needs: "turns",
		about: "The time of each snapshot, on a logarithmic scale. The mark is the median; the numbers are the median and the 99th percentile."}
	res := r.last("turns")
	if res == nil {
		return p
	}
	rows := res.measured()
	if len(rows) == 0 {
		return p
	}
	var all []float64
	for _, l := range rows {
		all = append(all, l.Seconds...)
	}
	const row = 24.0
	c := &canvas{width: wide, height: topOf + row*float64(len(rows)) + bottomOf}
	x := around(all, names, c.width-86)
	y := scale{low: 0, high: 1, from: c.height - bottomOf, to: topOf}
	for _, v := range x.ticks() {
		c.add(`<path class="grid" d="M%.1f %.1fV%.1f"/>`, x.at(v), y.from, y.to)
		c.text(x.at(v), y.from+14, "tick mid", duration(v))
	}
	for i, l := range rows {
		c.cloud(l, x, topOf+row*(float64(i)+0.5))
	}
	p.picture = c.svg(p.title, false)
	return p
}

// measured gives the lines that have figures, the quickest first.
func (r *Result) measured() []Line {
	rows := slices.DeleteFunc(slices.Clone(r.Lines), func(l Line) bool { return len(l.Seconds) == 0 })
	slices.SortStableFunc(rows, func(a, b Line) int { return compare(a.Time.Median, b.Time.Median) })
	return rows
}

// cloud draws one row of dots, scattered by a rule so that the same figures
// give the same picture.
func (c *canvas) cloud(l Line, x scale, y float64) {
	var path strings.Builder
	n := min(len(l.Seconds), cloudMost)
	for i := range n {
		v := l.Seconds[i]
		if len(l.Seconds) > cloudMost {
			v = quantile(l.Seconds, float64(i)/float64(n-1))
		}
		_, part := math.Modf(float64(i) * math.Phi)
		fmt.Fprintf(&path, "M%.1f %.1fh0", x.at(v), y+(part-0.5)*11)
	}
	c.add(`<g class="c%d"><path class="cloud" d="%s"/><path class="mark" d="M%.1f %.1fv15"/>`, lookOf(l.Contender).colour, &path, x.at(l.Time.Median), y-7.5)
	c.text(0, y+4, "name", short(l.Contender))
	c.add("</g>")
	c.text(c.width, y+4, "tick end", trim(ms(l.Time.Median))+" · "+trim(ms(quantile(l.Seconds, 0.99)))+" ms")
}

// bars gives a plot its picture: a size of each contender.
func (p plot) bars(rows []Line, value func(Line) float64) plot {
	rows = slices.DeleteFunc(slices.Clone(rows), func(l Line) bool { return value(l) <= 0 })
	if len(rows) == 0 {
		return p
	}
	slices.SortStableFunc(rows, func(a, b Line) int { return compare(value(a), value(b)) })
	const row = 21.0
	c := &canvas{width: wide, height: 2*topOf + row*float64(len(rows))}
	x := scale{low: 0, high: value(rows[len(rows)-1]), from: names, to: c.width - 60}
	for i, l := range rows {
		y := topOf + row*float64(i)
		c.add(`<g class="c%d"><rect class="bar" x="%.1f" y="%.1f" width="%.1f" height="13" rx="2"/>`, lookOf(l.Contender).colour, x.from, y+3, max(x.at(value(l))-x.from, 1))
		c.text(0, y+13.5, "name", short(l.Contender))
		c.add("</g>")
		c.text(x.at(value(l))+6, y+13.5, "tick", size(value(l)))
	}
	p.picture = c.svg(p.title, false)
	return p
}

// bytes is what a turn adds to what is stored.
func (r *Report) bytes() plot {
	res, value := r.last("turns"), func(l Line) float64 { each, _, _ := l.beyond(); return each }
	about := "What a turn of the scripted agent adds to .git and the store, as it is allocated on disk: the mean over the turns that it did."
	if res == nil {
		if res = r.last("edit-1"); res == nil {
			return plot{title: "Bytes a turn", needs: "turns"}
		}
		value = func(l Line) float64 { return float64(medianBytes(l.DiskBytes)) }
		about = "What a turn with one edited file adds to .git and the store, as it is allocated on disk: the median."
	}
	return plot{title: "Bytes a turn", about: about, needs: "turns"}.bars(res.Lines, value)
}

// restores is how long it takes to put back, and who does.
func (r *Report) restores() plot {
	p := plot{title: "A thousand files put back", needs: "restore-1000",
		about: "The median time of a restore, with its interval, on a logarithmic scale. Hollow: the directory was not what had been recorded."}
	res := r.last("restore-1000")
	if res == nil {
		return p
	}
	rows := res.measured()
	if len(rows) == 0 {
		return p
	}
	var all []float64
	for _, l := range rows {
		all = append(all, l.Time.Low, l.Time.High)
	}
	const row = 21.0
	c := &canvas{width: wide, height: topOf + row*float64(len(rows)) + bottomOf}
	x := around(all, names, c.width-56)
	for _, v := range x.ticks() {
		c.add(`<path class="grid" d="M%.1f %.1fV%.1f"/>`, x.at(v), c.height-bottomOf, float64(topOf))
		c.text(x.at(v), c.height-bottomOf+14, "tick mid", duration(v))
	}
	for i, l := range rows {
		y := topOf + row*(float64(i)+0.5)
		hollow := ""
		if l.Exact == NotExact {
			hollow = " hollow"
		}
		c.add(`<g class="c%d"><path class="mark" d="M%.1f %.1fH%.1f"/><circle class="dot%s" cx="%.1f" cy="%.1f" r="4"/>`, lookOf(l.Contender).colour,
			x.at(l.Time.Low), y, max(x.at(l.Time.High), x.at(l.Time.Low)+0.5), hollow, x.at(l.Time.Median), y)
		c.text(0, y+4, "name", short(l.Contender))
		c.add("</g>")
		c.text(c.width, y+4, "tick end", duration(l.Time.Median))
	}
	p.picture = c.svg(p.title, false)
	return p
}

// memory is what a turn needs.
func (r *Report) memory() plot {
	p := plot{title: "Memory a turn", needs: "edit-1", about: "Resident memory of the largest process of a turn with one edited file, at its highest. Of a process that lives on: of that process."}
	res := r.last("edit-1")
	if res == nil {
		return p
	}
	return p.bars(res.Lines, func(l Line) float64 { return float64(l.PeakBytes) })
}

// last gives the last result of a workload, nil if there is none.
func (r *Report) last(workload string) *Result {
	for i := len(r.Results) - 1; i >= 0; i-- {
		if r.Results[i].Workload == workload {
			return &r.Results[i]
		}
	}
	return nil
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
