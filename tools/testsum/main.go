// Command testsum reads what `go test -json` prints and tells it to a person:
// one line for a package, the whole output of what failed, the reason of each
// skipped test, and a last line "N passed, N failed, N skipped".
//
// It exits with 1 if anything failed, did not build, or if no test ran.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// An event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of a build that failed
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

// A sum is what has been seen so far.
type sum struct {
	out                     io.Writer
	passed, failed, skipped int
	output                  map[string]*strings.Builder // of a test or package until it ends
	broken                  map[string]bool             // packages with a failed test
}

func main() {
	s := sum{out: os.Stdout, output: map[string]*strings.Builder{}, broken: map[string]bool{}}
	if err := s.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(2)
	}
	fmt.Fprintf(s.out, "\n%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	if s.failed > 0 || s.passed == 0 {
		os.Exit(1)
	}
}

// read takes in events; a line that is none is passed on as it is.
func (s *sum) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if len(line) > 0 {
			if json.Unmarshal(line, &e) == nil {
				s.take(e)
			} else {
				s.out.Write(line)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// take counts one event.
func (s *sum) take(e event) {
	key := e.Package + e.ImportPath + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		if s.output[key] == nil {
			s.output[key] = &strings.Builder{}
		}
		s.output[key].WriteString(e.Output)
	case "build-fail":
		s.show(key)
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.endPackage(e, key)
		} else {
			s.endTest(e, key)
		}
	}
}

// endTest counts a test and shows what it printed if that is of interest.
func (s *sum) endTest(e event, key string) {
	switch e.Action {
	case "pass":
		s.passed++
	case "fail":
		s.failed++
		s.broken[e.Package] = true
		s.show(key)
	case "skip":
		s.skipped++
		s.show(key)
	}
	delete(s.output, key)
}

// endPackage prints the line of a package. One that failed without a failed
// test (it did not build, it timed out, it called os.Exit) counts as a failure.
func (s *sum) endPackage(e event, key string) {
	word := map[string]string{"pass": "ok  ", "fail": "FAIL", "skip": "-   "}[e.Action]
	fmt.Fprintf(s.out, "%s %s %.1fs\n", word, e.Package, e.Elapsed)
	if e.Action == "fail" && !s.broken[e.Package] {
		s.failed++
		for open := range s.output {
			if strings.HasPrefix(open, e.Package+" ") && open != key {
				s.show(open) // the test that was running when the program ended
			}
		}
		if e.FailedBuild == "" { // else the compiler's words have been shown
			s.show(key)
		}
	}
	delete(s.output, key)
}

// show prints what a test, a package or a build has printed.
func (s *sum) show(key string) {
	if text := s.output[key]; text != nil {
		io.WriteString(s.out, text.String())
	}
}
