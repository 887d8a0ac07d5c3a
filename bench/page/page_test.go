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
	if err := run(measured(t), &out, ""); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, bad := range []string{"http:", "https:", "<script", "@import", "url(", "<link", "<img", "<b>a", "NaN", "Inf", "#0102", "Not measured"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, want := range []string{"prefers-color-scheme: dark", "borg is not installed", "kernel 6.18.1", "--workloads all", "nineteen runs of twenty", "Zed is not exact: 2 paths too many", "beyond the changed content; p50", "100,000 files on ext4, two of them edited", "watched-back, undo"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if n := strings.Count(text, "<svg"); n != 2 { // there is nothing of commands beside a watcher
		t.Errorf("%d pictures", n)
	}
}

func TestTheTablesAreWhatTheVerbsTake(t *testing.T) {
	var out bytes.Buffer
	if err := printTables(measured(t), &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "two of them edited"); n != 2 || strings.Count(out.String(), " undo\n") != 2 {
		t.Errorf("%d tables: %s", n, &out)
	}
}

func TestAPageSaysWhatWasNotMeasured(t *testing.T) {
	var out bytes.Buffer
	if err := run(strings.NewReader(`{"results":[{"workload":"turns","lines":[{"contender":"rewind","left":"failed"}]}]}`), &out, ""); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "Not measured in this run") || !strings.Contains(text, "rewind: failed") {
		t.Error(text)
	}
}

func TestWhatIsNoReportIsRefused(t *testing.T) {
	for _, text := range []string{"", "{", `{"Rondes": 7}`} {
		if err := run(strings.NewReader(text), io.Discard, ""); err == nil {
			t.Errorf("%q made a page", text)
		}
	}
	if err := run(strings.NewReader(`{"results":[]}`), io.Discard, "size"); err == nil {
		t.Error("nothing made a plot")
	}
}

func TestAPlotStandsAloneAndNothingLeavesIt(t *testing.T) {
	for alone, has := range map[string]string{"size": "rewind, watched", "rewind serve, watched": "undo"} {
		var out bytes.Buffer
		if err := run(measured(t), &out, alone); err != nil {
			t.Fatal(err)
		}
		standsAlone(t, out.String(), has)
	}
}

// standsAlone checks one plot, in which a line has that name.
func standsAlone(t *testing.T, text, has string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	_, shapes, _ := strings.Cut(text, "</style>")
	for _, m := range regexp.MustCompile(`[ML,]([0-9.-]+)`).FindAllStringSubmatch(shapes, -1) {
		if v, err := strconv.ParseFloat(m[1], 64); err != nil || v < -1 || v > wide {
			t.Errorf("%s is outside", m[0])
		}
	}
	if !strings.Contains(shapes, has) || !strings.Contains(shapes, "100,000") || !strings.Contains(text, `xmlns="http://www.w3.org/2000/svg"`) {
		t.Errorf("%s", shapes)
	}
}
