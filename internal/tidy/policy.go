package tidy

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// layersFile has the tables; what is in them without being in the module is
	// reported there.
	layersFile = "internal/tidy/layers.go"

	// depthMax is how many packages may stand on one another, the lowest and the
	// program counted: whoever follows a call from the command line to the disk
	// enters no more rooms than that.
	depthMax = 15
)

// checkPolicy checks that the tables and go.mod name only what is there: packages
// that exist, imports that are made, modules that are used. It also holds the
// depth of the imports.
func checkPolicy(root fs.FS, packages map[string][]source) []breach {
	var found []breach
	stale := func(format string, args ...any) {
		found = append(found, breach{layersFile, 1, fmt.Sprintf(format, args...)})
	}
	for dir, allowed := range layers {
		if packages[dir] == nil {
			stale("the table has a package %s, which does not exist", dir)
			continue
		}
		made := imports(packages[dir], false)
		for _, ours := range strings.Fields(allowed) {
			if ours != "*" && !made[module+"/"+ours] {
				stale("%s may import %s, and does not", dir, ours)
			}
		}
	}
	for name, users := range outside {
		for _, dir := range strings.Fields(users) {
			if !uses(imports(packages[dir], false), name) {
				stale("%s may import %s, and does not", dir, name)
			}
		}
	}
	found = append(found, unimported(root, packages)...)
	if chain := deepest(packages); len(chain) > depthMax {
		stale("%d packages stand on one another, over %d: %s", len(chain), depthMax, strings.Join(chain, ", "))
	}
	return found
}

// imports collects what the files of a package import, tests only if asked for.
func imports(sources []source, tests bool) map[string]bool {
	made := map[string]bool{}
	for _, s := range sources {
		for _, spec := range s.ast.Imports {
			if name, _ := strconv.Unquote(spec.Path.Value); tests || !s.test {
				made[name] = true
			}
		}
	}
	return made
}

// uses reports whether a package of a module is imported.
func uses(made map[string]bool, name string) bool {
	for imported := range made {
		if imported == name || strings.HasPrefix(imported, name+"/") {
			return true
		}
	}
	return false
}

var required = regexp.MustCompile(`^(?:require )?\s*([a-zA-Z0-9./_-]+\.[a-zA-Z0-9./_-]+) v\S+$`)

// unimported names the modules of go.mod that no file of ours imports, not even
// a test. What others need is marked there as indirect.
func unimported(root fs.FS, packages map[string][]source) (found []breach) {
	text, err := fs.ReadFile(root, "go.mod")
	if err != nil {
		return []breach{{"go.mod", 1, err.Error()}}
	}
	made := map[string]bool{}
	for _, sources := range packages {
		maps.Copy(made, imports(sources, true))
	}
	for i, line := range strings.Split(string(text), "\n") {
		if m := required.FindStringSubmatch(line); m != nil && !uses(made, m[1]) {
			found = append(found, breach{"go.mod", i + 1, "nothing imports " + m[1]})
		}
	}
	return found
}

// deepest returns the longest chain of packages of ours, each of which imports
// the next. There are no circles: the compiler has seen to that.
func deepest(packages map[string][]source) (longest []string) {
	known := map[string][]string{}
	var from func(dir string) []string
	from = func(dir string) []string {
		if chain := known[dir]; chain != nil {
			return chain
		}
		var below []string
		for _, name := range slices.Sorted(maps.Keys(imports(packages[dir], false))) {
			if ours, ok := strings.CutPrefix(name, module+"/"); ok && packages[ours] != nil {
				if chain := from(path.Clean(ours)); len(chain) > len(below) {
					below = chain
				}
			}
		}
		known[dir] = append([]string{dir}, below...)
		return known[dir]
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		if chain := from(dir); len(chain) > len(longest) {
			longest = chain
		}
	}
	return longest
}
