package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Legend says what the columns mean, a line each.
var Legend = [][2]string{
	{"median ms", "of the rounds. Contenders take turns within each round, in a changing order"},
	{"95 %", "where the median lies in nineteen runs of twenty, whatever the distribution: by the order of the values (the sign test). Of fewer than six rounds: the least and the largest"},
	{"ratio", "the median, over the rounds, of its time to that of the first line in the same round, with its own interval. \"~\": the rounds show no difference, or disagree with the medians, so there is no ratio to tell"},
	{"peak", "resident memory of its largest process in MiB, taken in a round that does not count"},
	{"disk", "what it allocated under .git and in its store each time, in KiB"},
	{"exact", "whether the directory was, after a restore, what had been recorded: every file byte by byte, permissions, links, directories, nothing more. \"-\": it restores nothing"},
}

// Print writes the report for reading.
func (r *Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s, %d rounds, %s\n", r.Machine, r.Rounds, r.Time.Format("2006-01-02"))
	for i := range r.Results {
		if err := r.Results[i].print(w); err != nil {
			return err
		}
	}
	for _, t := range r.Verbs() {
		if err := t.Print(w); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	for _, l := range Legend {
		fmt.Fprintf(w, "%-10s %s\n", l[0], l[1])
	}
	fmt.Fprintln(w)
	for _, c := range r.Contenders {
		if c.Absent != "" {
			_, err := fmt.Fprintf(w, "%s: not run: %s\n", c.Name, c.Absent)
			if err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintf(w, "%s: %s%s\n", c.Name, c.Records, inBrackets(c.Version)); err != nil {
			return err
		}
	}
	return nil
}

// String describes the machine in one line.
func (m Machine) String() string {
	parts := []string{m.System}
	if m.Kernel != "" {
		parts = append(parts, "kernel "+m.Kernel)
	}
	parts = append(parts, fmt.Sprintf("%d processors", m.Processors))
	if m.Memory > 0 {
		parts = append(parts, fmt.Sprintf("%.0f GiB of memory", float64(m.Memory)/(1<<30)))
	}
	if m.Git != "" {
		parts = append(parts, "git "+m.Git)
	}
	return strings.Join(parts, ", ")
}

// print writes one table, and below it what does not fit into it. Of what has no times
// it says who was exact.
func (r *Result) print(w io.Writer) error {
	if !slices.ContainsFunc(r.Lines, func(l Line) bool { return len(l.Seconds) > 0 || l.Exact == "" }) {
		return r.printExact(w)
	}
	fmt.Fprintf(w, "\n%s: %s\n%s files, %s changed, on %s\n", r.Title(), r.About, Thousands(r.Files), Thousands(r.Changed), r.Place)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "median ms\t95 %\tratio\t\tpeak\tdisk\texact\t \tcontender")
	var notes []string
	for i, l := range r.Lines {
		notes = append(notes, l.Notes()...)
		if len(l.Seconds) == 0 {
			continue
		}
		one, between := l.ratio(i == 0)
		fmt.Fprintf(t, "%s\t%s – %s\t%s\t%s\t%s\t%s\t%s\t \t%s\n", Milliseconds(l.Time.Median), Milliseconds(l.Time.Low), Milliseconds(l.Time.High),
			one, between, l.peak(), l.Disk(), cmp.Or(l.Exact, "-"), l.Contender)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintln(w, "  "+n)
	}
	return nil
}

func (r *Result) printExact(w io.Writer) error {
	var exact, notes []string
	for _, l := range r.Lines {
		if l.Exact == Exact {
			exact = append(exact, l.Contender)
		}
		notes = append(notes, l.Notes()...)
	}
	_, err := fmt.Fprintf(w, "\n%s: %s\n  exact: %s\n", r.Workload, r.About, cmp.Or(strings.Join(exact, ", "), "nobody"))
	for _, n := range notes {
		_, err = fmt.Fprintln(w, "  "+n)
	}
	return err
}

// Notes are the sentences on a line that its row has no room for.
func (l Line) Notes() (notes []string) {
	if l.Left != "" {
		notes = append(notes, l.Contender+": "+l.Left)
	}
	if l.Inexact != "" {
		notes = append(notes, l.Contender+" is not exact: "+l.Inexact)
	}
	if each, beyond, ok := l.beyond(); ok && len(l.Seconds) > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s a turn, %s beyond the changed content; p50 %s ms, p90 %s, p99 %s, largest %s", l.Contender, kib(each), kib(beyond),
			Milliseconds(quantile(l.Seconds, 0.5)), Milliseconds(quantile(l.Seconds, 0.9)), Milliseconds(quantile(l.Seconds, 0.99)), Milliseconds(slices.Max(l.Seconds))))
	}
	if n := len(l.Growth); n > 0 && l.Growth[n-1].Files > 0 {
		g := l.Growth[n-1]
		notes = append(notes, fmt.Sprintf("%s: after %s turns %s bytes in %s files, %s allocated", l.Contender, Thousands(g.Turn), Thousands(int(g.Bytes)), Thousands(g.Files), Thousands(int(g.Stored))))
	}
	if len(l.Requests) > 0 {
		sorted := slices.Sorted(slices.Values(l.Requests))
		notes = append(notes, fmt.Sprintf("%s: %s requests, %s to %s", l.Contender, Thousands(sorted[len(sorted)/2]), Thousands(sorted[0]), Thousands(sorted[len(sorted)-1])))
	}
	return notes
}

// ratio gives the ratio and its interval as text.
func (l *Line) ratio(first bool) (one, between string) {
	switch {
	case first:
		return "1", ""
	case l.Ratio == nil:
		return "~", ""
	}
	return Digits(l.Ratio.Median) + "×", fmt.Sprintf("(%s – %s)", Digits(l.Ratio.Low), Digits(l.Ratio.High))
}

func (l *Line) peak() string {
	if l.PeakBytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", float64(l.PeakBytes)/(1<<20))
}

// Disk is the median of what was allocated each time, in KiB.
func (l Line) Disk() string {
	if len(l.DiskBytes) == 0 {
		return "-"
	}
	return Thousands(int(medianBytes(l.DiskBytes) >> 10))
}

// Milliseconds writes seconds as milliseconds, with three digits that count.
func Milliseconds(seconds float64) string { return Digits(1000 * seconds) }

func kib(bytes float64) string { return Digits(bytes/1024) + " KiB" }

// Digits writes a number with three digits that count; below a tenth two.
func Digits(v float64) string {
	switch {
	case v > 0 && v < 0.1:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case v >= 100 || v <= -100:
		return Thousands(int(v + 0.5))
	case v >= 10 || v <= -10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// Thousands writes a number with commas.
func Thousands(n int) string {
	if n < 0 {
		return "-" + Thousands(-n)
	}
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// inBrackets is a text in brackets, if there is one.
func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}
