// Command lint holds the shape of the module: who imports whom (layers.yml, beside this
// file), the length of functions and files, what is commented, and what only one package
// may call; and it has nothing to say that go vet would. It joins the linters that know
// these things. A program with a hundred more, as golangci-lint is, takes eight minutes of
// processor time to build, on each fresh machine.
//
//	lint ./...              of the module in the directory it is started in
//	GOOS=windows lint ./... as it is for another system, of which nothing is compiled
package main

import (
	_ "embed"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/OpenPeeDeeP/depguard/v2"
	forbidigo "github.com/ashanbrown/forbidigo/v2/pkg/analyzer"
	interfacebloat "github.com/sashamelentyev/interfacebloat/pkg/analyzer"
	"github.com/ultraware/funlen"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/multichecker"
	"golang.org/x/tools/go/analysis/suite/vet"
)

//go:embed layers.yml
var layers []byte

func main() {
	log.SetFlags(0)
	var rules depguard.LinterSettings
	if err := yaml.Unmarshal(layers, &rules); err != nil {
		log.Fatal("layers.yml: ", err)
	}
	imports, err := depguard.NewAnalyzer(&rules)
	if err != nil {
		log.Fatal("layers.yml: ", err)
	}
	methods := set(interfacebloat.New(), "max", "5")
	const table = `{p: '\.Table$', pkg: '/rewind/cas$', msg: "a table of the store is for engine/internal/records alone"}`
	tables := only(set(set(forbidigo.NewAnalyzer(), "analyze_types", "true"), "p", table), func(file string) bool {
		return strings.Contains(file, "/engine/") && !strings.Contains(file, "/engine/internal/records/") && !strings.HasSuffix(file, "_test.go")
	})
	found, err := style(".")
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range found {
		fmt.Println(line)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
	multichecker.Main(append(vet.Suite, imports, funlen.NewAnalyzer(70, -1, false), methods, tables)...)
}

// set gives an analyzer one of its flags.
func set(a *analysis.Analyzer, flag, value string) *analysis.Analyzer {
	if err := a.Flags.Set(flag, value); err != nil {
		log.Fatal(err)
	}
	return a
}

// only is an analyzer that says nothing of other files than those that are meant.
func only(a *analysis.Analyzer, meant func(file string) bool) *analysis.Analyzer {
	all := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		told := *pass
		told.Report = func(d analysis.Diagnostic) {
			if meant(pass.Fset.Position(d.Pos).Filename) {
				pass.Report(d)
			}
		}
		return all(&told)
	}
	return a
}
