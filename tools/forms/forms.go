// Package forms checks the forms of .github/ISSUE_TEMPLATE against what GitHub documents
// of them ("Syntax for issue forms", "Syntax for GitHub's form schema"): GitHub shows a
// form that is not so to nobody, and says it only on a page of its own.
package forms

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
)

// A form is all that an issue form may have. Labels and assignees may also be one text
// with commas, which ours are not.
type form struct {
	Name        string    `yaml:"name"`
	Description string    `yaml:"description"`
	Title       string    `yaml:"title"`
	Type        string    `yaml:"type"`
	Labels      []string  `yaml:"labels"`
	Assignees   []string  `yaml:"assignees"`
	Projects    []string  `yaml:"projects"`
	Body        []element `yaml:"body"`
}

type element struct {
	Type        string     `yaml:"type"`
	ID          string     `yaml:"id"`
	Attributes  attributes `yaml:"attributes"`
	Validations struct {
		Required *bool `yaml:"required"`
	} `yaml:"validations"`
}

type attributes struct {
	Label       string      `yaml:"label"`
	Description string      `yaml:"description"`
	Placeholder string      `yaml:"placeholder"`
	Value       string      `yaml:"value"`
	Render      string      `yaml:"render"`
	Multiple    bool        `yaml:"multiple"`
	Default     *int        `yaml:"default"`
	Options     []yaml.Node `yaml:"options"`
}

// A box is an option of checkboxes.
type box struct {
	Label    string `yaml:"label"`
	Required bool   `yaml:"required"`
}

// config is ISSUE_TEMPLATE/config.yml.
type config struct {
	Blank *bool `yaml:"blank_issues_enabled"`
	Links []struct {
		Name  string `yaml:"name"`
		URL   string `yaml:"url"`
		About string `yaml:"about"`
	} `yaml:"contact_links"`
}

func decode(text []byte, to any) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	return d.Decode(to)
}

// Config says what is wrong with the config.yml beside the forms.
func Config(text []byte) (wrong []string) {
	var c config
	if err := decode(text, &c); err != nil {
		return []string{err.Error()}
	}
	for i, l := range c.Links {
		if l.Name == "" || l.About == "" || !regexp.MustCompile(`^https?://`).MatchString(l.URL) {
			wrong = append(wrong, fmt.Sprintf("contact link %d needs a name, a url and an about", i+1))
		}
	}
	return wrong
}

var idOf = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// Form says what is wrong with a form.
func Form(text []byte) (wrong []string) {
	var f form
	if err := decode(text, &f); err != nil {
		return []string{err.Error()}
	}
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for what, text := range map[string]string{"name": f.Name, "description": f.Description} {
		if text == "" {
			say("it has no %s", what)
		}
	}
	ids, labels := map[string]bool{}, map[string]bool{}
	asks := false
	for i, e := range f.Body {
		for _, w := range e.wrong() {
			say("element %d: %s", i+1, w)
		}
		asks = asks || e.Type != "markdown"
		if e.ID != "" && ids[e.ID] {
			say("element %d: the id %q is not the only one", i+1, e.ID)
		}
		if label := e.Attributes.Label; label != "" && labels[label] {
			say("element %d: the label %q is not the only one", i+1, label)
		}
		ids[e.ID], labels[e.Attributes.Label] = true, true
	}
	if !asks {
		say("nothing is asked")
	}
	return wrong
}

func (e *element) wrong() (wrong []string) {
	a := e.Attributes
	say := func(bad bool, text string) {
		if bad {
			wrong = append(wrong, e.Type+": "+text)
		}
	}
	say(e.ID != "" && !idOf.MatchString(e.ID), "an id has letters, digits, - and _ alone")
	say(e.Type != "markdown" && a.Label == "", "it has no label")
	say(e.Type != "textarea" && a.Render != "", "only a textarea is rendered")
	say(e.Type != "dropdown" && (a.Multiple || a.Default != nil), "only a dropdown has a default, or several answers")
	say(e.Type != "dropdown" && e.Type != "checkboxes" && a.Options != nil, "it has options")
	switch e.Type {
	case "textarea", "input":
	case "markdown":
		say(a.Value == "", "it has no value")
		say(e.ID != "" || e.Validations.Required != nil || a.Label+a.Description+a.Placeholder != "", "it has a value alone")
	case "dropdown":
		var seen []string
		for _, n := range a.Options {
			say(n.Kind != yaml.ScalarNode || n.Value == "" || n.Value == "None" || slices.Contains(seen, n.Value), "an option is a text, once, and not None")
			seen = append(seen, n.Value)
		}
		say(len(seen) == 0, "it has no options")
		say(a.Default != nil && (*a.Default < 0 || *a.Default >= len(seen)), "its default is no option")
	case "checkboxes":
		for _, n := range a.Options {
			var b box
			say(n.Decode(&b) != nil || b.Label == "", "an option has a label")
		}
		say(len(a.Options) == 0, "it has no options")
	default:
		say(true, "there is no such type")
	}
	return wrong
}
