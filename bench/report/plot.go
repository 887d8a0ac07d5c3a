package report

import (
	_ "embed"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

//go:embed plot.css
var plotStyle string

// A look is how a contender is drawn, the same in every plot.
type look struct {
	colour int    // of the style's nine
	stroke string // classes of lines
}

// looks are those of the contenders that the plots with lines show. Beside them
// variants of the same program would hide one another; they stand in the tables.
var looks = map[string]look{
	"rewind":                      {0, ""},
	"rewind serve":                {0, "broken"},
	"rewind serve, watched":       {0, "most"},
	"rewind, beside rewind watch": {0, "dotted"},
	"OpenCode":                    {1, ""},
	"pi-rewind":                   {2, ""},
	"pi-rewind-hook":              {3, ""},
	"Zed":                         {4, ""},
	"Cline":                       {5, ""},
	"restic":                      {6, ""},
	"borg":                        {7, ""},
	"kopia":                       {6, "broken"},
	"jj":                          {7, "broken"},
	"git status":                  {8, ""},
	"list and lstat":              {8, "dotted"},
}

// short is a name for where there is little room.
func short(name string) string {
	return strings.NewReplacer("rewind serve, watched", "rewind, watched", "rewind serve --no-git, watched", "watched, --no-git", "rewind serve --no-git", "serve, --no-git",
		"rewind, beside rewind watch", "rewind + watch", "git status, untracked cache", "git status, cached", "git status, fsmonitor", "git, fsmonitor").Replace(name)
}

// lookOf gives that of any contender.
func lookOf(name string) look {
	l, ok := looks[name]
	switch {
	case ok:
		return l
	case strings.HasPrefix(name, "rewind"):
		return look{0, "dotted"}
	}
	return look{8, "dotted"}
}

// A canvas collects the shapes of one picture.
type canvas struct {
	strings.Builder
	width, height float64
}

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }

func (c *canvas) text(x, y float64, class, text string) {
	c.add(`<text x="%.1f" y="%.1f" class="%s">%s</text>`, x, y, class, html.EscapeString(text))
}

// svg gives the picture, for a page that has the style; alone it brings the style along.
func (c *canvas) svg(title string, alone bool) string {
	style, space := "", ""
	if alone {
		style, space = "<style>"+plotStyle+"</style>\n", ` xmlns="http://www.w3.org/2000/svg"`
	}
	return fmt.Sprintf(`<svg%s class="plot" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`+"\n%s%s</svg>\n",
		space, c.width, c.height, html.EscapeString(title), style, c.String())
}

// A scale leads from values to places. The zero value of log is a linear scale.
type scale struct {
	low, high float64 // of the values
	from, to  float64 // of the places
	log       bool
}

func (s scale) at(v float64) float64 {
	low, high := s.low, s.high
	if s.log {
		v, low, high = math.Log10(max(v, 1e-9)), math.Log10(low), math.Log10(high)
	}
	return s.from + (v-low)/(high-low)*(s.to-s.from)
}

// ticks are round values within the scale.
func (s scale) ticks() (list []float64) {
	if s.log {
		for v := math.Pow(10, math.Ceil(math.Log10(s.low)-1e-9)); v <= s.high*1.0001; v *= 10 {
			list = append(list, v)
		}
		return list
	}
	step := math.Pow(10, math.Floor(math.Log10(s.high-s.low)))
	for _, part := range []float64{0.1, 0.2, 0.5, 1} {
		if (s.high-s.low)/(step*part) <= 6 {
			step *= part
			break
		}
	}
	for v := math.Ceil(s.low/step) * step; v <= s.high*1.0001; v += step {
		list = append(list, v)
	}
	return list
}

// around gives a logarithmic scale that has all values, with some room.
func around(values []float64, from, to float64) scale {
	low, high := slices.Min(values), slices.Max(values)
	return scale{low: low / 1.25, high: high * 1.25, from: from, to: to, log: true}
}

// spread moves labels apart until they are at least gap from one another, and keeps
// their order.
func spread(places []float64, gap, low, high float64) []float64 {
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if places[a] < places[b] {
			return -1
		}
		return 1
	})
	moved := slices.Clone(places)
	last := low - gap
	for _, i := range order {
		moved[i] = max(moved[i], last+gap)
		last = moved[i]
	}
	next := high + gap
	for _, i := range slices.Backward(order) {
		moved[i] = min(moved[i], next-gap)
		next = moved[i]
	}
	return moved
}

// duration writes seconds with the unit that fits.
func duration(seconds float64) string {
	switch {
	case seconds >= 1:
		return trim(digits(seconds)) + " s"
	case seconds >= 1e-3:
		return trim(digits(1000*seconds)) + " ms"
	}
	return trim(digits(1e6*seconds)) + " µs"
}

// size writes bytes with the unit that fits.
func size(bytes float64) string {
	switch {
	case bytes >= 1<<30:
		return trim(digits(bytes/(1<<30))) + " GiB"
	case bytes >= 1<<20:
		return trim(digits(bytes/(1<<20))) + " MiB"
	}
	return trim(digits(bytes/1024)) + " KiB"
}

// trim takes zeros off behind the point.
func trim(s string) string {
	if strings.Contains(s, ".") {
		return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}
