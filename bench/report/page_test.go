package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sample is a report with everything in it, the figures invented by a rule.
func sample() *Report {
	random := rand.New(rand.NewPCG(1, 1))
	seconds := map[string]float64{"rewind": 0.02, "rewind serve": 0.009, "rewind serve, watched": 0.005, "rewind --no-git": 0.015, "OpenCode": 0.05, "pi-rewind": 0.08, "pi-rewind-hook": 0.4, "Zed": 0.05, "Cline": 0.06, "restic": 0.9, "borg": 1.1, "git status": 0.03, "list and lstat": 0.01}
	names := []string{"rewind", "rewind --no-git", "rewind serve", "rewind serve, watched", "OpenCode", "pi-rewind", "pi-rewind-hook", "Zed", "Cline", "restic", "borg", "git status", "list and lstat"}
	r := &Report{Time: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), Command: "rewind bench --workloads all", Machine: Machine{System: "linux/amd64", Kernel: "6.18.1", Processors: 2, Memory: 24 << 30, Git: "2.39.5"}, Rounds: 9}
	line := func(name string, rounds int, times float64) Line {
		l := Line{Contender: name, PeakBytes: int64(8+random.IntN(60)) << 20, Exact: Exact}
		if strings.HasPrefix(name, "git") || strings.HasPrefix(name, "list") {
			l.Exact = ""
		}
		for range rounds {
			l.Seconds = append(l.Seconds, times*seconds[name]*math.Exp(random.NormFloat64()*0.15))
			l.DiskBytes = append(l.DiskBytes, int64(random.IntN(100_000)))
		}
		return l
	}
	add := func(workload string, files, rounds int, times func(name string) float64) *Result {
		res := Result{Workload: workload, About: "one file has other bytes; a snapshot", Place: "ext4", Files: files, Changed: 1}
		for _, name := range names {
			res.Lines = append(res.Lines, line(name, rounds, times(name)))
		}
		res.Compare()
		r.Results = append(r.Results, res)
		return &r.Results[len(r.Results)-1]
	}
	one := func(string) float64 { return 1 }
	add("edit-1", 10_000, 9, one).Lines[7].Exact = NotExact
	r.Results[0].Lines[7].Inexact = "2 paths too many (<b>a</b>)"
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		add("size", n, 9, func(name string) float64 {
			if strings.Contains(name, "watched") {
				return 1
			}
			return 0.3 + 0.7*float64(n)/10_000
		})
	}
	add("restore-1000", 10_000, 9, func(string) float64 { return 8 }).Lines[4].Exact = NotExact
	res := add("turns", 10_000, 1000, one)
	for i := range res.Lines {
		for turn := 0; turn <= 1000; turn += 10 {
			res.Lines[i].Growth = append(res.Lines[i].Growth, Growth{turn, int64(turn) * int64(3000*(i+1)), int64(turn) * 2500})
		}
	}
	r.Contenders = []Contender{{Name: "rewind", Records: "every file"}, {Name: "jj", Absent: "jj is not installed"}}
	return r
}

func TestThePageNeedsNothingElse(t *testing.T) {
	var page bytes.Buffer
	if err := sample().HTML(&page); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for _, bad := range []string{"http:", "https:", "<script", "@import", "url(", "<link", "<img", "<b>a", "NaN", "Inf"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, want := range []string{"prefers-color-scheme: dark", "One edited file, over the number of files", "Every turn, a dot", "What is stored", "Bytes a turn", "Memory a turn", "jj is not installed", "kernel 6.18.1", Legend[2][1][:20], "--workloads all"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if n := strings.Count(text, "<svg"); n < 6 {
		t.Errorf("%d pictures", n)
	}
	if out := os.Getenv("REPORT_PAGE"); out != "" { // to be looked at
		if err := os.WriteFile(out, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAPageSaysWhatWasNotMeasured(t *testing.T) {
	var page bytes.Buffer
	if err := (&Report{Results: []Result{{Workload: "turns", Lines: []Line{{Contender: "rewind", Left: "failed"}}}}}).HTML(&page); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), "Not measured in this run"); n != 6 {
		t.Errorf("%d plots are said to be missing:\n%s", n, &page)
	}
}

var place = regexp.MustCompile(`(-?[0-9]+\.[0-9])`)

func TestAPictureIsWholeAndNothingLeavesIt(t *testing.T) {
	r := sample()
	for _, p := range []plot{r.sizes(true), r.turns(), r.growth(), r.bytes(), r.memory(), r.restores()} {
		var view struct {
			ViewBox string `xml:"viewBox,attr"`
		}
		if err := xml.Unmarshal([]byte(p.picture), &view); err != nil {
			t.Fatalf("%s: %v", p.title, err)
		}
		for d := xml.NewDecoder(strings.NewReader(p.picture)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", p.title, err)
			}
		}
		var x, y, width, height float64
		if _, err := fmt.Sscan(view.ViewBox, &x, &y, &width, &height); err != nil {
			t.Fatal(err)
		}
		_, shapes, _ := strings.Cut(p.picture, "</style>")
		for _, m := range place.FindAllString(shapes, -1) {
			if v, err := strconv.ParseFloat(m, 64); err != nil || v < -8 || v > max(width, height) {
				t.Errorf("%s: %v is outside of %v", p.title, m, view.ViewBox)
			}
		}
	}
}

func TestNamesDoNotHideOneAnother(t *testing.T) {
	for _, places := range [][]float64{{10, 10, 10, 10}, {0, 5, 100, 101, 102, 200}, {300, 300, 299, 1}} {
		moved := spread(places, 12, 0, 300)
		for i := range moved {
			for j := range moved {
				if i != j && math.Abs(moved[i]-moved[j]) < 12-1e-9 || moved[i] < 0 || moved[i] > 300 {
					t.Errorf("%v became %v", places, moved)
				}
			}
		}
	}
}

func TestBenchstatHasOneLineForEachRound(t *testing.T) {
	r := sample()
	var out bytes.Buffer
	if err := r.Benchstat(&out); err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^BenchmarkBench/workload=[a-z0-9-]+/contender=[A-Za-z_-]+/files=[0-9]+-2 1 [0-9]+ ns/op [0-9]+ disk-B/op$`)
	want := 0
	for _, res := range r.Results {
		for _, l := range res.Lines {
			want += len(l.Seconds)
		}
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")[2:]
	for _, l := range lines {
		if !line.MatchString(l) {
			t.Fatalf("not of the format: %q", l)
		}
	}
	if len(lines) != want {
		t.Errorf("%d lines, not %d", len(lines), want)
	}
}

func TestTheTableTellsWhatIsNotExactAndWhoIsNotThere(t *testing.T) {
	var out bytes.Buffer
	if err := sample().Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Zed is not exact: 2 paths too many", "jj: not run: jj is not installed", "95 %", "beyond the changed content", "2 processors"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, &out)
		}
	}
}

func TestNamesAreShortEnoughForTheirPlaces(t *testing.T) {
	const letter = 6.95 // of the widest of the usual typefaces, in bold
	for name := range looks {
		if width := letter * float64(len(short(name))); width > rightOf-17 {
			t.Errorf("%q takes %.0f of %d", short(name), width, rightOf-17)
		}
	}
	for _, name := range []string{"rewind serve --no-git, watched", "git status, untracked cache", "lstat of known names"} {
		if width := letter * float64(len(short(name))); width > names {
			t.Errorf("%q takes %.0f of %d", short(name), width, names)
		}
	}
}
