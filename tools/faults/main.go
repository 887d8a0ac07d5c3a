// Command faults puts faults into a copy of the program, one at a time, and says which
// test finds each. It is how to know that the tests have not lost their teeth: run it
// before and after a change to them. faults.txt has the faults.
//
// It exits with 1 if a fault is missed, does not build, or has become stale: then its
// text is to be brought up to date.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

//go:embed faults.txt
var list string

// A fault is one wrong place in the program.
type fault struct {
	name     string   // "part: what goes wrong"
	in       string   // how the path of the folder ends
	by       []string // the packages whose tests are to find it, the cheapest first; each perhaps with ":" and a pattern of tests
	old, new []string // lines, without the space around them
}

// parse reads the faults: a line "# name", one "in FOLDER", one "by PACKAGES", then lines as
// in a diff.
func parse(text string) (faults []fault) {
	for block := range strings.SplitSeq(text, "\n\n") {
		var f fault
		for line := range strings.SplitSeq(block, "\n") {
			kind, rest, _ := strings.Cut(line, " ")
			switch kind {
			case "#":
				f.name = rest
			case "in":
				f.in = rest
			case "by":
				f.by = strings.Fields(rest)
			case "-":
				f.old = append(f.old, strings.TrimSpace(rest))
			case "+":
				f.new = append(f.new, strings.TrimSpace(rest))
			case "=":
				f.old, f.new = append(f.old, strings.TrimSpace(rest)), append(f.new, strings.TrimSpace(rest))
			}
		}
		if f.in != "" {
			faults = append(faults, f)
		}
	}
	return faults
}

func main() {
	only := flag.String("only", "", "a pattern of the names of the faults to try")
	stale := flag.Bool("stale", false, "only say which faults are stale")
	flag.Parse()
	if err := run(regexp.MustCompile(*only), *stale); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func run(only *regexp.Regexp, staleOnly bool) error {
	dir, err := copyTree()
	if err != nil {
		return err
	}
	counts := map[string]int{}
	var table []string
	for _, f := range parse(list) {
		if !only.MatchString(f.name) {
			continue
		}
		began := time.Now()
		verdict, by := f.try(dir, staleOnly)
		counts[verdict]++
		table = append(table, fmt.Sprintf("%-6s %4.0fs  %-60s %s", verdict, time.Since(began).Seconds(), f.name, by))
		fmt.Println(table[len(table)-1])
	}
	bad := len(table) - counts["found"] - counts["there"]
	fmt.Printf("\n%s\n\n%d faults: %d found, %d missed, %d stale, %d broken\n", strings.Join(table, "\n"), len(table), counts["found"], counts["missed"], counts["STALE"], counts["BROKEN"])
	if bad > 0 || len(table) == 0 {
		return fmt.Errorf("%d of %d faults were not found", bad, len(table))
	}
	return nil
}

// copyTree copies what git has of the tree to a place that is the same each time: so the
// results of building it are found again.
func copyTree() (string, error) {
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", err
	}
	root, dir := strings.TrimSpace(string(top)), filepath.Join(os.TempDir(), "rewind-faults")
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	cmd := exec.Command("sh", "-c", `git ls-files -z | tar -cf - --null -T - | tar -xf - -C "$1"`, "sh", dir)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	return dir, errors.Join(os.MkdirAll(dir, 0o755), cmd.Run())
}

// try puts the fault in, lets the tests find it, and takes it out.
func (f *fault) try(dir string, staleOnly bool) (verdict, by string) {
	file, sound, wrong, err := f.place(dir)
	if err != nil {
		return "STALE", err.Error()
	}
	var packages []string
	for _, p := range f.by {
		name, _, _ := strings.Cut(p, ":")
		at, err := packageOf(dir, name)
		if err != nil {
			return "STALE", err.Error()
		}
		packages = append(packages, at)
	}
	if staleOnly {
		return "there", file
	}
	if err := os.WriteFile(file, wrong, 0o644); err != nil {
		return "BROKEN", err.Error()
	}
	defer os.WriteFile(file, sound, 0o644)
	for i, at := range packages {
		_, pattern, _ := strings.Cut(f.by[i], ":")
		test, builds := find(dir, at, pattern)
		if !builds {
			return "BROKEN", test
		}
		if test != "" {
			return "found", at + " " + test
		}
	}
	return "missed", strings.Join(packages, " ")
}

// place returns the one file that has the old lines, as it is and with the fault.
func (f *fault) place(dir string) (file string, sound, wrong []byte, err error) {
	err = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(filepath.Dir(at), "/"+f.in) || !strings.HasSuffix(at, ".go") || strings.HasSuffix(at, "_test.go") {
			return err
		}
		text, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		lines := strings.SplitAfter(string(text), "\n")
		for i := range lines {
			if !f.at(lines[i:]) {
				continue
			}
			if file != "" {
				return fmt.Errorf("the old text is there twice, in %s and %s", file, at)
			}
			indent := lines[i][:len(lines[i])-len(strings.TrimLeft(lines[i], "\t"))]
			var put []byte
			for _, line := range f.new {
				put = append(append(append(put, indent...), line...), '\n')
			}
			rest := strings.Join(lines[i+len(f.old):], "")
			file, sound, wrong = at, text, []byte(strings.Join(lines[:i], "")+string(put)+rest)
		}
		return nil
	})
	if err == nil && file == "" {
		err = fmt.Errorf("nothing in %s has the old text", f.in)
	}
	return file, sound, wrong, err
}

func (f *fault) at(lines []string) bool {
	if len(lines) < len(f.old) {
		return false
	}
	for i, want := range f.old {
		if strings.TrimSpace(lines[i]) != want {
			return false
		}
	}
	return true
}

// packageOf finds the package of a name, wherever it lies: "./" before a name says that it
// lies at the top.
func packageOf(dir, name string) (string, error) {
	if rest, top := strings.CutPrefix(name, "./"); top {
		_, err := os.Stat(filepath.Join(dir, rest))
		return name, err
	}
	var found []string
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, at)
		if rel = "/" + filepath.ToSlash(rel); err == nil && d.IsDir() && strings.HasSuffix(rel, "/"+name) && path.Base(path.Dir(rel)) != "testdata" {
			found = append(found, "."+rel)
		}
		return err
	})
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%d packages are called %q", len(found), name)
	}
	return strings.Join(found, ""), err
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^(panic: test timed out|panic: .*|fatal error: .*)`)

// find runs the tests of a package and returns the first that fails, "" if all pass.
func find(dir, at, pattern string) (test string, builds bool) {
	args := []string{"test", "-vet=off", "-count=1", "-failfast", "-timeout=10m"}
	if pattern != "" {
		args = append(args, "-run", pattern)
	}
	cmd := exec.Command("go", append(args, at)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "REWIND_SEED=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return "", true
	}
	if bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")) {
		return string(out[:min(len(out), 500)]), false
	}
	m := failed.FindSubmatch(out)
	if m == nil {
		return "without a name", true
	}
	return string(m[1]) + string(m[2]), true
}
