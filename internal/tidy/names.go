package tidy

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

// named is what a comment can only mean as a name of the code: a word with an
// inner capital, a test, a source file. macOS and uXXXX are no such words, and
// what follows a dot may be a setting of git's.
var named = regexp.MustCompile(`(?:^|[^\w./-])([a-z]+[A-Z][a-z]\w*|Test[A-Z]\w+|\w+\.go)\b`)

// word is a name or a file in a text literal.
var word = regexp.MustCompile(`\w+(?:\.go\b)?`)

// checkNames holds the comments: what they name is there, and the comment of a
// declaration begins with no other name than its own.
func checkNames(packages map[string][]source) []breach {
	known := map[string]bool{}
	for _, sources := range packages {
		for _, s := range sources {
			known[path.Base(s.file)] = true
			collectWords(s, known)
		}
	}
	var found []breach
	for _, sources := range packages {
		for _, s := range sources {
			found = append(found, checkMentions(s, known)...)
			found = append(found, checkFirstWords(s)...)
		}
	}
	return found
}

// checkMentions finds names in comments that are not known.
func checkMentions(s source, known map[string]bool) []breach {
	var found []breach
	for _, group := range s.ast.Comments {
		for _, c := range group.List {
			for _, name := range named.FindAllStringSubmatch(c.Text, -1) {
				if !known[name[1]] {
					found = append(found, s.breach(c.Pos(), "names %s, which is nowhere in the code", name[1]))
				}
			}
		}
	}
	return found
}

// collectWords adds every name and every word of a text that the code of a file has.
func collectWords(s source, known map[string]bool) {
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Comment:
			return false
		case *ast.Ident:
			known[n.Name] = true
		case *ast.BasicLit:
			for _, w := range word.FindAllString(n.Value, -1) {
				known[w] = true
			}
		}
		return true
	})
}

// checkFirstWords finds comments that were left behind when a name changed.
func checkFirstWords(s source) []breach {
	var found []breach
	hold := func(doc *ast.CommentGroup, names ...string) {
		if doc == nil {
			return
		}
		first, _, _ := strings.Cut(doc.Text(), " ")
		if named.FindString(first) == first && first != "" && !slices.Contains(names, first) {
			found = append(found, s.breach(doc.Pos(), "the comment of %s begins with %s", names[0], first))
		}
	}
	for _, decl := range s.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			hold(d.Doc, d.Name.Name)
		case *ast.GenDecl:
			var all []string
			for _, spec := range d.Specs {
				var names []string
				eachName(spec, func(id *ast.Ident) { names = append(names, id.Name) })
				if v, ok := spec.(*ast.ValueSpec); ok {
					hold(v.Doc, names...)
				} else if t, ok := spec.(*ast.TypeSpec); ok {
					hold(t.Doc, names...)
				}
				all = append(all, names...)
			}
			if len(all) > 0 {
				hold(d.Doc, all...)
			}
		}
	}
	return found
}
