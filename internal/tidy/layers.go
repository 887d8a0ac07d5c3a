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
	"internal/oid":       "",
	"internal/ui":        "engine internal/hunk internal/oid internal/visible",
	"internal/tree":      "internal/oid",
	"internal/wildmatch": "",
	"internal/ignore":    "internal/wildmatch",
	"internal/attr":      "internal/wildmatch",
	"internal/dirfd":     "internal/localfs internal/tree",
	"internal/durable":   "internal/trust",
	"internal/regular":   "internal/localfs",
	"internal/localfs":   "",
	"internal/when":      "",
	"internal/hunk":      "",
	"internal/trust":     "",
	"internal/textmerge": "",
	"internal/stattable": "internal/oid internal/tree internal/dirfd internal/durable",
	"internal/worktree": "internal/oid internal/tree internal/ignore internal/attr internal/dirfd " +
		"internal/stattable git/gitindex",
	"internal/watch": "",
	"internal/apply": "internal/oid internal/tree internal/dirfd",
	"git/gitconf":    "internal/oid internal/wildmatch internal/regular internal/trust",
	"git/gitindex":   "internal/oid internal/tree",
	"git/gitodb":     "internal/oid internal/durable internal/localfs internal/regular",
	"git/gitref":     "internal/oid internal/durable internal/regular",
	"git/gitbridge": "internal/durable git/gitconf git/gitodb git/gitref " +
		"internal/oid internal/regular internal/tree",
	"git/foreign":      "git/gitbridge internal/regular git/gitindex git/gitref internal/oid internal/tree",
	"cas":              "internal/oid internal/durable",
	"ledger":           "internal/oid",
	"engine/changes":   "internal/oid internal/tree",
	"engine/records":   "cas engine/changes internal/oid internal/tree",
	"engine/reach":     "engine/records internal/oid internal/tree",
	"engine/retention": "engine/records ledger internal/oid",
	"engine/purge":     "engine/reach engine/records internal/oid internal/tree",
	"engine/plan":      "internal/oid internal/tree internal/wildmatch internal/ignore internal/apply",
	"engine/journal":   "engine/records cas internal/apply",
	"engine/merge":     "engine/plan internal/oid internal/textmerge internal/tree",
	"engine/objects":   "engine/records cas git/gitbridge git/gitodb internal/oid internal/tree",
	"engine/capture": "engine/objects engine/records engine/rules cas git/gitbridge internal/apply internal/dirfd git/gitconf " +
		"internal/oid internal/stattable internal/tree internal/trust internal/worktree",
	"engine/blame":    "cas engine/objects engine/records internal/hunk internal/oid internal/tree",
	"engine/mirror":   "engine/objects engine/records cas git/gitbridge git/gitodb internal/oid internal/tree",
	"engine/inherit":  "engine/journal engine/objects engine/records engine/shelf cas git/gitbridge internal/dirfd internal/oid internal/tree",
	"engine/locate":   "engine/records git/gitbridge git/gitconf internal/dirfd internal/oid internal/trust",
	"engine/lookup":   "engine/changes engine/objects engine/records internal/oid internal/tree internal/when",
	"engine/outside":  "engine/records git/foreign git/gitbridge internal/oid internal/regular internal/tree ledger",
	"engine/secure":   "engine/objects engine/records internal/apply internal/dirfd internal/oid internal/tree",
	"engine/shelf":    "engine/records cas internal/dirfd internal/durable internal/oid internal/trust",
	"engine/settings": "internal/ignore git/gitconf internal/worktree",
	"engine/rules": "internal/oid internal/ignore internal/attr internal/dirfd internal/regular git/gitconf " +
		"git/gitindex",
	"engine/watched": "internal/dirfd internal/oid internal/watch internal/worktree",
	"engine": "cas git/foreign git/gitbridge git/gitconf ledger " +
		"engine/blame engine/capture engine/changes engine/inherit engine/journal engine/locate engine/lookup engine/merge engine/mirror engine/objects engine/outside engine/plan engine/purge " +
		"engine/reach engine/records engine/retention engine/rules engine/secure engine/settings engine/shelf engine/twin engine/watched " +
		"internal/apply internal/dirfd internal/durable internal/oid internal/textmerge internal/tree internal/worktree",
	"internal/hook":    "internal/durable internal/trust",
	"internal/setup":   "internal/durable internal/trust",
	"extension":        "",
	"internal/rpc":     "",
	"internal/socket":  "internal/dirfd internal/durable",
	"internal/visible": "",
	"internal/wire":    "engine engine/blame engine/changes engine/lookup engine/shelf internal/oid",
	"cmd/rewind":       "engine engine/blame engine/changes engine/lookup engine/mirror extension internal/bisect internal/fork internal/setup engine/shelf engine/watched internal/hook internal/hunk internal/socket internal/oid internal/ui internal/visible internal/when internal/wire internal/rpc bench",
	"bench":            "bench/report internal/trust internal/visible",
	"bench/report":     "",
	"fuzz":             "*",
	"fuzz/exact":       "*",
	"fuzz/hostile":     "*",
	"fuzz/power":       "*",
	"internal/seed":    "",
	"internal/tidy":    "",

	"internal/bisect": "engine internal/durable internal/oid",
	"internal/carry":  "internal/apply internal/dirfd internal/tree",
	"internal/fork":   "engine internal/carry internal/dirfd internal/durable internal/oid internal/tree",
	"engine/twin":     "engine/plan git/gitindex internal/apply internal/dirfd internal/oid internal/tree",
}

// outside lists every module that non-test code may import, and the packages
// that may. The standard library is open to all; so a package that begins to
// depend on something shows here, and a dependency is replaced in few places.
var outside = map[string]string{
	"charm.land/bubbletea/v2":               "internal/ui",
	"github.com/charmbracelet/colorprofile": "internal/ui",
	"github.com/charmbracelet/x/ansi":       "internal/ui",
	"go.etcd.io/bbolt":                      "cas internal/stattable",
	"github.com/zeebo/blake3":               "cas internal/oid",
	"github.com/klauspost/compress":         "cas git/gitodb",
	"github.com/PlakarKorp/go-cdc-chunkers": "cas",
	"golang.org/x/sys": "internal/dirfd internal/durable internal/localfs internal/socket internal/stattable internal/watch internal/worktree " +
		"git/gitodb git/gitref internal/trust bench",
	"golang.org/x/text":                      "internal/attr engine/rules",
	"github.com/spf13/cobra":                 "cmd/rewind",
	"github.com/spf13/pflag":                 "cmd/rewind",
	"github.com/schollz/progressbar/v3":      "cmd/rewind",
	"github.com/modelcontextprotocol/go-sdk": "cmd/rewind",
	"golang.org/x/term":                      "cmd/rewind",
	"github.com/mattn/go-runewidth":          "cmd/rewind",
	"znkr.io/diff":                           "cmd/rewind engine/changes internal/hunk",
}

// restricted lists the packages of the standard library that are not open to
// all, and who may import them: what starts programs is to be read in few places.
var restricted = map[string]string{
	"os/exec": "internal/attr git/gitbridge cmd/rewind bench fuzz fuzz/exact fuzz/power internal/tidy",
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
	if dir != "engine" && !strings.HasPrefix(dir, "engine/") || dir == "engine/records" {
		return nil
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if method, ok := call.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Table" {
				found = append(found, s.breach(call.Pos(), "a table of the store is for engine/records alone"))
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
