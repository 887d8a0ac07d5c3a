package tidy

import (
	"go/ast"
	"path"
	"strconv"
	"strings"
)

// layers lists every package and what of this module it may import, and imports.
// It is the table of docs/decisions/0001-packages.md, a statement of policy: do
// not add to it to fix a build, write a decision record first. What is imported
// no more goes out of it. Tests may import more, as far as there is no cycle.
var layers = map[string]string{
	"cmd/internal/change":       "cmd/internal/cli cmd/internal/exit cmd/internal/process cmd/internal/show cmd/internal/verb cmd/internal/wire engine internal/bisect internal/fork internal/hunk internal/oid internal/visible",
	"cmd/internal/cli":          "cmd/internal/exit cmd/internal/process cmd/internal/show engine",
	"cmd/internal/command":      "bench cmd/internal/change cmd/internal/cli cmd/internal/exit cmd/internal/history cmd/internal/hook cmd/internal/process cmd/internal/record cmd/internal/serve cmd/internal/setup cmd/internal/show cmd/internal/ui engine extension internal/visible",
	"cmd/internal/exit":         "engine internal/fork",
	"cmd/internal/history":      "cmd/internal/cli cmd/internal/exit cmd/internal/record cmd/internal/show cmd/internal/verb cmd/internal/wire engine internal/fork internal/oid internal/visible",
	"cmd/internal/hook":         "internal/durable internal/trust",
	"cmd/internal/process":      "cmd/internal/exit",
	"cmd/internal/record":       "cmd/internal/cli cmd/internal/exit cmd/internal/hook cmd/internal/process cmd/internal/show cmd/internal/socket cmd/internal/wire engine internal/visible",
	"cmd/internal/rpc":          "",
	"cmd/internal/serve":        "cmd/internal/cli cmd/internal/exit cmd/internal/record cmd/internal/rpc cmd/internal/show cmd/internal/verb engine",
	"cmd/internal/setup":        "internal/durable internal/trust",
	"cmd/internal/show":         "cmd/internal/exit engine internal/hunk internal/oid internal/visible internal/when",
	"cmd/internal/socket":       "internal/dirfd internal/durable",
	"cmd/internal/ui":           "engine internal/hunk internal/oid internal/visible",
	"cmd/internal/verb":         "cmd/internal/cli cmd/internal/exit cmd/internal/rpc cmd/internal/show cmd/internal/wire engine internal/fork internal/oid",
	"cmd/internal/wire":         "engine internal/oid",
	"cmd/rewind":                "cmd/internal/command",
	"internal/oid":              "",
	"internal/tree":             "internal/oid",
	"internal/wildmatch":        "",
	"internal/ignore":           "internal/wildmatch",
	"internal/attr":             "internal/wildmatch",
	"internal/dirfd":            "internal/localfs internal/tree",
	"internal/durable":          "internal/trust",
	"internal/regular":          "",
	"internal/localfs":          "",
	"internal/when":             "",
	"internal/hunk":             "",
	"internal/trust":            "",
	"engine/internal/textmerge": "",
	"internal/stattable":        "internal/oid internal/tree internal/dirfd internal/durable",
	"internal/worktree": "internal/oid internal/tree internal/ignore internal/attr internal/dirfd " +
		"internal/stattable gitbridge/gitindex",
	"engine/internal/watch": "",
	"internal/apply":        "internal/oid internal/tree internal/dirfd",
	"gitbridge/gitconf":     "internal/oid internal/wildmatch internal/regular internal/trust",
	"gitbridge/gitindex":    "internal/oid internal/tree",
	"gitbridge/gitodb":      "internal/oid internal/durable internal/localfs internal/regular",
	"gitbridge/gitref":      "internal/oid internal/durable internal/regular",
	"gitbridge": "internal/durable gitbridge/gitconf gitbridge/gitodb gitbridge/gitref " +
		"internal/oid internal/regular internal/tree",
	"gitbridge/foreign":         "gitbridge internal/regular gitbridge/gitindex gitbridge/gitref internal/oid internal/tree",
	"cas":                       "internal/oid internal/durable",
	"ledger":                    "internal/oid",
	"engine/internal/changes":   "internal/oid internal/tree",
	"engine/internal/records":   "cas engine/internal/changes internal/oid internal/tree",
	"engine/internal/retention": "engine/internal/records internal/oid internal/tree ledger",
	"engine/internal/plan":      "gitbridge/gitindex internal/apply internal/dirfd internal/ignore internal/oid internal/tree internal/wildmatch",
	"engine/internal/merge":     "engine/internal/plan internal/oid engine/internal/textmerge internal/tree",
	"engine/internal/objects":   "cas engine/internal/records gitbridge gitbridge/gitodb internal/apply internal/dirfd internal/oid internal/tree",
	"engine/internal/capture": "engine/internal/objects engine/internal/records engine/internal/rules cas gitbridge internal/apply internal/dirfd gitbridge/gitconf " +
		"internal/oid internal/stattable internal/tree internal/trust internal/worktree",
	"engine/internal/blame":    "engine/internal/objects engine/internal/records internal/hunk internal/oid internal/tree",
	"engine/internal/mirror":   "engine/internal/objects engine/internal/records cas gitbridge gitbridge/gitodb internal/oid internal/tree",
	"engine/internal/locate":   "cas engine/internal/objects engine/internal/records gitbridge gitbridge/gitconf internal/dirfd internal/durable internal/oid internal/tree internal/trust",
	"engine/internal/lookup":   "engine/internal/changes engine/internal/objects engine/internal/records gitbridge gitbridge/foreign internal/oid internal/regular internal/tree internal/when ledger",
	"engine/internal/settings": "internal/ignore gitbridge/gitconf internal/worktree",
	"engine/internal/rules": "internal/oid internal/ignore internal/attr internal/dirfd internal/regular gitbridge/gitconf " +
		"gitbridge/gitindex",
	"engine/internal/watched": "internal/dirfd internal/oid engine/internal/watch internal/worktree",
	"engine": "cas gitbridge/foreign gitbridge gitbridge/gitconf ledger " +
		"engine/internal/blame engine/internal/capture engine/internal/changes engine/internal/locate engine/internal/lookup engine/internal/merge engine/internal/mirror engine/internal/objects engine/internal/plan " +
		"engine/internal/records engine/internal/retention engine/internal/rules engine/internal/settings engine/internal/watched " +
		"internal/apply internal/dirfd internal/durable internal/oid engine/internal/textmerge internal/tree internal/worktree",
	"extension":        "",
	"internal/visible": "",
	"bench":            "bench/report internal/trust internal/visible",
	"bench/report":     "",
	"fuzz":             "*",
	"fuzz/exact":       "*",
	"fuzz/hostile":     "*",
	"fuzz/power":       "*",
	"internal/seed":    "",
	"internal/tidy":    "",

	"internal/bisect": "engine internal/durable internal/oid",
	"internal/carry":  "internal/dirfd internal/tree",
	"internal/fork":   "engine internal/carry internal/dirfd internal/durable internal/oid internal/tree",
}

// outside lists every module that non-test code may import, and the packages
// that may. The standard library is open to all; so a package that begins to
// depend on something shows here, and a dependency is replaced in few places.
var outside = map[string]string{
	"charm.land/bubbletea/v2":               "cmd/internal/ui",
	"github.com/charmbracelet/colorprofile": "cmd/internal/ui",
	"github.com/charmbracelet/x/ansi":       "cmd/internal/ui",
	"go.etcd.io/bbolt":                      "cas internal/stattable",
	"github.com/zeebo/blake3":               "cas internal/oid",
	"github.com/klauspost/compress":         "cas gitbridge/gitodb",
	"github.com/PlakarKorp/go-cdc-chunkers": "cas",
	"golang.org/x/sys": "internal/dirfd internal/durable internal/localfs cmd/internal/socket internal/stattable engine/internal/watch internal/worktree " +
		"gitbridge/gitodb gitbridge/gitref internal/trust bench",
	"github.com/go-json-experiment/json":     "ledger",
	"golang.org/x/text":                      "internal/attr engine/internal/rules",
	"github.com/spf13/cobra":                 "cmd/internal/change cmd/internal/cli cmd/internal/command cmd/internal/history cmd/internal/record cmd/internal/serve",
	"github.com/spf13/pflag":                 "cmd/internal/cli cmd/internal/command",
	"github.com/schollz/progressbar/v3":      "cmd/internal/show",
	"github.com/modelcontextprotocol/go-sdk": "cmd/internal/serve",
	"golang.org/x/term":                      "cmd/internal/cli cmd/internal/show",
	"github.com/mattn/go-runewidth":          "cmd/internal/show",
	"znkr.io/diff":                           "engine/internal/changes internal/hunk cmd/internal/command",
}

// restricted lists the packages of the standard library that are not open to
// all, and who may import them: what starts programs is to be read in few places.
var restricted = map[string]string{
	"os/exec": "internal/attr gitbridge bench fuzz fuzz/exact fuzz/power internal/tidy cmd/internal/change cmd/internal/cli cmd/internal/command cmd/internal/record",
}

// checkLayer holds one package to the tables above.
func checkLayer(dir string, sources []source) []breach {
	first := sources[0]
	allowed, listed := layers[dir]
	if !listed {
		return []breach{first.breach(first.ast.Package, "package %s is not in the table of layers", dir)}
	}
	var found []breach
	for _, s := range sources {
		if s.test {
			continue
		}
		for _, spec := range s.ast.Imports {
			name, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
			if why := forbidden(dir, allowed, name); why != "" {
				found = append(found, s.breach(spec.Pos(), "%s", why))
			}
		}
		found = append(found, checkTables(dir, s)...)
	}
	return found
}

// checkTables checks that one package of the engine knows the store's tables: a
// call of a method Table elsewhere names one.
func checkTables(dir string, s source) (found []breach) {
	if dir != "engine" && !strings.HasPrefix(dir, "engine/") || dir == "engine/internal/records" {
		return nil
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if method, ok := call.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Table" {
				found = append(found, s.breach(call.Pos(), "a table of the store is for engine/internal/records alone"))
			}
		}
		return true
	})
	return found
}

// forbidden says why the package in dir may not import name, or nothing.
func forbidden(dir, allowed, name string) string {
	if name == module || strings.HasPrefix(name, module+"/") {
		ours := strings.TrimPrefix(strings.TrimPrefix(name, module), "/")
		if allowed == "*" || contains(allowed, ours) {
			return ""
		}
		return dir + " may not import " + ours
	}
	if host, _, _ := strings.Cut(name, "/"); !strings.Contains(host, ".") {
		if users, listed := restricted[name]; listed && !contains(users, dir) {
			return dir + " may not import " + name + ", which is for " + users
		}
		return "" // the standard library
	}
	for at := name; at != "."; at = path.Dir(at) {
		if users, listed := outside[at]; listed {
			if contains(users, dir) {
				return ""
			}
			return dir + " may not import " + at + ", which is for " + users
		}
	}
	return name + " is not in the table of outside modules"
}

// contains reports whether a list of words has a word.
func contains(list, word string) bool {
	for _, w := range strings.Fields(list) {
		if w == word {
			return true
		}
	}
	return false
}
