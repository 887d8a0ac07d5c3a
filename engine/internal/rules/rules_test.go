package rules

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/attr"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestWhatGitsConfigurationSaysAboutConverting(t *testing.T) {
	s := &Source{Config: gitconf.NewConfig([]gitconf.Setting{
		{Name: "core.autocrlf", Value: "Input"}, {Name: "core.eol", Value: "CRLF"}, {Name: "core.safecrlf", Value: "true"},
		{Name: "filter.a.b.clean", Value: "one"}, {Name: "filter.a.b.required", Value: "true"}, {Name: "filter.a.b.smudge", Value: "two"},
		{Name: "filter.lfs.process", Value: "three"}, {Name: "filter.clean", Value: "no name"},
	})}
	c := s.Clean()
	if c.AutoCRLF != attr.AutoInput || c.EOL != attr.EOLCRLF || !c.SafeCRLF || len(c.Filters) != 2 {
		t.Errorf("%+v", c)
	}
	if c.Filters["a.b"] != (attr.Filter{Clean: "one", Required: true}) || c.Filters["lfs"] != (attr.Filter{Process: "three"}) {
		t.Errorf("%+v", c.Filters)
	}
}

func TestAMalformedValueCountsAsGitsDefaultAndIsToldOf(t *testing.T) {
	var told []string
	s := &Source{Warn: func(text string) { told = append(told, text) }, Config: gitconf.NewConfig([]gitconf.Setting{
		{Name: "core.protectntfs", Value: "perhaps"}, {Name: "core.symlinks", Value: "false"},
	})}
	if got := s.Settings(); got.AllowNTFS || !got.NoSymlinks || len(told) != 1 || !strings.Contains(told[0], "protectntfs") {
		t.Errorf("%+v, told %q", got, told)
	}
}

func TestTheRulesOutsideOfTheTree(t *testing.T) {
	home := t.TempDir()
	layout := &gitconf.Layout{CommonDir: filepath.Join(home, ".git"), IndexFile: filepath.Join(home, ".git", "index")}
	for name, text := range map[string]string{".config/git/ignore": "user\n", ".git/info/exclude": "own\n"} {
		name = filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	s := &Source{Root: home, Home: home, Env: func(string) string { return "" }, Config: gitconf.NewConfig(nil), Layout: layout, Builtin: true}
	all := s.Read().All()
	if len(all) != 2 || string(all[0]) != "user\n" || string(all[1]) != "own\n" {
		t.Errorf("%q", all)
	}
	plain := &Source{Root: home, Home: home, Builtin: true}
	if all := plain.Read().All(); len(all) != 1 || !strings.Contains(string(all[0]), "node_modules/") {
		t.Errorf("%q", all)
	}
	if plain.Builtin = false; len(plain.Read().All()) != 0 {
		t.Error("a list that is switched off counts")
	}
	x, err := OpenIndex(layout, "")
	if index, again := x.Read(); err != nil || index != nil || again != nil {
		t.Errorf("nothing was added: %v, %v, %v", err, index, again)
	}
	if err := os.WriteFile(layout.IndexFile, []byte("no index"), 0o600); err != nil {
		t.Fatal(err)
	}
	layout.Algorithm = oid.SHA1
	x, err = OpenIndex(layout, "sub")
	if err != nil {
		t.Fatal(err)
	}
	var bad *IndexError
	if _, err := x.Read(); !errors.As(err, &bad) || bad.DotGit != "sub/.git" {
		t.Errorf("%v", err)
	}
}
