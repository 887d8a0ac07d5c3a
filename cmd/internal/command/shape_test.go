package command

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Shapes reads from the sources what the objects are that other programs get: the fields
// of structs, with their comments.
type shapes struct {
	t     *testing.T
	types map[string]*ast.TypeSpec // by directory and name
	named map[string]bool          // those that stand by their name in others
}

var sources = []string{"wire", "cli", "change", "command", "history", "record", "remote", "setup", "verb", "../../engine", "../../engine/internal/*"}

func newShapes(t *testing.T, named ...string) *shapes {
	s := &shapes{t, map[string]*ast.TypeSpec{}, map[string]bool{}}
	for _, name := range named {
		s.named[name] = true
	}
	for _, pattern := range sources {
		dirs, _ := filepath.Glob(filepath.Join("..", pattern))
		for _, dir := range dirs {
			s.parse(dir)
		}
	}
	return s
}

func (s *shapes) parse(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			s.t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				s.types[f.Name.Name+"."+spec.Name.Name] = spec
			}
			return true
		})
	}
}

// structOf returns the fields of a type, and the package that they stand in.
func (s *shapes) structOf(pkg string, e ast.Expr) (*ast.StructType, string, string) {
	switch e := e.(type) {
	case *ast.StarExpr:
		return s.structOf(pkg, e.X)
	case *ast.SelectorExpr:
		return s.structOf(e.X.(*ast.Ident).Name, e.Sel)
	case *ast.StructType:
		return e, pkg, ""
	case *ast.Ident:
		if spec := s.types[pkg+"."+e.Name]; spec != nil {
			fields, in, _ := s.structOf(pkg, spec.Type)
			return fields, in, e.Name
		}
	}
	return nil, "", ""
}

// fields writes the fields of a struct as docs/json.md has them, and collects what they
// mean.
func (s *shapes) fields(pkg string, t *ast.StructType, notes *[]string) (out []string) {
	for _, f := range t.Fields.List {
		if len(f.Names) == 0 {
			inner, in, name := s.structOf(pkg, f.Type)
			if s.named[name] && name != "Path" {
				out = append(out, strings.ToUpper(name))
				continue
			}
			_, optional := f.Type.(*ast.StarExpr)
			for _, field := range s.fields(in, inner, notes) {
				if name, _, _ := strings.Cut(field[1:], `"`); hasField(t, name) {
					continue
				}
				if optional && name == "Lines" {
					field += "?"
				}
				out = append(out, field)
			}
			continue
		}
		if f.Tag == nil {
			continue
		}
		name, how, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		if name == "-" { // of programs in Go alone
			continue
		}
		if name == "-" {
			continue
		}
		text := `"` + name + `"`
		if how != "" {
			text += "?"
		}
		if value := s.value(pkg, f.Type, notes); value != "" {
			text += ":" + value
		}
		out = append(out, text)
		comment := strings.TrimSpace(f.Comment.Text())
		note := fmt.Sprintf("`%s`: %s", name, strings.Join(strings.Fields(comment), " "))
		if comment != "" && !slices.Contains(*notes, note) {
			*notes = append(*notes, note)
		}
	}
	return out
}

// hasField reports whether a struct has a field of a name itself, which hides that of
// what is embedded.
func hasField(t *ast.StructType, name string) bool {
	return slices.ContainsFunc(t.Fields.List, func(f *ast.Field) bool {
		return f.Tag != nil && (strings.Contains(f.Tag.Value, `"`+name+`"`) || strings.Contains(f.Tag.Value, `"`+name+`,`))
	})
}

func (s *shapes) value(pkg string, e ast.Expr, notes *[]string) string {
	switch e := e.(type) {
	case *ast.ArrayType:
		if id, ok := e.Elt.(*ast.Ident); ok && id.Name == "byte" {
			return ""
		}
		return "[" + s.value(pkg, e.Elt, notes) + "…]"
	case *ast.MapType:
		return "{…}"
	}
	fields, in, name := s.structOf(pkg, e)
	switch {
	case fields == nil:
		return ""
	case name == "Operation", pkg == "command" && name == "Status": // which is explained elsewhere
		return "{…}"
	case s.named[name]:
		return strings.ToUpper(name)
	}
	return "{" + strings.Join(s.fields(in, fields, notes), ",") + "}"
}

// object tells of one object. There is a blank before each of its fields, so that a
// narrow screen can break the line there.
func (s *shapes) object(name, pkg, typ string) string {
	fields, in, _ := s.structOf(pkg, ast.NewIdent(typ))
	if fields == nil {
		s.t.Fatalf("there is no %s.%s", pkg, typ)
	}
	var notes []string
	shape := "{" + strings.Join(s.fields(in, fields, &notes), ",") + "}"
	text := fmt.Sprintf("### %s\n\n`%s`\n\n", name, strings.ReplaceAll(shape, ",", ", "))
	for _, note := range notes {
		if !strings.HasPrefix(note, "`path_b64`") { // the page says that once
			text += "- " + note + "\n"
		}
	}
	return text + "\n"
}

// objects is the part of docs/json.md of what --json prints.
func objects(t *testing.T) string {
	s := newShapes(t, "Record", "changed", "Change", "Note", "Restored", "Store", "Path")
	var b strings.Builder
	for _, row := range [][3]string{
		{"snapshot", "wire", "Snapshot"}, {"restore, revert, apply, adopt, undo, redo (RESTORED)", "wire", "Restored"},
		{"list", "wire", "List"}, {"show", "wire", "Shown"}, {"log", "wire", "Log"}, {"diff", "wire", "Difference"}, {"blame", "wire", "Blame"},
		{"status", "history", "Status"}, {"rewind alone", "command", "standing"}, {"doctor", "command", "examined"}, {"config", "command", "configured"}, {"uninstall", "command", "uninstalled"}, {"verify", "engine", "Verified"}, {"import", "wire", "Imported"},
		{"remote, remote add, list, remove, status", "remote", "remotesTold"}, {"remote verify", "remote", "checkedTold"}, {"remote prune", "remote", "prunedTold"}, {"remote unlock", "remote", "unlockedTold"}, {"push", "remote", "pushedTold"}, {"fetch", "remote", "fetchedTold"}, {"resume", "remote", "resumedTold"}, {"list --remote", "remote", "listTold"},
		{"stores", "wire", "Stores"}, {"prune", "wire", "Pruned"}, {"purge", "wire", "Purged"}, {"bisect", "change", "bisected"},
		{"fork", "change", "forked"}, {"forks", "change", "listedForks"}, {"pin", "wire", "Pins"}, {"label", "wire", "Labels"}, {"version", "cli", "Build"},
		{"RECORD", "wire", "Record"}, {"CHANGED", "wire", "changed"}, {"CHANGE", "wire", "Change"}, {"NOTE", "wire", "Note"}, {"PATH", "wire", "Path"}, {"STORE", "wire", "Store"},
	} {
		b.WriteString(s.object(row[0], row[1], row[2]))
	}
	return b.String()
}
