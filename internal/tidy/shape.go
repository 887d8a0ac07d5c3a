package tidy

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
)

// The numbers are promised by docs/decisions/0001-packages.md.
const (
	funcLinesMax        = 70
	fileLinesMax        = 400
	namesMax            = 40 // exported package-level names
	exportsMax          = 90 // these and the exported methods of exported types
	interfaceMethodsMax = 5
	paramsMax           = 4 // after ctx, outside of tests

	// The face joins rooms. What makes it larger than this belongs into one.
	faceFilesMax = 30
	faceLinesMax = 5000
)

// noNames say nothing of what is in a package.
var noNames = []string{"util", "utils", "common", "helper", "helpers", "manager", "types", "misc"}

// checkPackage holds a package as a whole: its name, its comment, its exports.
func checkPackage(dir string, sources []source) []breach {
	var found []breach
	first, documented := sources[0], false
	files, lines := 0, 0
	names, methods := map[string]bool{}, map[string]bool{} // one for all systems
	if slices.Contains(noNames, path.Base(dir)) {
		found = append(found, first.breach(first.ast.Package, "package name %s says nothing", path.Base(dir)))
	}
	for _, s := range sources {
		documented = documented || s.ast.Doc != nil
		if !s.test {
			files, lines = files+1, lines+s.set.File(s.ast.FileStart).LineCount()-1
			collect(s, names, methods)
		}
	}
	if !documented {
		found = append(found, first.breach(first.ast.Package, "package %s has no comment", dir))
	}
	if dir == face && (files > faceFilesMax || lines > faceLinesMax) {
		found = append(found, first.breach(first.ast.Package, "package %s has %d files of %d lines, over %d or %d: find the next room below it", dir, files, lines, faceFilesMax, faceLinesMax))
	}
	if n := len(names); n > namesMax {
		found = append(found, first.breach(first.ast.Package, "package %s exports %d names, over %d", dir, n, namesMax))
	}
	if n := len(names) + len(methods); n > exportsMax {
		found = append(found, first.breach(first.ast.Package, "package %s exports %d names and methods, over %d", dir, n, exportsMax))
	}
	return found
}

// collect adds the package-level names that a file exports, and the exported
// methods of exported types.
func collect(s source, names, methods map[string]bool) {
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names[id.Name] = true
		}
	}
	for _, decl := range s.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			} else if d.Name.IsExported() && receiverExported(d) {
				methods[funcName(d)] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				eachName(spec, add)
			}
		}
	}
}

// eachName calls f with every name that a type, const or var spec declares.
func eachName(spec ast.Spec, f func(*ast.Ident)) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		f(s.Name)
	case *ast.ValueSpec:
		for _, name := range s.Names {
			f(name)
		}
	}
}

// checkFile holds the declarations of one file.
func checkFile(s source) []breach {
	var found []breach
	for _, decl := range s.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			found = append(found, checkFunc(s, d)...)
		case *ast.GenDecl:
			found = append(found, checkDocs(s, d)...)
		}
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			if lines := s.lines(n); lines > funcLinesMax {
				found = append(found, s.breach(n.Pos(), "function of %d lines, over %d", lines, funcLinesMax))
			}
		case *ast.InterfaceType:
			if n.Methods.NumFields() > interfaceMethodsMax {
				found = append(found, s.breach(n.Pos(), "interface of %d methods, over %d",
					n.Methods.NumFields(), interfaceMethodsMax))
			}
		}
		return true
	})
	return found
}

// checkFunc holds one function: no init, few parameters, a comment if exported.
func checkFunc(s source, d *ast.FuncDecl) []breach {
	var found []breach
	if d.Recv == nil && d.Name.Name == "init" {
		found = append(found, s.breach(d.Pos(), "init hides work from its caller"))
	}
	if s.test {
		return found
	}
	if n := params(d.Type); n > paramsMax {
		found = append(found, s.breach(d.Pos(), "%s has %d parameters after ctx, over %d", d.Name.Name, n, paramsMax))
	}
	if d.Doc == nil && d.Name.IsExported() && receiverExported(d) {
		found = append(found, s.breach(d.Pos(), "exported %s has no comment", d.Name.Name))
	}
	return found
}

// params counts the parameters of a function but for a leading context.
func params(t *ast.FuncType) int {
	n := t.Params.NumFields()
	if n == 0 {
		return 0
	}
	if sel, ok := t.Params.List[0].Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Context" {
		n--
	}
	return n
}

// receiverExported reports whether a caller outside of the package sees d: it
// is no method, or a method of an exported type.
func receiverExported(d *ast.FuncDecl) bool {
	return d.Recv == nil || ast.IsExported(receiver(d))
}

// receiver returns the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) (name string) {
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// checkDocs asks for a comment on every exported type, constant and variable.
// For constants and variables the comment of their group will do.
func checkDocs(s source, d *ast.GenDecl) []breach {
	if s.test || d.Tok == token.IMPORT {
		return nil
	}
	var found []breach
	for _, spec := range d.Specs {
		documented := d.Doc != nil && (d.Tok != token.TYPE || !d.Lparen.IsValid())
		switch s := spec.(type) {
		case *ast.TypeSpec:
			documented = documented || s.Doc != nil
		case *ast.ValueSpec:
			documented = documented || s.Doc != nil || s.Comment != nil
		}
		eachName(spec, func(id *ast.Ident) {
			if id.IsExported() && !documented {
				found = append(found, s.breach(id.Pos(), "exported %s has no comment", id.Name))
			}
		})
	}
	return found
}
