package hook

import (
	"bufio"
	"slices"
	"strings"
)

// writers are the tools that change files by themselves, as the agents name them,
// in lower case and without underscores.
var writers = strings.Fields(`write edit multiedit notebookedit applypatch patch writefile replace create strreplace
	strreplaceeditor strreplacebasededittool insert deletefile editfile createfile
	editor writetofile replaceinfile developerwrite developeredit developertexteditor`)

// shells are the tools that run commands. What those change only the tree tells.
var shells = strings.Fields(`bash shell runshellcommand execcommand localshell powershell exec runcommand writestdin readbash writebash
	runcommands executecommand developershell`)

// changes reports whether a tool may change files.
func changes(tool string) bool { return isWriter(tool) || slices.Contains(shells, spelled(tool)) }

func isWriter(tool string) bool { return slices.Contains(writers, spelled(tool)) }

func spelled(tool string) string { return strings.ToLower(strings.ReplaceAll(tool, "_", "")) }

// changedBy lists the files that the arguments of a tool name as those that it
// changes. Of a shell command none is known.
func changedBy(m fields) (files []string) {
	add := func(path string) {
		if path != "" && len(path) <= 1024 && len(files) < filesMax && !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	for _, args := range []fields{m.in("tool_input"), m.in("toolArgs"), m.in("input").in("args"), m.in("output").in("args"), m.in("args")} {
		add(args.text("file_path", "filePath", "notebook_path", "absolute_path", "path"))
		for _, path := range patched(args.text("command", "patch", "patchText", "input")) {
			add(path)
		}
	}
	return files
}

// patched lists the files that a patch in the form of Codex names.
func patched(text string) (files []string) {
	if !strings.Contains(text, "*** Begin Patch") {
		return nil
	}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, inputMax)
	for lines.Scan() {
		for _, verb := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if path, ok := strings.CutPrefix(lines.Text(), verb); ok {
				files = append(files, strings.TrimSpace(path))
			}
		}
	}
	return files
}
