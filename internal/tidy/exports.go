package tidy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// systems are those that the program is built for. A name may have its only
// user in a file for one of them.
var systems = slices.Compact([]string{runtime.GOOS, "linux", "darwin", "windows"})

// face is the package that is the whole to others: what it exports need not have
// a user in another package, only one at all.
const face = "engine"

// A listed is a package as the go command tells of it.
type listed struct {
	ImportPath, Dir string
	Export          string // its compiled form, "" where it was not asked for
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ Main bool }
}

func (p *listed) ours() bool { return p.Module != nil && p.Module.Main }

// A census knows what production code declares for others, and what it uses. It
// needs types: a method shares its name with many. Names are those of [full].
type census struct {
	root     string // of the module, to cut from file names
	set      *token.FileSet
	checked  map[string]*types.Package // by import path, of the system that is looked at
	compiled map[string]string         // files of the compiled form, likewise
	declared map[string]breach         // exported functions, methods, types, constants and variables
	funcs    map[string]bool           // those that are functions or methods
	within   map[string]bool           // used by their own package
	beyond   map[string]bool           // used by another package, or wanted by an interface
}

// checkExports names what is exported to nobody: a function or method that no
// production code of another package uses, and any other name that no
// production code uses at all. An interface uses the methods that it asks for.
// dir is where the module lies.
func checkExports(dir string) (found []breach, err error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	c := &census{root: root, set: token.NewFileSet(),
		declared: map[string]breach{}, funcs: map[string]bool{}, within: map[string]bool{}, beyond: map[string]bool{}}
	for _, system := range systems {
		if err := c.look(system); err != nil {
			return nil, fmt.Errorf("%s: %w", system, err)
		}
		if found = c.idle(); len(found) == 0 {
			break // the other systems can only add users
		}
	}
	return found, nil
}

// idle names what has no user so far.
func (c *census) idle() (found []breach) {
	for name, b := range c.declared {
		asked := c.funcs[name] && path.Dir(b.file) != face // by another package
		if !c.beyond[name] && (asked || !c.within[name]) {
			found = append(found, b)
		}
	}
	return found
}

// look takes up all packages as they are built for one system.
func (c *census) look(system string) error {
	list, err := c.list(system)
	if err != nil {
		return err
	}
	c.checked = map[string]*types.Package{"unsafe": types.Unsafe}
	c.compiled = map[string]string{}
	from := importer.ForCompiler(c.set, "gc", func(name string) (io.ReadCloser, error) { return os.Open(c.compiled[name]) })
	wanted := unnamed()
	var ours []*types.Package
	for _, p := range list { // each stands behind those that it imports
		if p.ImportPath == "unsafe" {
			continue
		}
		pkg, anonymous, err := c.add(&p, from)
		if err != nil {
			return err
		}
		if p.ours() {
			ours = append(ours, pkg)
		}
		wanted = append(wanted, anonymous...)
		for _, name := range pkg.Scope().Names() {
			if i, ok := pkg.Scope().Lookup(name).Type().Underlying().(*types.Interface); ok {
				wanted = append(wanted, i)
			}
		}
	}
	for _, pkg := range ours {
		c.satisfy(pkg, wanted)
	}
	return nil
}

// list asks the go command for the packages of the module and all they need. Of
// the system that this test runs on they are compiled already; of another one
// they are read as source, which takes longer.
func (c *census) list(system string) (list []listed, err error) {
	command := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Export,GoFiles,ImportMap,Module", "./...")
	if command.Dir = c.root; system == runtime.GOOS {
		command.Args = slices.Insert(command.Args, 2, "-export")
	} else {
		command.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	}
	out, err := command.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("go list: %w: %s", err, exit.Stderr)
	}
	for from := json.NewDecoder(bytes.NewReader(out)); err == nil; {
		var p listed
		if err = from.Decode(&p); err == nil {
			list = append(list, p)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return list, err
}

// add checks the types of one package, and takes up what it declares and uses
// if it is ours. It returns the interfaces in it that have no name.
func (c *census) add(p *listed, from types.Importer) (pkg *types.Package, wanted []*types.Interface, err error) {
	if p.Export != "" && !p.ours() {
		c.compiled[p.ImportPath] = p.Export
		pkg, err = from.Import(p.ImportPath)
		c.checked[p.ImportPath] = pkg
		return pkg, nil, err
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(c.set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		if !p.ours() {
			empty(file)
		}
		files = append(files, file)
	}
	var info *types.Info
	if p.ours() {
		info = &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	}
	config := &types.Config{Importer: known{c.checked, p.ImportMap}, IgnoreFuncBodies: !p.ours(), Sizes: types.SizesFor("gc", "amd64")}
	if pkg, err = config.Check(p.ImportPath, c.set, files, info); err != nil {
		return nil, nil, err
	}
	if c.checked[p.ImportPath] = pkg; info == nil {
		return pkg, nil, nil
	}
	for _, o := range info.Uses {
		if o.Pkg() == pkg {
			c.within[full(o)] = true
		} else {
			c.beyond[full(o)] = true
		}
	}
	for _, t := range info.Types {
		if i, ok := t.Type.(*types.Interface); ok {
			wanted = append(wanted, i)
		}
	}
	if slices.ContainsFunc(pkg.Imports(), func(i *types.Package) bool { return i.Path() == "testing" }) {
		return pkg, wanted, nil // it is for tests, and no layer may import it
	}
	for id, o := range info.Defs {
		if o == nil || !id.IsExported() || o.Parent() != pkg.Scope() && !isMethod(o) {
			continue
		}
		at := c.set.Position(id.Pos())
		name, err := filepath.Rel(c.root, at.Filename)
		if err != nil {
			return nil, nil, err
		}
		text := "exported " + strings.TrimPrefix(full(o), p.ImportPath+".") + " has no user outside of tests"
		c.declared[full(o)] = breach{filepath.ToSlash(name), at.Line, text}
		_, c.funcs[full(o)] = o.(*types.Func)
	}
	return pkg, wanted, nil
}

// empty takes the elements out of literals, such as the tables of unicode: they
// take time to check, and no declaration depends on them but an array's length.
func empty(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.CompositeLit); ok {
			if a, ok := l.Type.(*ast.ArrayType); !ok || a.Len == nil {
				l.Elts = nil
			}
		}
		_, body := n.(*ast.BlockStmt)
		return !body
	})
}

// unnamed are the interfaces that no package declares by name: error, and what
// the package errors looks for within its functions.
func unnamed() (all []*types.Interface) {
	failure := types.Universe.Lookup("error").Type()
	for name, sides := range map[string][2]types.Type{
		"Error":  {nil, types.Typ[types.String]},
		"Unwrap": {nil, failure},
		"Is":     {failure, types.Typ[types.Bool]},
		"As":     {types.NewInterfaceType(nil, nil), types.Typ[types.Bool]},
	} {
		var in *types.Tuple
		if sides[0] != nil {
			in = types.NewTuple(types.NewVar(token.NoPos, nil, "", sides[0]))
		}
		out := types.NewTuple(types.NewVar(token.NoPos, nil, "", sides[1]))
		method := types.NewFunc(token.NoPos, nil, name, types.NewSignatureType(nil, nil, nil, in, out, false))
		all = append(all, types.NewInterfaceType([]*types.Func{method}, nil).Complete())
	}
	return all
}

// satisfy counts the methods of a package's types that an interface asks for.
func (c *census) satisfy(pkg *types.Package, wanted []*types.Interface) {
	for _, name := range pkg.Scope().Names() {
		t, ok := pkg.Scope().Lookup(name).Type().(*types.Named)
		if !ok || types.IsInterface(t) || t.TypeParams().Len() > 0 {
			continue
		}
		for _, i := range wanted {
			if i.NumMethods() == 0 || !types.Implements(types.NewPointer(t), i) {
				continue
			}
			for m := range i.Methods() {
				c.beyond[pkg.Path()+"."+name+"."+m.Name()] = true
			}
		}
	}
}

// What is known are the packages that were checked before.
type known struct {
	checked map[string]*types.Package
	renamed map[string]string
}

// Import returns a package by the path that an import names.
func (k known) Import(name string) (*types.Package, error) {
	if real := k.renamed[name]; real != "" {
		name = real
	}
	if p := k.checked[name]; p != nil {
		return p, nil
	}
	return nil, errors.New("not listed: " + name)
}

// isMethod reports whether an object is a method of an exported type that is no
// interface.
func isMethod(o types.Object) bool {
	n := receiverType(o)
	return n != nil && n.Obj().Exported() && !types.IsInterface(n)
}

// receiverType returns the type that a method belongs to, nil for what is none.
func receiverType(o types.Object) *types.Named {
	f, ok := o.(*types.Func)
	if !ok || f.Signature().Recv() == nil {
		return nil
	}
	t := f.Signature().Recv().Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	n, _ := t.(*types.Named)
	return n
}

// full names an object in a way that is the same for every system.
func full(o types.Object) string {
	switch t := receiverType(o); {
	case o.Pkg() == nil:
		return o.Name()
	case t != nil:
		return o.Pkg().Path() + "." + t.Obj().Name() + "." + o.Name()
	}
	return o.Pkg().Path() + "." + o.Name()
}
