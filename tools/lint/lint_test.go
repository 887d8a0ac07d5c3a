package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Each rule is broken once, in a module of the same name.
func TestEachRuleIsHeld(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "lint")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	module := filepath.Join(dir, "module")
	const base = "github.com/seed-82afce7a/rewind/"
	files := map[string]string{
		"go.mod":          "module " + strings.TrimSuffix(base, "/") + "\n\ngo 1.26\n",
		"cas/cas.go":      "// Package cas is one.\npackage cas\n\nimport \"" + base + "ledger\"\n\n// A View is one.\ntype View struct{ ledger.Ledger }\n\n// Table is one.\nfunc (View) Table(string) {}\n",
		"ledger/l.go":     "// Package ledger is one.\npackage ledger\n\n// A Ledger is one.\ntype Ledger struct{}\n",
		"engine/e.go":     "// Package engine is one.\npackage engine\n\nimport \"" + base + "cas\"\n\n// F is one.\nfunc F(v cas.View) { v.Table(\"t\") }\n",
		"engine/x.go":     "package engine\n\nimport _ \"os/exec\"\n",
		"engine/long.go":  "package engine\n\nfunc long() {\n" + strings.Repeat("\tprintln()\n", 71) + "}\n",
		"engine/large.go": "package engine\n\ntype large interface{ A(); B(); C(); D(); E(); F() }\n",
	}
	style := map[string]string{
		"util/u.go":    "// Package util is one.\npackage util\n",
		"engine/f.go":  "package engine\n" + strings.Repeat("\n// a line\n", 200),
		"engine/a.go":  "package engine\n\nfunc f(a, b, c, d, e, f int) {}\n",
		"engine/d.go":  "package engine\n\nfunc Exported() {}\n",
		"nothing/n.go": "package nothing\n",
		"engine/v.go":  "package engine\n\nvar _, snake_case = 1, 2\n",
	}
	run := func(system string) string {
		c := exec.Command(program, "./...")
		c.Dir, c.Env = module, append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system)
		out, err := c.CombinedOutput()
		if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) || err == nil {
			t.Fatalf("it ended with %v:\n%s", err, out)
		}
		return string(out)
	}
	write(t, module, files)
	out := run(runtime.GOOS)
	for _, want := range []string{"cas.go:4:8: import '" + base + "ledger'", "x.go:3:8: import 'os/exec'", "long.go:3:6: Function 'long' is too long (71 > 70)",
		"large.go:3:12: the interface has more than 5 methods", "e.go:7:22: use of `v.Table` forbidden"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	const test = "package engine\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\nfunc TestOne(*testing.T) { fmt.Printf(\"%d\", \"one\") }\n"
	write(t, module, map[string]string{"engine/one_windows_test.go": test})
	if out = run("windows"); !strings.Contains(out, "one_windows_test.go:8:40: fmt.Printf format %d has arg \"one\" of wrong type string") {
		t.Errorf("what go vet would find of another system it does not say:\n%s", out)
	}
	write(t, module, map[string]string{"engine/one_windows_test.go": strings.Replace(test, "(*testing.T)", "(*testing.X)", 1)})
	if out = run("windows"); !strings.Contains(out, "one_windows_test.go:8:23: undefined: testing.X") {
		t.Errorf("it does not say that a test for another system does not compile:\n%s", out)
	}
	write(t, module, style)
	out = run(runtime.GOOS)
	for rule, at := range map[string]string{"package-naming": "util/u.go", "file-length-limit": "engine/f.go", "argument-limit": "engine/a.go", "exported": "engine/d.go", "package-comments": "nothing/n.go", "var-naming": "engine/v.go"} {
		if !strings.Contains(out, at) || !strings.Contains(out, fmt.Sprintf("(%s)", rule)) {
			t.Errorf("it does not say %s of %s:\n%s", rule, at, out)
		}
	}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}
