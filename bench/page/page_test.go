package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The test of package bench/report writes this file.
func measured(t *testing.T) io.Reader {
	t.Helper()
	text, err := os.ReadFile("testdata/report.json")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(text)
}

func TestThePageNeedsNothingElse(t *testing.T) {
	var out bytes.Buffer
	if err := run(measured(t), &out, false); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, bad := range []string{"http:", "https:", "<script", "@import", "url(", "<link", "<img", "<b>a", "NaN", "Inf", "#0102", "Not measured"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, want := range []string{"prefers-color-scheme: dark", "borg is not installed", "kernel 6.18.1", "--workloads all", "nineteen runs of twenty", "Zed is not exact: 2 paths too many", "beyond the changed content; p50"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if n := strings.Count(text, "<svg"); n != 1 {
		t.Errorf("%d pictures", n)
	}
}

func TestAPageSaysWhatWasNotMeasured(t *testing.T) {
	var out bytes.Buffer
	if err := run(strings.NewReader(`{"results":[{"workload":"turns","lines":[{"contender":"rewind","left":"failed"}]}]}`), &out, false); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "Not measured in this run") || !strings.Contains(text, "rewind: failed") {
		t.Error(text)
	}
}

func TestWhatIsNoReportIsRefused(t *testing.T) {
	for _, text := range []string{"", "{", `{"Rondes": 7}`} {
		if err := run(strings.NewReader(text), io.Discard, false); err == nil {
			t.Errorf("%q made a page", text)
		}
	}
	if err := run(strings.NewReader(`{"results":[]}`), io.Discard, true); err == nil {
		t.Error("nothing made a plot")
	}
}

func TestThePlotStandsAloneAndNothingLeavesIt(t *testing.T) {
	var out bytes.Buffer
	if err := run(measured(t), &out, true); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(out.Bytes())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	_, shapes, _ := strings.Cut(out.String(), "</style>")
	for _, m := range regexp.MustCompile(`[ML,]([0-9.-]+)`).FindAllStringSubmatch(shapes, -1) {
		if v, err := strconv.ParseFloat(m[1], 64); err != nil || v < -1 || v > wide {
			t.Errorf("%s is outside", m[0])
		}
	}
	if !strings.Contains(shapes, "rewind, watched") || !strings.Contains(shapes, "100,000") || !strings.Contains(out.String(), `xmlns="http://www.w3.org/2000/svg"`) {
		t.Errorf("%s", shapes)
	}
}
