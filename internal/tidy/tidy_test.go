// Package tidy holds what no linter knows of this module: how much a package shows,
// that ARCHITECTURE.md tells the truth, and that its words are few. What linters know
// is in tools/lint.
package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	namesMax     = 40  // exported names of a package
	exportsMax   = 90  // these, and the exported methods of its types
	walkFilesMax = 10  // files of one walk of ARCHITECTURE.md
	glossaryMax  = 25  // words that a newcomer has to learn
	decisionsMax = 20  // decision records
	pageMax      = 650 // words of one of them
	sourceMax    = 400 // lines of a TypeScript file; tools/lint knows Go's
)

// longer are the decision records that may have two pages.
var longer = []string{"0004-store.md"}

var root = os.DirFS("../..")

// A source is one Go file.
type source struct {
	name string
	file *ast.File
}

func (s source) test() bool { return strings.HasSuffix(s.name, "_test.go") }

// sources parses the Go files of the module, and texts reads whatever people write in it.
func sources(t *testing.T) (all []source, texts map[string]string) {
	t.Helper()
	texts = map[string]string{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && apart(name) {
				return fs.SkipDir
			}
			return err
		}
		if !slices.Contains([]string{".go", ".ts", ".md", ".sh", ".mjs", ".js", ".json", ".txtar", ".yml", ".yaml", ".mod"}, path.Ext(name)) {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		texts[name] = string(text)
		if path.Ext(name) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
		all = append(all, source{name, file})
		return err
	})
	if err != nil || len(all) < 100 {
		t.Fatalf("%d files, %v", len(all), err)
	}
	return all, texts
}

// apart reports directories with no source of this module: what a dot hides, inputs of
// tests, installed packages, other modules.
func apart(dir string) bool {
	base := path.Base(dir)
	if dir == "." {
		return false
	}
	_, err := fs.Stat(root, path.Join(dir, "go.mod"))
	return err == nil || strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules"
}

// Work that its caller does not see.
func TestNoPackageHasAnInit(t *testing.T) {
	all, _ := sources(t)
	for _, s := range all {
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s has a function init", s.name)
			}
		}
	}
}

func TestPackagesExportFew(t *testing.T) {
	all, _ := sources(t)
	names, methods := map[string]map[string]bool{}, map[string]map[string]bool{} // by package; one for all systems
	for _, s := range all {
		dir := path.Dir(s.name)
		if names[dir] == nil {
			names[dir], methods[dir] = map[string]bool{}, map[string]bool{}
		}
		if !s.test() {
			collect(s.file, names[dir], methods[dir])
		}
	}
	for dir := range names {
		if n, m := len(names[dir]), len(methods[dir]); n > namesMax || n+m > exportsMax {
			t.Errorf("%s exports %d names, and %d with methods, over %d or %d", dir, n, n+m, namesMax, exportsMax)
		}
	}
}

// collect adds the names that a file exports, and the methods of its exported types.
func collect(file *ast.File, names, methods map[string]bool) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			name := functionName(d)
			typ, _, method := strings.Cut(name, ".")
			switch {
			case method && ast.IsExported(typ) && d.Name.IsExported():
				methods[name] = true
			case !method && d.Name.IsExported():
				names[name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				for _, id := range declared(spec) {
					if id.IsExported() {
						names[id.Name] = true
					}
				}
			}
		}
	}
}

// declared returns the names of a type, const or var.
func declared(spec ast.Spec) []*ast.Ident {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return []*ast.Ident{s.Name}
	case *ast.ValueSpec:
		return s.Names
	}
	return nil
}

// functionName is a function's name, or Type.Method.
func functionName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	switch generic := typ.(type) {
	case *ast.IndexExpr:
		typ = generic.X
	case *ast.IndexListExpr:
		typ = generic.X
	}
	return typ.(*ast.Ident).Name + "." + d.Name.Name
}

var (
	step  = regexp.MustCompile(`^ ?\d+  ([a-z0-9_/]+\.go) +([A-Za-z., ]+)$`)
	named = regexp.MustCompile("`((?:[a-z0-9_]+/)+[a-z0-9_]+\\.go)`")
)

// A newcomer follows a snapshot and a restore from file to file, and does not come back
// to one that he has left.
func TestTheWalksGoThroughFilesAndFunctionsThatExist(t *testing.T) {
	all, texts := sources(t)
	functions := map[string][]string{}
	for _, s := range all {
		functions[s.name] = []string{}
		for _, decl := range s.file.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok {
				functions[s.name] = append(functions[s.name], functionName(d))
			}
		}
	}
	for _, m := range named.FindAllStringSubmatch(texts["ARCHITECTURE.md"], -1) {
		if functions[m[1]] == nil {
			t.Errorf("ARCHITECTURE.md names %s, which does not exist", m[1])
		}
	}
	for _, walk := range []string{"## One snapshot", "## One restore"} {
		var files []string
		for line := range strings.Lines(section(texts["ARCHITECTURE.md"], walk)) {
			m := step.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if m == nil {
				continue
			}
			if len(files) == 0 || files[len(files)-1] != m[1] {
				files = append(files, m[1])
			}
			for _, f := range strings.Split(m[2], ", ") {
				if !slices.Contains(functions[m[1]], f) {
					t.Errorf("%s: %s is not declared in %s", walk, f, m[1])
				}
			}
		}
		once := slices.Compact(slices.Sorted(slices.Values(files)))
		if len(files) == 0 || len(files) > walkFilesMax || len(once) < len(files) {
			t.Errorf("%s goes through %d files, of which %d are different; at most %d, and none twice", walk, len(files), len(once), walkFilesMax)
		}
	}
}

func TestTheMapNamesEveryPartOfTheEngineAndTheCommandLine(t *testing.T) {
	all, texts := sources(t)
	for _, s := range all {
		dir := path.Dir(s.name)
		part := strings.HasPrefix(dir, "engine/internal/") || strings.HasPrefix(dir, "cmd/internal/")
		if part && !s.test() && !strings.Contains(texts["ARCHITECTURE.md"], "`"+dir+"`") {
			t.Errorf("ARCHITECTURE.md does not name %s", dir)
		}
	}
}

// section returns what stands below a heading.
func section(text, heading string) string {
	_, text, _ = strings.Cut(text, heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

func TestThereAreFewWordsAndFewDecisions(t *testing.T) {
	_, texts := sources(t)
	words := strings.Count(section(texts["ARCHITECTURE.md"], "## Words"), "\n| ") - 1
	if words < 10 || words > glossaryMax {
		t.Errorf("ARCHITECTURE.md has %d words, over %d", words, glossaryMax)
	}
	records, numbers := 0, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if path.Dir(name) != "docs/decisions" {
			continue
		}
		records++
		number, _, _ := strings.Cut(path.Base(name), "-")
		if numbers[number] != "" {
			t.Errorf("%s has the number of %s", name, numbers[number])
		}
		numbers[number] = name
		bound := pageMax
		if slices.Contains(longer, path.Base(name)) {
			bound *= 2
		}
		if n := len(strings.Fields(texts[name])); n > bound {
			t.Errorf("%s has %d words, over %d", name, n, bound)
		}
	}
	if records < 5 || records > decisionsMax {
		t.Errorf("there are %d decisions, over %d", records, decisionsMax)
	}
}

// Places of one machine, and hosts that a mirror may stand for, say nothing to a reader
// elsewhere. (Cut, so as not to find themselves.)
func TestTextsNameNoPlaceAndAreShort(t *testing.T) {
	_, texts := sources(t)
	for name, text := range texts {
		for _, place := range []string{"/work" + "/", "proxy" + ".golang.org", "registry" + ".npmjs.org", "deb" + ".debian.org"} {
			if strings.Contains(text, place) {
				t.Errorf("%s names %s", name, place)
			}
		}
		if n := strings.Count(text, "\n"); path.Ext(name) == ".ts" && n > sourceMax && !strings.Contains(text, "change the program, not this file") {
			t.Errorf("%s has %d lines, over %d", name, n, sourceMax)
		}
	}
}

// What a comment can only mean as a name of the code: a word with an inner capital, a
// test, a source file.
var mention = regexp.MustCompile(`\b(?:[a-z]{2,}[A-Z][A-Za-z]{2,}|Test[A-Z]\w+|[a-z][a-z0-9_]+\.go)\b`)

// A name that is gone from the code stays in comments.
func TestCommentsNameWhatIsThere(t *testing.T) {
	all, texts := sources(t)
	known := map[string]bool{"macOS": true, "uXXXX": true}
	for name := range texts {
		known[path.Base(name)] = true
	}
	word := regexp.MustCompile(`[\w.]+`)
	for _, s := range all {
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CommentGroup, *ast.Comment:
				return false
			case *ast.Ident:
				known[n.Name] = true
			case *ast.BasicLit:
				for _, w := range word.FindAllString(n.Value, -1) {
					known[w], known[w[strings.LastIndex(w, ".")+1:]] = true, true
				}
			}
			return true
		})
	}
	for _, s := range all {
		for _, group := range s.file.Comments {
			for _, found := range mention.FindAllStringIndex(group.Text(), -1) {
				text := group.Text()
				if name := text[found[0]:found[1]]; !known[name] && (found[0] == 0 || text[found[0]-1] != '.') {
					t.Errorf("%s: a comment names %s, which is nowhere in the code (%.60q)", s.name, name, fmt.Sprint(text))
				}
			}
		}
	}
}

// What is used grows old where nobody asks for updates of it.
func TestUpdatesAreAskedForOfAllThatIsUsed(t *testing.T) {
	text, err := fs.ReadFile(root, ".github/dependabot.yml")
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string][]string{}
	for _, m := range regexp.MustCompile(`package-ecosystem: (\S+)\n +director(?:y|ies): (.+)`).FindAllStringSubmatch(string(text), -1) {
		asked[m[1]] = append(asked[m[1]], strings.Split(strings.Trim(m[2], "[]"), ", ")...)
	}
	used := map[string][]string{"github-actions": {"/"}}
	needs := regexp.MustCompile(`"(dev|peer)?[dD]ependencies": *\{ *\n`)
	err = fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case e.IsDir() && (len(base) > 1 && base[0] == '.' || base == "node_modules" || base == "dist" || base == "installed" || base == "testdata"):
			return fs.SkipDir
		case base == "go.mod":
			used["gomod"] = append(used["gomod"], path.Join("/", path.Dir(name)))
		case base == "Dockerfile":
			used["docker"] = append(used["docker"], path.Join("/", path.Dir(name)))
		case base == "package.json":
			if text, err := fs.ReadFile(root, name); err != nil || !needs.Match(text) {
				return err
			}
			used["npm"] = append(used["npm"], path.Join("/", path.Dir(name)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for system, folders := range used {
		if got := asked[system]; !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(folders))) {
			t.Errorf("%s: updates are asked for of %q; there are %q", system, got, folders)
		}
	}
}
