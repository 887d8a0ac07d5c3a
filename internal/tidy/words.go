package tidy

import (
	"fmt"
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
