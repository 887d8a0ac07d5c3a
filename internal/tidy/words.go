package tidy

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// isText reports whether a file is written by people, by its name.
func isText(name string) bool {
	switch path.Ext(name) {
	case ".go", ".ts", ".md", ".sh", ".mjs", ".js", ".json", ".txtar", ".yml", ".yaml":
		return true
	}
	return path.Base(name) == "Makefile" || strings.HasPrefix(path.Base(name), "go.")
}

// noWords are places of one machine, and hosts that a mirror may stand for:
// a reader elsewhere can do nothing with them. (Cut, so as not to find itself.)
var noWords = []string{
	"/work" + "/", "proxy" + ".golang.org", "registry" + ".npmjs.org", "deb" + ".debian.org",
}

// checkText holds any text file: the length of source files, and the words.
func checkText(name, text string) []breach {
	var found []breach
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if ext := path.Ext(name); (ext == ".go" || ext == ".ts") && len(lines) > fileLinesMax {
		found = append(found, breach{name, len(lines), fmt.Sprintf("file of %d lines, over %d", len(lines), fileLinesMax)})
	}
	for i, line := range lines {
		for _, word := range noWords {
			if strings.Contains(line, word) {
				found = append(found, breach{name, i + 1, "names a place: " + word})
			}
		}
	}
	return found
}

// checkDecisions finds decision records that share a number: what refers to one by
// its number would mean either.
func checkDecisions(root fs.FS) (found []breach) {
	names, _ := fs.Glob(root, "docs/decisions/*.md") // the pattern is sound
	first := map[string]string{}
	for _, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "-")
		if other := first[number]; other != "" {
			found = append(found, breach{name, 1, "has the number of " + other})
		}
		first[number] = name
	}
	return found
}
