package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mgechev/revive/config"
	"github.com/mgechev/revive/lint"
)

// style is what revive holds: comments, files of 400 lines, 4 parameters after the context, names.
func style(root string) (found []string, err error) {
	conf := lint.Config{Confidence: 0.8, Severity: lint.SeverityError, Rules: lint.RulesConfig{
		"exported":          {Arguments: []any{"disableStutteringCheck"}},
		"package-comments":  {},
		"file-length-limit": {Arguments: []any{map[string]any{"max": int64(400)}}},
		"argument-limit":    {Arguments: []any{int64(5)}, Exclude: []string{"TEST"}},
		"var-naming":        {},
		"package-naming":    {Arguments: []any{map[string]any{"userDefinedBadNames": []any{"helper", "helpers", "manager"}, "skipCollisionWithCommonStd": true}}},
	}}
	config.Normalize(&conf)
	for name, rule := range conf.Rules {
		if err := rule.Initialize(); err != nil {
			return nil, err
		}
		conf.Rules[name] = rule
	}
	rules, err := config.GetLintingRules(&conf, nil)
	if err != nil {
		return nil, err
	}
	packages, err := packagesBelow(root)
	if err != nil {
		return nil, err
	}
	linter := lint.New(os.ReadFile, 64)
	failures, err := linter.Lint(packages, rules, conf)
	if err != nil {
		return nil, err
	}
	for f := range failures {
		if f.Confidence >= conf.Confidence {
			found = append(found, fmt.Sprintf("%s:%d: %s (%s)", f.Filename(), f.Position.Start.Line, f.Failure, f.RuleName))
		}
	}
	slices.Sort(found)
	return found, nil
}

// packagesBelow are the Go files of a module, by packages, whatever system they are for.
func packagesBelow(root string) (all [][]string, err error) {
	byName := map[string][]string{}
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if path != root && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata" || e.Name() == "node_modules" || isModule(path)) {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly)
		if err == nil {
			at := filepath.Dir(path) + " " + file.Name.Name
			byName[at] = append(byName[at], path)
		}
		return err
	})
	for _, files := range byName {
		all = append(all, files)
	}
	return all, err
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
