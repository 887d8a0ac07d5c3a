package main

import (
	"strings"
	"testing"
	"time"
)

// events are those of a run: one package passes, one fails, one does not build.
var events = []string{
	`{"Action":"start","Package":"a"}`,
	`{"Action":"output","Package":"a","Test":"TestGood","Output":"quiet\n"}`,
	`{"Action":"pass","Package":"a","Test":"TestGood"}`,
	`{"Action":"output","Package":"a","Test":"TestRoot","Output":"SKIPPED: no root\n"}`,
	`{"Action":"skip","Package":"a","Test":"TestRoot"}`,
	`{"Action":"pass","Package":"a","Elapsed":1.25}`,
	`{"Action":"start","Package":"b"}`,
	`{"Action":"output","Package":"b","Test":"TestBad","Output":"all that it said\n"}`,
	`{"Action":"fail","Package":"b","Test":"TestBad"}`,
	`{"Action":"fail","Package":"b","Elapsed":2}`,
	`{"Action":"build-output","ImportPath":"c","Output":"c.go:1: wrong\n"}`,
	`{"Action":"build-fail","ImportPath":"c"}`,
	`{"Action":"fail","Package":"c","FailedBuild":"c"}`,
}

func TestEachPackageHasALineAndFailuresAreInFull(t *testing.T) {
	var out strings.Builder
	s := newSum(&out, time.Time{})
	if err := s.read(strings.NewReader(strings.Join(events, "\n") + "\nno event\n")); err != nil {
		t.Fatal(err)
	}
	want := "SKIPPED: no root\nok   a 1.2s\nall that it said\nFAIL b 2.0s\nc.go:1: wrong\nFAIL c 0.0s\nno event\n"
	if out.String() != want {
		t.Errorf("said\n%s\nwant\n%s", &out, want)
	}
	if s.passed != 1 || s.failed != 2 || s.skipped != 1 {
		t.Errorf("counted %d passed, %d failed, %d skipped", s.passed, s.failed, s.skipped)
	}
}

func TestProgressNamesWhatIsRunning(t *testing.T) {
	var out strings.Builder
	began := time.Unix(0, 0)
	s := newSum(&out, began)
	s.progress(began.Add(20 * time.Second))
	for i, line := range events[:7] {
		s.line([]byte(line), began.Add(time.Duration(30+i)*time.Second))
	}
	s.progress(began.Add(time.Minute))
	for _, want := range []string{
		"...  20s: building; 0 packages ended\n",
		"...  1m0s: 1 packages ended, 1 tests passed; running: b (24s)\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("said\n%s\nwithout %q", &out, want)
		}
	}
}
