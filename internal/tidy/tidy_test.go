package tidy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestTheModuleIsTidy(t *testing.T) {
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("not run from its own directory: %v", err)
	}
	found, err := check(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range found {
		t.Error(b)
	}
}

// breaches are files that break one rule each, beside a package that is in order.
var breaches = []struct{ name, file, text, want string }{
	{"a walk that names a function that is gone", "ARCHITECTURE.md", strings.Replace(inOrder, "`store.Close`", "`store.Shut`", 1),
		"ARCHITECTURE.md:2: names store.Shut, which is not declared in cas/store.go"},
	{"a walk that names a file that is gone", "ARCHITECTURE.md", strings.Replace(inOrder, "cas/store.go", "cas/sac.go", 1),
		"ARCHITECTURE.md:2: names cas/sac.go, which does not exist"},
	{"a function beside the walks that is gone", "ARCHITECTURE.md", "Beside it `cas/store.go` (`lost`) works.\n" + inOrder,
		"ARCHITECTURE.md:1: names lost, which is not declared in cas/store.go"},
	{"a step without a place", "ARCHITECTURE.md", inOrder + "2. Something is done.\n",
		"ARCHITECTURE.md:6: a step of a walk names no file and function"},
	{"a walk that is missing", "ARCHITECTURE.md", strings.Replace(inOrder, "## One restore", "## Another", 1),
		"ARCHITECTURE.md:1: has no walk \"## One restore\""},
	{"a long walk", "ARCHITECTURE.md", inOrder + many("2. `cas/c%d.go` (`F`)\n", 12),
		"ARCHITECTURE.md:1: \"## One restore\" names 13 files, over 12"},
	{"a walk through many lines", "cas/store.go", strings.Replace(casInOrder, "open() {}", "open() {\n"+strings.Repeat("\n", 1500)+"}", 1),
		"ARCHITECTURE.md:1: \"## One restore\" goes through 1502 lines, over 1500"},
	{"a package without a place", "stray/a.go", "// Package stray is lost.\npackage stray\n",
		"stray/a.go:2: package stray is not in the table of layers"},
	{"an import against the layers", "cas/a.go",
		"package cas\n\nimport _ \"" + module + "/gitbridge\"\n", "cas/a.go:3: cas may not import gitbridge"},
	{"an outside module in the wrong place", "ledger/a.go",
		"// Package ledger.\npackage ledger\n\nimport _ \"go.etcd.io/bbolt\"\n",
		"ledger/a.go:4: ledger may not import go.etcd.io/bbolt, which is for cas internal/stattable"},
	{"an unknown outside module", "cas/a.go", "package cas\n\nimport _ \"example.org/x/y\"\n",
		"cas/a.go:3: example.org/x/y is not in the table of outside modules"},
	{"a program that is started elsewhere", "cas/a.go", "package cas\n\nimport _ \"os/exec\"\n",
		"cas/a.go:3: cas may not import os/exec, which is for "},
	{"a table of the store named beside its package", "engine/internal/plan/a.go",
		"// Package plan.\npackage plan\n\nfunc f() { v.Table(name) }\n", "engine/internal/plan/a.go:4: a table of the store is for engine/internal/records alone"},
	{"no package comment", "engine/a.go", "package engine\n", "engine/a.go:1: package engine has no comment"},
	{"an empty name", "cas/util/a.go", "// Package util.\npackage util\n", "cas/util/a.go:2: package name util says nothing"},
	{"a long function", "cas/a.go", "package cas\n\nfunc f() {\n" + strings.Repeat("\tg()\n", 69) + "}\n",
		"cas/a.go:3: function of 71 lines, over 70"},
	{"a long function in a test", "cas/a_test.go", "package cas\n\nvar f = func() {\n" + strings.Repeat("\tg()\n", 69) + "}\n",
		"cas/a_test.go:3: function of 71 lines, over 70"},
	{"a long file", "cas/a.go", "package cas\n" + strings.Repeat("\n", 400), "cas/a.go:401: file of 401 lines, over 400"},
	{"a long file of the extension", "extension/a.ts", strings.Repeat("\n", 401), "extension/a.ts:401: file of 401 lines, over 400"},
	{"many exports", "cas/a.go", "package cas\n\n" + many("// V is.\nvar V%d int\n", 41), "package cas exports 41 names, over 40"},
	{"a face of many lines", "engine/a.go", "// Package engine.\npackage engine\n" + strings.Repeat("\n", 5000), "package engine has 1 files of 5001 lines, over 30 or 5000: find the next room below it"},
	{"a file of the engine that is not on the map", "engine/stray.go", "// Package engine.\npackage engine\n\nfunc f() {}\n", "ARCHITECTURE.md:1: does not say what engine/stray.go is for"},
	{"a room that is not on the map", "engine/internal/plan/a.go", "// Package plan.\npackage plan\n", "ARCHITECTURE.md:1: does not name the room engine/internal/plan"},
	{"many methods", "cas/a.go", "package cas\n\n// T is.\ntype T int\n\n" + many("// M is.\nfunc (t *T) M%d() {}\n", 90), "package cas exports 91 names and methods, over 90"},
	{"a wide interface", "cas/a.go", "package cas\n\ntype i interface {\n" + many("\tM%d()\n", 6) + "}\n",
		"cas/a.go:3: interface of 6 methods, over 5"},
	{"a silent function", "cas/a.go", "package cas\n\nfunc Open() {}\n", "cas/a.go:3: exported Open has no comment"},
	{"a silent method", "cas/a.go", "package cas\n\n// S is.\ntype S struct{}\n\nfunc (s *S) Close() {}\n",
		"cas/a.go:6: exported Close has no comment"},
	{"a silent type in a group", "cas/a.go", "package cas\n\n// All.\ntype (\n\tA int\n)\n", "cas/a.go:5: exported A has no comment"},
	{"a silent variable", "cas/a.go", "package cas\n\nvar ErrX error\n", "cas/a.go:3: exported ErrX has no comment"},
	{"a comment that names what is gone", "cas/a.go", "package cas\n\nfunc f() {\n\tg() // as oldName does\n}\n",
		"cas/a.go:4: names oldName, which is nowhere in the code"},
	{"a comment that names a test that is gone", "cas/a.go", "package cas\n\n// See TestThatItHolds.\nfunc f() {}\n",
		"cas/a.go:3: names TestThatItHolds, which is nowhere in the code"},
	{"a comment that names a file that is gone", "cas/a.go", "package cas\n\n// See sac.go.\nfunc f() {}\n",
		"cas/a.go:3: names sac.go, which is nowhere in the code"},
	{"a comment with the name of something else", "cas/a.go", "package cas\n\nvar g, theOther int\n\n// theOther does.\nfunc f() {}\n",
		"cas/a.go:5: the comment of f begins with theOther"},
	{"init", "cas/a.go", "package cas\n\nfunc init() {}\n", "cas/a.go:3: init hides work from its caller"},
	{"many parameters", "cas/a.go", "package cas\n\nfunc f(ctx context.Context, a, b, c, d, e int) {}\n",
		"cas/a.go:3: f has 5 parameters after ctx, over 4"},
	{"two decisions of one number", "docs/decisions/0001-b.md", "# 0001: b\n", "docs/decisions/0001-b.md:1: has the number of docs/decisions/0001-a.md"},
	{"a place of one machine", "docs/a.md", "one\nin /work" + "/main\n", "docs/a.md:2: names a place: /work" + "/"},
}

// casInOrder is a package that is in order.
const casInOrder = "// Package cas is in order.\npackage cas\n\ntype store struct{}\n\nfunc (s *store) Close() {}\n\nfunc open() {}\n"

// inOrder is a map that is in order.
const inOrder = "## One snapshot\n1. `cas/store.go` (`store.Close`, `open`): ends.\n\n## One restore\n1. `cas/store.go` (`open`): begins.\n"

func many(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestEachRuleFindsItsBreach(t *testing.T) {
	for _, c := range breaches {
		t.Run(c.name, func(t *testing.T) {
			found, err := check(fstest.MapFS{
				"ARCHITECTURE.md":          {Data: []byte(inOrder)},
				"cas/store.go":             {Data: []byte(casInOrder)},
				"docs/decisions/0001-a.md": {Data: []byte("# 0001: a\n")},
				c.file:                     {Data: []byte(c.text)},
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range found {
				if strings.Contains(b.String(), c.want) {
					return
				}
			}
			t.Errorf("found %v, want %s", found, c.want)
		})
	}
}

func TestWhatIsInOrderIsLeftAlone(t *testing.T) {
	found, err := check(fstest.MapFS{
		"ARCHITECTURE.md": {Data: []byte(inOrder)},
		"cas/store.go":    {Data: []byte(casInOrder)},
		"cas/cas.go": {Data: []byte(`// Package cas is in order.
package cas

import (
	"context"

	"go.etcd.io/bbolt"
	"` + module + `/internal/oid"
)

// Errors and limits.
var ErrA, ErrB error

const (
	Max = 1 // the largest
)

// S is.
type S struct{}

// keyOf and theOther are described once; see store.go, and \\uXXXX on macOS.
const keyOf, theOther = "store.go", 2

// Close closes, as theOther does.
func (s *S) Close(ctx context.Context, a, b, c, d int) {}

type hidden struct{}

func (h hidden) Read() {}
`)},
		"cas/cas_test.go":     {Data: []byte("package cas\n\nimport _ \"" + module + "/gitbridge\"\n\nfunc TestX() {}\n")},
		"cas/testdata/bad.go": {Data: []byte("no go at all")},
		"tools/go.mod":        {Data: []byte("module x\n")},
		"tools/tools.go":      {Data: []byte("package tools\n")},
	})
	if err != nil || len(found) > 0 {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestEveryExportHasAUser(t *testing.T) {
	found, err := checkExports(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range found {
		t.Error(b)
	}
}

func TestAnExportWithoutAUserIsFound(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":           "module x\n\ngo 1.26\n",
		"main.go":          "package main\n\nimport \"x/p\"\n\nfunc main() { p.Used(); var t p.T; _ = t.String }\n",
		"p/p.go":           "package p\n\nimport \"io\"\n\nfunc Used() { Own(); Var++ }\n\nfunc Own() {}\n\nfunc Idle() {}\n\nvar Var, Spare int\n\ntype T struct{}\n\nfunc (T) String() string { return \"\" }\n\nfunc (T) Lone() {}\n\nfunc (*T) Read([]byte) (int, error) { return 0, io.EOF }\n\ntype E struct{ error }\n\nfunc (e E) Unwrap() error { return e.error }\n\nfunc (E) Is(error) bool { return false }\n\nvar _ E\n",
		"p/p_windows.go":   "package p\n\nfunc Away() {}\n",
		"main_windows.go":  "package main\n\nimport \"x/p\"\n\nvar _ = p.Away\n",
		"aid/aid.go":       "package aid\n\nimport \"testing\"\n\nfunc Help(t *testing.T) {}\n",
		"p/p_test.go":      "package p\n\nimport \"testing\"\n\nfunc TestIdle(t *testing.T) { Idle(); T{}.Lone(); Spare++ }\n",
		"engine/engine.go": "package engine\n\nfunc Find() {}\n\nfunc Open() { Find() }\n\nfunc init() { Open() }\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	found, err := checkExports(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range found {
		got = append(got, b.String())
	}
	slices.Sort(got)
	want := []string{
		"p/p.go:11: exported Spare has no user outside of tests",
		"p/p.go:17: exported T.Lone has no user outside of tests",
		"p/p.go:7: exported Own has no user outside of tests",
		"p/p.go:9: exported Idle has no user outside of tests",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestThePolicyNamesOnlyWhatIsThere(t *testing.T) {
	root := fstest.MapFS{
		"go.mod":             {Data: []byte("module x\n\ngo 1.26.0\n\nrequire (\n\tgo.etcd.io/bbolt v1.5.0\n\texample.org/gone v1.0.0\n\texample.org/deep v1.0.0 // indirect\n)\n")},
		"cas/cas.go":         {Data: []byte("package cas\n\nimport _ \"" + module + "/internal/oid\"\n")},
		"cas/cas_test.go":    {Data: []byte("package cas\n\nimport _ \"go.etcd.io/bbolt/x\"\n")},
		"internal/oid/id.go": {Data: []byte("package oid\n")},
	}
	for i := range depthMax + 1 {
		next := ""
		if i < depthMax {
			next = fmt.Sprintf("import _ \"%s/d/p%d\"\n", module, i+1)
		}
		root[fmt.Sprintf("d/p%d/a.go", i)] = &fstest.MapFile{Data: []byte("package p\n\n" + next)}
	}
	_, packages, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, b := range checkPolicy(root, packages) {
		got[b.String()] = true
	}
	for want, is := range map[string]bool{
		layersFile + ":1: the table has a package ledger, which does not exist": true,
		layersFile + ":1: cas may import internal/durable, and does not":        true,
		layersFile + ":1: cas may import internal/oid, and does not":            false,
		layersFile + ":1: cas may import go.etcd.io/bbolt, and does not":        true, // a test does
		"go.mod:7: nothing imports example.org/gone":                            true,
		"go.mod:6: nothing imports go.etcd.io/bbolt":                            false,
		"go.mod:8: nothing imports example.org/deep":                            false,
	} {
		if got[want] != is {
			t.Errorf("%q: %v, found %v", want, got[want], got)
		}
	}
	long := false
	for text := range got {
		long = long || strings.Contains(text, "16 packages stand on one another, over 15: d/p0, d/p1")
	}
	if !long {
		t.Errorf("a deep chain is not found: %v", got)
	}
}
