package tidy

import (
	"go/ast"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

const (
	// mapFile has the walks: the main path of a snapshot and of a restore.
	mapFile = "ARCHITECTURE.md"
	// walkFilesMax is how many files a newcomer may have to open for one walk.
	walkFilesMax = 12
	// walkLinesMax is how many lines the functions have that it names.
	walkLinesMax = 1500
)

// walks are the sections of the map that are walks.
var walks = []string{"## One snapshot", "## One restore"}

var (
	walkStep  = regexp.MustCompile(`^\d+\. `)
	walkPlace = regexp.MustCompile("`([a-z0-9_/]+\\.go)` \\(((?:`[A-Za-z.]+`(?:, )?)+)\\)")
	goFile    = regexp.MustCompile("`((?:[a-z0-9_]+/)+[a-z0-9_]+\\.go)`")
)

// checkMap checks the map: each step of a walk names a file and functions, each
// function that is named after a file is declared in it, and each source file that
// is named anywhere exists.
func checkMap(root fs.FS, packages map[string][]source) []breach {
	text, err := fs.ReadFile(root, mapFile)
	if err != nil {
		return []breach{{mapFile, 1, "there is no map"}}
	}
	declared := map[string]map[string]int{}
	for _, sources := range packages {
		for _, s := range sources {
			declared[s.file] = functions(s)
		}
	}
	var found []breach
	section, files, lines := "", map[string]map[string]bool{}, map[string]int{}
	for i, line := range strings.Split(string(text), "\n") {
		at := func(text string) { found = append(found, breach{mapFile, i + 1, text}) }
		if strings.HasPrefix(line, "## ") {
			section = line
		}
		for _, m := range goFile.FindAllStringSubmatch(line, -1) {
			if declared[m[1]] == nil {
				at("names " + m[1] + ", which does not exist")
			}
		}
		places := walkPlace.FindAllStringSubmatch(line, -1)
		step := walkStep.MatchString(line) && isWalk(section)
		if step && len(places) == 0 {
			at("a step of a walk names no file and function")
		}
		for _, m := range places {
			if files[section] == nil {
				files[section] = map[string]bool{}
			}
			if step {
				files[section][m[1]] = true
			}
			for _, f := range strings.FieldsFunc(m[2], func(r rune) bool { return strings.ContainsRune("`, ", r) }) {
				if step {
					lines[section] += declared[m[1]][f]
				}
				if declared[m[1]][f] == 0 {
					at("names " + f + ", which is not declared in " + m[1])
				}
			}
		}
	}
	found = append(found, unmapped(string(text), packages)...)
	for _, name := range walks {
		switch n := len(files[name]); {
		case n == 0:
			found = append(found, breach{mapFile, 1, "has no walk " + strconv.Quote(name)})
		case n > walkFilesMax:
			found = append(found, breach{mapFile, 1, strconv.Quote(name) + " names " + strconv.Itoa(n) + " files, over " + strconv.Itoa(walkFilesMax)})
		case lines[name] > walkLinesMax:
			found = append(found, breach{mapFile, 1, strconv.Quote(name) + " goes through " + strconv.Itoa(lines[name]) + " lines, over " + strconv.Itoa(walkLinesMax)})
		}
	}
	return found
}

// unmapped names the rooms and the files of the engine that the map does not name.
// A file that has the verb of its name needs no other word, and one that a walk
// goes through has more than one.
func unmapped(text string, packages map[string][]source) (found []breach) {
	for dir, sources := range packages {
		if strings.HasPrefix(dir, face+"/") && !strings.Contains(text, "`"+dir+"`") {
			found = append(found, breach{mapFile, 1, "does not name the room " + dir})
		}
		for _, s := range sources {
			if dir == face && !s.test && !strings.Contains(text, "`"+s.file+"`") && !hasVerbOfItsName(s) {
				found = append(found, breach{mapFile, 1, "does not say what " + s.file + " is for"})
			}
		}
	}
	return found
}

// hasVerbOfItsName reports whether a file has the method of the engine that it is
// named after.
func hasVerbOfItsName(s source) bool {
	verb := strings.TrimSuffix(path.Base(s.file), ".go")
	for name := range functions(s) {
		if strings.EqualFold(name, "Engine."+verb) && ast.IsExported(strings.TrimPrefix(name, "Engine.")) {
			return true
		}
	}
	return false
}

func isWalk(section string) bool {
	for _, name := range walks {
		if section == name {
			return true
		}
	}
	return false
}

// functions lists what a file declares, with the lines it has: functions by name,
// methods as Type.Method.
func functions(s source) map[string]int {
	names := map[string]int{}
	for _, decl := range s.ast.Decls {
		if d, ok := decl.(*ast.FuncDecl); ok {
			names[funcName(d)] = s.lines(d)
		}
	}
	return names
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	return receiver(d) + "." + d.Name.Name
}
