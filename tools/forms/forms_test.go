package forms

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheFormsAreWhatGitHubDocuments(t *testing.T) {
	files, err := filepath.Glob("../../.github/ISSUE_TEMPLATE/*")
	if err != nil || len(files) < 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		check := Form
		if filepath.Base(name) == "config.yml" {
			check = Config
		} else if filepath.Ext(name) != ".yml" {
			t.Errorf("%s is no form", name)
		}
		for _, wrong := range check(text) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
}

const whole = `name: n
description: d
labels: [a]
body:
  - type: markdown
    attributes: {value: v}
  - type: textarea
    id: one
    attributes: {label: l, render: text}
    validations: {required: true}
  - type: dropdown
    id: two
    attributes: {label: m, options: [x, y], default: 1}
  - type: checkboxes
    attributes: {label: o, options: [{label: x, required: true}]}
`

func TestABrokenFormIsFound(t *testing.T) {
	if wrong := Form([]byte(whole)); len(wrong) != 0 {
		t.Fatalf("a whole one: %q", wrong)
	}
	for change, want := range map[string]string{
		"name: n→nam: n":                  "field nam not found",
		"name: n\n→":                      "it has no name",
		"description: d→description: ''":  "it has no description",
		"labels: [a]→labels: {a: b}":      "cannot unmarshal",
		"type: textarea→type: text":       "no such type",
		"id: two→id: one":                 "not the only one",
		"id: two→id: a b":                 "an id has",
		"{label: l, →{":                   "it has no label",
		"label: m,→label: l,":             "label \"l\" is not the only one",
		"{value: v}→{}":                   "it has no value",
		"{value: v}→{value: v, label: l}": "a value alone",
		"required: true}\n  - type: d→required: yes please}\n  - type: d": "cannot unmarshal",
		"[x, y]→[]":             "it has no options",
		"[x, y]→[x, x]":         "an option is a text",
		"[x, y]→[x, None]":      "an option is a text",
		"default: 1→default: 2": "its default is no option",
		"{label: x, required: true}→{required: true}":               "an option has a label",
		"    attributes: {label: l, render: text}\n→    label: l\n": "field label not found",
	} {
		was, is, _ := strings.Cut(change, "→")
		if !strings.Contains(whole, was) {
			t.Fatalf("%q is not in it", was)
		}
		if wrong := strings.Join(Form([]byte(strings.Replace(whole, was, is, 1))), "\n"); !strings.Contains(wrong, want) {
			t.Errorf("%s: %q, want %q", change, wrong, want)
		}
	}
	if wrong := Form([]byte("name: n\ndescription: d\nbody:\n  - type: markdown\n    attributes: {value: v}\n")); len(wrong) != 1 {
		t.Errorf("nothing is asked: %q", wrong)
	}
	if wrong := Config([]byte("contact_links:\n  - name: n\n    url: u\n    about: a\n")); len(wrong) != 1 {
		t.Errorf("no address: %q", wrong)
	}
}
