// Package report is the outcome of a benchmark: what was measured, what of it
// the noise supports, and how it is shown. It prints a table for people, JSON, and
// the text that benchstat reads; the program in ../page makes a page of the JSON.
//
// The package starts nothing and measures nothing. Package bench says what
// the figures mean.
package report

import "time"

// A Report is the outcome of one run.
type Report struct {
	Time       time.Time   `json:"time"`
	Command    string      `json:"command"` // with the flags that decide what was measured, without directories
	Machine    Machine     `json:"machine"`
	Rounds     int         `json:"rounds"`
	Seed       uint64      `json:"seed"`
	Contenders []Contender `json:"contenders"`
	Results    []Result    `json:"results"`
}

// A Machine is what is told of the machine: nothing by which it could be found.
type Machine struct {
	System     string `json:"system"` // GOOS/GOARCH
	Kernel     string `json:"kernel,omitempty"`
	Processors int    `json:"processors"`
	Memory     int64  `json:"memory_bytes,omitempty"`
	Git        string `json:"git,omitempty"`
	Rewind     string `json:"rewind,omitempty"`
}

// A Contender is one that was asked for.
type Contender struct {
	Name    string `json:"name"`
	Records string `json:"records"`           // what of a directory it keeps, and what it does not do
	Version string `json:"version,omitempty"` // of its program
	Absent  string `json:"absent,omitempty"`  // why it did not run
}

// A Result is what one workload took. Its first line is the one that the others
// are compared with.
type Result struct {
	Workload string `json:"workload"`
	Verb     string `json:"verb,omitempty"` // of those that a workload has
	About    string `json:"about"`          // the situation, and what is measured
	Place    string `json:"place"`          // the file system
	Files    int    `json:"files"`
	Changed  int    `json:"changed"`
	Lines    []Line `json:"lines"`
}

// Title names a result.
func (r *Result) Title() string {
	if r.Verb == "" {
		return r.Workload
	}
	return r.Workload + ", " + r.Verb
}

// A Line is what one way of doing a workload took.
type Line struct {
	Contender string    `json:"contender"`
	Seconds   []float64 `json:"seconds"`              // one for each round, in order
	Time      Interval  `json:"time"`                 // the median of the seconds
	Ratio     *Interval `json:"ratio,omitempty"`      // to the first line's, within each round; nil where nothing supports one
	NoRatio   string    `json:"no_ratio,omitempty"`   // why not
	PeakBytes int64     `json:"peak_bytes,omitempty"` // resident memory of the largest process; 0: not known
	DiskBytes []int64   `json:"disk_bytes,omitempty"` // allocated in .git and stores, for each round
	Requests  []int     `json:"requests,omitempty"`   // to a server, for each round
	Growth    []Growth  `json:"growth,omitempty"`     // of what is stored, over turns
	Exact     Exactness `json:"exact,omitempty"`
	Inexact   string    `json:"inexact,omitempty"` // what was not as it had been
	Left      string    `json:"left,omitempty"`    // why it has no figures, or not all
}

// Exactness says whether what was put back was what had been there.
type Exactness string

// The values of Exactness. The zero value: there was nothing to put back.
const (
	Exact    Exactness = "yes"
	NotExact Exactness = "no"
)

// Growth is what a contender has stored after a turn, since the first; in a repository
// elsewhere all that is there.
type Growth struct {
	Turn    int   `json:"turn"`
	Stored  int64 `json:"stored_bytes"`    // allocated in .git and stores
	Content int64 `json:"content_bytes"`   // what has been changed: each changed file as it was then, deflated
	Bytes   int64 `json:"bytes,omitempty"` // of the files of a repository elsewhere
	Files   int   `json:"files,omitempty"` // of such a repository
}
