package bench

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// A Report is the outcome of one run.
type Report struct {
	Time       time.Time `json:"time"`
	System     string    `json:"system"` // GOOS/GOARCH
	Processors int       `json:"processors"`
	Rounds     int       `json:"rounds"`
	Results    []Result  `json:"results"`
}

// A Result is what one workload took. The first contender is the one that the
// others are compared with.
type Result struct {
	Workload   string      `json:"workload"`
	Place      string      `json:"place"` // the file system
	Files      int         `json:"files"`
	Changed    int         `json:"changed"`
	Contenders []Contender `json:"contenders"`
}

// A Contender is what one way of doing a workload took.
type Contender struct {
	Name      string    `json:"name"`
	Seconds   []float64 `json:"seconds"`    // one for each round, in order
	Median    float64   `json:"median"`     // of the seconds
	Ratio     float64   `json:"ratio"`      // median over the rounds of: this one's time / the first contender's
	PeakBytes int64     `json:"peak_bytes"` // resident memory of its largest process; 0: not known
	DiskBytes []int64   `json:"disk_bytes"` // allocated in .git and stores, for each round
}

// compare fills medians and ratios. The ratio is taken within each round, where
// the machine was the same for all, and not between medians.
func (r *Result) compare() {
	for i := range r.Contenders {
		c := &r.Contenders[i]
		c.Median = median(c.Seconds)
		var ratios []float64
		for round, s := range c.Seconds {
			ratios = append(ratios, s/r.Contenders[0].Seconds[round])
		}
		c.Ratio = median(ratios)
	}
}

// median of values, of which there is at least one.
func median[T int64 | float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// Print writes the report for reading.
func (r *Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s, %d processors, %d rounds, %s\n", r.System, r.Processors, r.Rounds, r.Time.Format("2006-01-02"))
	for _, res := range r.Results {
		fmt.Fprintf(w, "\n%s: %d files, %d changed, on %s\n", res.Workload, res.Files, res.Changed, res.Place)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "median ms\tmin\tmax\tratio\tpeak MiB\tdisk KiB\t \tcontender")
		for _, c := range res.Contenders {
			peak := "-"
			if c.PeakBytes > 0 {
				peak = fmt.Sprintf("%.1f", float64(c.PeakBytes)/(1<<20))
			}
			fmt.Fprintf(t, "%.2f\t%.2f\t%.2f\t%.2f\t%s\t%d\t \t%s\n", 1000*c.Median, 1000*slices.Min(c.Seconds),
				1000*slices.Max(c.Seconds), c.Ratio, peak, median(c.DiskBytes)>>10, c.Name)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
