// Command testsum reads what `go test -json` prints and tells it to a person:
// one line for a package as it ends, the whole output of what failed, the reason
// of each skipped test, and a last line "N passed, N failed, N skipped". When
// nothing has been said for a while, it says what is running.
//
// It exits with 1 if anything failed, did not build, or if no test ran.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// quiet is how long nothing may be said.
const quiet = 20 * time.Second

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
	began                   time.Time
	running                 map[string]time.Time // packages whose tests run, and since when
	ended                   int                  // packages
}

func newSum(out io.Writer, now time.Time) *sum {
	return &sum{out: out, output: map[string]*strings.Builder{}, broken: map[string]bool{}, began: now, running: map[string]time.Time{}}
}

func main() {
	s := newSum(os.Stdout, time.Now())
	if err := s.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(2)
	}
	fmt.Fprintf(s.out, "\n%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	if s.failed > 0 || s.passed == 0 {
		os.Exit(1)
	}
}

// read takes in events until r ends, and says what is running when nothing else
// is said.
func (s *sum) read(r io.Reader) error {
	lines, failed := make(chan []byte), make(chan error, 1)
	go func() {
		buffered := bufio.NewReader(r)
		for {
			line, err := buffered.ReadBytes('\n')
			if len(line) > 0 {
				lines <- line
			}
			if err != nil {
				failed <- err
				close(lines)
				return
			}
		}
	}()
	silence := time.NewTicker(quiet)
	defer silence.Stop()
	for {
		select {
		case line, more := <-lines:
			if !more {
				if err := <-failed; err != io.EOF {
					return err
				}
				return nil
			}
			if s.line(line, time.Now()) {
				silence.Reset(quiet)
			}
		case now := <-silence.C:
			s.progress(now)
		}
	}
}

// line takes in one line, and reports whether it ended a package. A line that
// is no event is passed on as it is.
func (s *sum) line(line []byte, now time.Time) bool {
	var e event
	if json.Unmarshal(line, &e) != nil {
		s.out.Write(line)
		return false
	}
	if e.Action == "start" {
		s.running[e.Package] = now
	}
	s.take(e)
	_, running := s.running[e.Package]
	ended := running && e.Test == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip")
	if ended {
		delete(s.running, e.Package)
	}
	return ended
}

// progress says how far the run is: whoever waits sees that it goes on.
func (s *sum) progress(now time.Time) {
	if len(s.running) == 0 {
		fmt.Fprintf(s.out, "...  %s: building; %d packages ended\n", now.Sub(s.began).Round(time.Second), s.ended)
		return
	}
	var names []string
	for name, since := range s.running {
		names = append(names, fmt.Sprintf("%s (%s)", name, now.Sub(since).Round(time.Second)))
	}
	slices.Sort(names)
	fmt.Fprintf(s.out, "...  %s: %d packages ended, %d tests passed; running: %s\n", now.Sub(s.began).Round(time.Second), s.ended, s.passed, strings.Join(names, ", "))
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
	s.ended++
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
