package report

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// sample is a report with everything in it, the figures invented by a rule.
func sample() *Report {
	random := rand.New(rand.NewPCG(1, 1))
	seconds := map[string]float64{"rewind": 0.02, "rewind serve, watched": 0.005, "OpenCode": 0.05, "Zed": 0.05, "restic": 0.9, "git status": 0.03}
	names := []string{"rewind", "rewind serve, watched", "OpenCode", "Zed", "restic", "git status"}
	r := &Report{Time: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), Command: "rewind bench --workloads all", Machine: Machine{System: "linux/amd64", Kernel: "6.18.1", Processors: 2, Memory: 24 << 30, Git: "2.39.5"}, Rounds: 9}
	line := func(name string, rounds int, times float64) Line {
		l := Line{Contender: name, PeakBytes: int64(8+random.IntN(60)) << 20, Exact: Exact}
		if name == "git status" {
			l.Exact = ""
		}
		for range rounds {
			l.Seconds = append(l.Seconds, math.Round(1e6*times*seconds[name]*math.Exp(random.NormFloat64()*0.15))/1e6)
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
	add("edit-1", 10_000, 9, one).Lines[3].Exact = NotExact
	r.Results[0].Lines[3].Inexact = "2 paths too many (<b>a</b>)"
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		add("size", n, 9, func(name string) float64 {
			if strings.Contains(name, "watched") {
				return 1
			}
			return 0.3 + 0.7*float64(n)/10_000
		})
	}
	add("restore-1000", 10_000, 9, func(string) float64 { return 8 }).Lines[2].Exact = NotExact
	res := add("turns", 10_000, 20, one)
	for i := range res.Lines {
		for turn := range 21 {
			res.Lines[i].Growth = append(res.Lines[i].Growth, Growth{Turn: turn, Stored: int64(turn * 3000 * (i + 1)), Content: int64(turn * 2500)})
		}
	}
	for _, n := range []int{1000, 100_000} {
		for _, verb := range []string{"restore", "undo"} {
			add("watched-back", n, 9, one).Verb = verb
		}
	}
	res = add("remote", 10_000, 9, one)
	res.Verb, res.Lines = "turns", res.Lines[:1]
	res.Lines[0].Growth = []Growth{{Turn: 9, Stored: 40960, Content: 1000, Bytes: 23456, Files: 12}}
	res.Lines[0].Requests = []int{8, 9, 8, 8, 8, 8, 8, 8, 8}
	r.Contenders = []Contender{{Name: "rewind", Records: "every file"}, {Name: "borg", Absent: "borg is not installed"}}
	return r
}

// The page is a program of its own, in another module: what it reads in its test is what
// is written here. REPORT_WRITE=1 writes it anew.
func TestThePageIsTestedWithWhatIsWrittenHere(t *testing.T) {
	const file = "../page/testdata/report.json"
	got, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("REPORT_WRITE") == "1" {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is another report: %v", file, err)
	}
}

func TestBenchstatHasOneLineForEachRound(t *testing.T) {
	r := sample()
	var out bytes.Buffer
	if err := r.Benchstat(&out); err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^BenchmarkBench/workload=[a-z0-9_-]+/contender=[A-Za-z_-]+/files=[0-9]+-2 1 [0-9]+ ns/op [0-9]+ disk-B/op$`)
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
	for _, want := range []string{"Zed is not exact: 2 paths too many", "borg: not run: borg is not installed", "95 %", "beyond the changed content", "2 processors", "rewind: after 9 turns 23,456 bytes in 12 files, 40,960 allocated", "rewind: 8 requests, 8 to 9", "median ms, 1,000 files on ext4, two of them edited", "  (2) rewind serve, watched"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, &out)
		}
	}
}
