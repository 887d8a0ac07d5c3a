// Package tidy holds the shape of this repository: which package may import
// which, how long a function and a file may be, what must be documented, what
// comments may name, and which words no text may contain.
//
// Its test runs every rule over the whole module and names each breach by
// file and line. There is no list of exceptions: an exception is a redesign.
// The package reads source files only; it knows nothing of what they do.
package tidy

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// module is the path of this module; what an import path under it names is ours.
const module = "github.com/seed-82afce7a/rewind"

// A breach is one place that breaks one rule.
type breach struct {
	file string // relative to the module's root, with forward slashes
	line int
	text string
}

func (b breach) String() string { return fmt.Sprintf("%s:%d: %s", b.file, b.line, b.text) }

// A source is one parsed Go file.
type source struct {
	file string
	test bool
	set  *token.FileSet
	ast  *ast.File
}

// breach makes a breach at a node of s.
func (s source) breach(at token.Pos, format string, args ...any) breach {
	return breach{s.file, s.set.Position(at).Line, fmt.Sprintf(format, args...)}
}

// lines counts the lines that a node of s covers.
func (s source) lines(n ast.Node) int {
	return s.set.Position(n.End()).Line - s.set.Position(n.Pos()).Line + 1
}

// check runs every rule over the tree of a module and gives all breaches, in
// the order of files and lines. It fails only if the tree cannot be read.
func check(root fs.FS) ([]breach, error) {
	found, packages, err := read(root)
	found = append(found, checkMap(root, packages)...)
	found = append(found, checkNames(packages)...)
	found = append(found, checkDecisions(root)...)
	if packages[path.Dir(layersFile)] != nil { // it is this module and no sample
		found = append(found, checkPolicy(root, packages)...)
	}
	for dir, sources := range packages {
		found = append(found, checkLayer(dir, sources)...)
		found = append(found, checkPackage(dir, sources)...)
		for _, s := range sources {
			found = append(found, checkFile(s)...)
		}
	}
	slices.SortFunc(found, func(a, b breach) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.text, b.text))
	})
	return found, err
}

// read parses the packages of a module, by their directories. It gives the
// breaches of the texts on its way.
func read(root fs.FS) (found []breach, packages map[string][]source, err error) {
	packages = map[string][]source{}
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && foreign(root, name):
			return fs.SkipDir
		case d.IsDir() || !isText(name):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		found = append(found, checkText(name, string(text))...)
		if path.Ext(name) != ".go" {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s := source{name, strings.HasSuffix(name, "_test.go"), set, file}
		packages[path.Dir(name)] = append(packages[path.Dir(name)], s)
		return nil
	})
	return found, packages, err
}

// foreign reports directories that hold no source of this module: what a
// dot hides, inputs of tests, installed packages, and other modules.
func foreign(root fs.FS, dir string) bool {
	base := path.Base(dir)
	if dir == "." {
		return false
	}
	if strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules" {
		return true
	}
	_, err := fs.Stat(root, path.Join(dir, "go.mod"))
	return err == nil
}
