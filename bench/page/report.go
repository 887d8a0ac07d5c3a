package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A report is the outcome of a run. package bench/report writes it, and says of each
// field what it is.
type report struct {
	Time       time.Time
	Command    string
	Machine    machine
	Rounds     int
	Seed       uint64
	Contenders []struct{ Name, Records, Version, Absent string }
	Results    []result
}

type machine struct {
	System, Kernel string
	Processors     int
	MemoryBytes    int64 `json:"memory_bytes"`
	Git, Rewind    string
}

type result struct {
	Workload, About, Place string
	Files, Changed         int
	Lines                  []line
}

type line struct {
	Contender string
	Seconds   []float64
	Time      interval
	Ratio     *interval
	NoRatio   string  `json:"no_ratio"`
	PeakBytes int64   `json:"peak_bytes"`
	DiskBytes []int64 `json:"disk_bytes"`
	Growth    []growth
	Exact     string
	Inexact   string
	Left      string
}

type interval struct{ Median, Low, High float64 }

type growth struct {
	Turn    int
	Stored  int64 `json:"stored_bytes"`
	Content int64 `json:"content_bytes"`
}

// A head is one of the few figures on top.
type head struct{ Name, Figure, About string }

// Heads are the figures of a turn with one edited file that are looked for first:
// ours, the quickest other that is exact, and git's look.
func (r *report) Heads() (list []head) {
	about := map[string]string{
		"rewind":                "a new process, which looks at every file",
		"rewind serve, watched": "a process that lives on and is told of changes",
		"git status":            "only looks",
	}
	quickest := false
	for _, l := range r.last("edit-1").measured() {
		say := about[l.Contender]
		if say == "" && !quickest && l.Exact == "yes" && lookOf(l.Contender).colour != ours {
			quickest, say = true, "the quickest of the others that was exact"
		}
		if say != "" {
			list = append(list, head{l.Contender, duration(l.Time.Median), say})
		}
	}
	return list
}

// last gives the last result of a workload, an empty one if there is none.
func (r *report) last(workload string) (last result) {
	for _, res := range r.Results {
		if res.Workload == workload {
			last = res
		}
	}
	return last
}

// measured gives the lines that have figures, the quickest first.
func (r result) measured() []line { return r.by(func(l line) float64 { return l.Time.Median }) }

// by gives the lines that have a value, the smallest first.
func (r result) by(value func(line) float64) []line {
	lines := slices.DeleteFunc(slices.Clone(r.Lines), func(l line) bool { return value(l) <= 0 })
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(value(a), value(b)) })
	return lines
}

// A bar is where a median and its interval lie between all of a table, in hundredths
// of the way.
type bar struct{ From, Wide, At float64 }

// Bar is that of a line, on a logarithmic scale.
func (r result) Bar(l line) bar {
	low, high := math.Inf(1), 0.0
	for _, other := range r.measured() {
		low, high = min(low, other.Time.Low), max(high, other.Time.High)
	}
	at := func(v float64) float64 { return 96 * math.Log(v/low) / max(math.Log(high/low), 1e-9) }
	return bar{at(l.Time.Low), at(l.Time.High) - at(l.Time.Low) + 0.5, at(l.Time.Median)}
}

// Disk is the median of what was allocated each time, in KiB.
func (l line) Disk() string {
	if len(l.DiskBytes) == 0 {
		return "–"
	}
	return thousands(int(quantile(l.DiskBytes, 0.5) >> 10))
}

// Each is what the store grew by for each turn, and Beyond how much of that is beyond
// the changed content; 0 if it was not looked at twice.
func (l line) Each() float64 { return l.grew(func(g growth) int64 { return g.Stored }) }

// Beyond says it in words.
func (l line) Beyond() string {
	if l.Each() == 0 {
		return ""
	}
	beyond := l.Each() - l.grew(func(g growth) int64 { return g.Content })
	return fmt.Sprintf("%s KiB a turn, %s KiB beyond the changed content; p50 %s ms, p90 %s, p99 %s, largest %s", digits(l.Each()/1024), digits(beyond/1024),
		ms(quantile(l.Seconds, 0.5)), ms(quantile(l.Seconds, 0.9)), ms(quantile(l.Seconds, 0.99)), ms(slices.Max(l.Seconds)))
}

func (l line) grew(value func(growth) int64) float64 {
	if len(l.Growth) < 2 {
		return 0
	}
	first, last := l.Growth[0], l.Growth[len(l.Growth)-1]
	return float64(value(last)-value(first)) / float64(last.Turn-first.Turn)
}

// quantile gives the value below which a share of the values lies.
func quantile[T cmp.Ordered](values []T, share float64) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(int(math.Ceil(share*float64(len(sorted))))-1, 0)]
}

// ms writes seconds as milliseconds.
func ms(seconds float64) string { return digits(1000 * seconds) }

// digits writes a number with three digits that count; below a tenth two.
func digits(v float64) string {
	switch {
	case v > 0 && v < 0.1:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case math.Abs(v) >= 100:
		return thousands(int(math.Round(v)))
	case math.Abs(v) >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// duration writes seconds with the unit that fits.
func duration(seconds float64) string { return unit(seconds, 1000, "s", "ms", "µs") }

// size writes bytes with the unit that fits.
func size(bytes float64) string { return unit(bytes/(1<<30), 1024, "GiB", "MiB", "KiB") }

// unit writes a number in the first unit in which it is one or more, or in the last;
// each is so many times smaller than the one before.
func unit(v, times float64, names ...string) string {
	for v < 1 && len(names) > 1 {
		v, names = v*times, names[1:]
	}
	text := digits(v)
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text + " " + names[0]
}
