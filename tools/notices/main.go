// Command notices prints the licences of everything that is linked into the program, on
// any of its systems: of Go itself, and of each module.
package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const bar = "========================================================================"

var (
	systems = []string{"linux", "darwin", "windows"}
	legal   = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)`)
)

func main() {
	log.SetFlags(0)
	goroot, version := run("env", "GOROOT"), run("env", "GOVERSION")
	fmt.Println("The rewind program contains the following works of others.")
	part("Go "+version, goroot)
	works := map[string][]string{} // name and version: the folders whose licences hold
	for _, system := range systems {
		_ = os.Setenv("GOOS", system)
		const each = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}"
		for line := range strings.Lines(run("list", "-deps", "-f", each, "./cmd/rewind") + "\n") {
			words := strings.Split(strings.TrimSpace(line), "\t")
			if len(words) != 3 {
				continue
			}
			for dir := words[2]; dir != words[1]; dir = filepath.Dir(dir) {
				works[words[0]] = append(works[words[0]], dir)
			}
			works[words[0]] = append(works[words[0]], words[1])
		}
	}
	var names []string
	for name := range works {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		slices.Sort(works[name])
		part(name, slices.Compact(works[name])...)
	}
}

// part prints the licences in the folders of one work; one without any is not to be
// published.
func part(name string, dirs ...string) {
	fmt.Printf("\n%s\n%s\n%s\n", bar, name, bar)
	found := false
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			log.Fatalf("notices: %v", err)
		}
		for _, entry := range entries {
			if entry.IsDir() || !legal.MatchString(entry.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			if err != nil {
				log.Fatalf("notices: %v", err)
			}
			fmt.Printf("\n%s\n", strings.TrimSpace(string(text)))
			found = true
		}
	}
	if !found {
		log.Fatalf("notices: %s has no licence", name)
	}
}

// run asks Go in the module of the program, the folder above.
func run(args ...string) string {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	out, err := cmd.Output()
	if err != nil {
		log.Fatalf("notices: go %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}
