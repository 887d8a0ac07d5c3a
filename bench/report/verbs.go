package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// A VerbTable has the medians of all verbs of one number of files on one file system.
type VerbTable struct {
	Files      int
	Place      string
	Contenders []string // its columns
	Rows       []VerbRow
}

// A VerbRow is one verb; a contender without it, or without figures, has none.
type VerbRow struct {
	Verb    string
	Medians map[string]float64 // seconds, by contender
}

// Verbs collects the results that are of verbs of watched worktrees: what each takes by whom.
func (r *Report) Verbs() (tables []*VerbTable) {
	for _, res := range r.Results {
		if !strings.HasPrefix(res.Workload, "watched-") {
			continue
		}
		i := slices.IndexFunc(tables, func(t *VerbTable) bool { return t.Files == res.Files && t.Place == res.Place })
		if i < 0 {
			tables, i = append(tables, &VerbTable{Files: res.Files, Place: res.Place}), len(tables)
		}
		tables[i].add(&res)
	}
	return tables
}

func (t *VerbTable) add(res *Result) {
	row := VerbRow{Verb: res.Verb, Medians: map[string]float64{}}
	for _, l := range res.Lines {
		if len(l.Seconds) == 0 {
			continue
		}
		row.Medians[l.Contender] = l.Time.Median
		if !slices.Contains(t.Contenders, l.Contender) {
			t.Contenders = append(t.Contenders, l.Contender)
		}
	}
	t.Rows = append(t.Rows, row)
}

// Cell is the median of a contender in milliseconds; "–" if it has none.
func (v VerbRow) Cell(contender string) string {
	if s, ok := v.Medians[contender]; ok {
		return Milliseconds(s)
	}
	return "–"
}

// Print writes the table for reading.
func (t *VerbTable) Print(w io.Writer) error {
	fmt.Fprintf(w, "\nmedian ms, %s files on %s, two of them edited\n", Thousands(t.Files), t.Place)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i := range t.Contenders {
		fmt.Fprintf(tab, "(%d)\t", i+1)
	}
	fmt.Fprintln(tab, " \tverb")
	for _, row := range t.Rows {
		for _, name := range t.Contenders {
			fmt.Fprintf(tab, "%s\t", row.Cell(name))
		}
		fmt.Fprintf(tab, " \t%s\n", row.Verb)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	for i, name := range t.Contenders {
		fmt.Fprintf(w, "  (%d) %s\n", i+1, name)
	}
	return nil
}
