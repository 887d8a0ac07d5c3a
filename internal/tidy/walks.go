package tidy

import (
	"go/ast"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

const (
	// mapFile has the walks: the main path of a snapshot and of a restore.
	mapFile = "ARCHITECTURE.md"
	// walkFilesMax is how many files a newcomer may have to open for one walk.
	walkFilesMax = 12
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
	declared := map[string]map[string]bool{}
	for _, sources := range packages {
		for _, s := range sources {
			declared[s.file] = functions(s)
		}
	}
	var found []breach
	section, files := "", map[string]map[string]bool{}
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
				if !declared[m[1]][f] {
					at("names " + f + ", which is not declared in " + m[1])
				}
			}
		}
	}
	for _, name := range walks {
		switch n := len(files[name]); {
		case n == 0:
			found = append(found, breach{mapFile, 1, "has no walk " + strconv.Quote(name)})
		case n > walkFilesMax:
			found = append(found, breach{mapFile, 1, strconv.Quote(name) + " names " + strconv.Itoa(n) + " files, over " + strconv.Itoa(walkFilesMax)})
		}
	}
	return found
}

func isWalk(section string) bool {
	for _, name := range walks {
		if section == name {
			return true
		}
	}
	return false
}

// functions lists what a file declares: functions by name, methods as
// Type.Method.
func functions(s source) map[string]bool {
	names := map[string]bool{}
	for _, decl := range s.ast.Decls {
		if d, ok := decl.(*ast.FuncDecl); ok {
			names[funcName(d)] = true
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
