// Command api names what a change breaks for programs in Go: it compares package engine
// with that of an older revision, and fails if something is incompatible that the newest
// section of CHANGELOG.md does not name, in backquotes. From 1.0 on naming is not enough:
// what has been released may not break.
//
// Many types of the door are those of packages behind it, by another name. The tool apidiff
// compares one package, and knows types of others by name alone; here these are compared
// too, as far as the door shows them.
package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/tools/go/packages"
)

func main() {
	base := flag.String("base", "", "a revision (default: the last tag)")
	dir := flag.String("C", ".", "the `directory` of the module")
	flag.Parse()
	if err := run(*dir, *base); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

func run(dir, base string) error {
	if base == "" {
		tag, err := git(dir, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*")
		if err != nil {
			fmt.Println("api: nothing was released yet: nothing is promised (BASE=REVISION compares with one)")
			return nil
		}
		base = strings.TrimSpace(tag)
	}
	old, err := os.MkdirTemp("", "api")
	if err != nil {
		return err
	}
	defer os.RemoveAll(old)
	if err := export(dir, base, old); err != nil {
		return err
	}
	broken, added, err := compare(old, dir)
	if err != nil {
		return err
	}
	log, err := os.ReadFile(filepath.Join(dir, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	return judge(base, broken, added, newest(string(log)))
}

// judge prints what changed, and says whether it may.
func judge(base string, broken, added []string, log string) error {
	fmt.Printf("api: since %s %d changes of package engine break programs, %d add to it\n", base, len(broken), len(added))
	unnamed := 0
	for _, change := range broken {
		name, _, _ := strings.Cut(change, ":")
		about := ""
		if !strings.Contains(log, "`"+name+"`") {
			about, unnamed = "   <- CHANGELOG.md does not name `"+name+"`", unnamed+1
		}
		fmt.Println("breaks ", change+about)
	}
	for _, change := range added {
		fmt.Println("adds   ", change)
	}
	if stable := regexp.MustCompile(`^v[1-9]`).MatchString(base); stable && len(broken) > 0 {
		return fmt.Errorf("%s promises that nothing breaks before the next major version", base)
	}
	if unnamed > 0 {
		return fmt.Errorf("%d of these are not named in the newest section of CHANGELOG.md", unnamed)
	}
	return nil
}

// newest returns the newest section.
func newest(log string) string {
	sections := strings.SplitN("\n"+log, "\n## ", 3)
	return sections[min(1, len(sections)-1)]
}

func git(dir string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
	return string(out), err
}

// export writes the files of a revision into a directory, and nothing anywhere else.
func export(dir, revision, to string) error {
	files, err := exec.Command("git", "-C", dir, "archive", "--format=tar", revision).Output()
	if err != nil {
		return fmt.Errorf("there is no revision %s here (a clone may be shallow): %w", revision, err)
	}
	tar := exec.Command("tar", "-xf", "-", "-C", to)
	tar.Stdin, tar.Stderr = bytes.NewReader(files), os.Stderr
	return tar.Run()
}

const door = "/engine"

// compare says what of the door is broken, and what it has more, each once.
func compare(old, now string) (broken, added []string, err error) {
	was, err := load(old, "."+door)
	if err != nil {
		return nil, nil, err
	}
	is, err := load(now, "."+door)
	if err != nil {
		return nil, nil, err
	}
	reached := shown(was)
	differs := func(names map[string]bool, report apidiff.Report) {
		for _, c := range report.Changes {
			if names != nil && !names[owner(c.Message)] {
				continue
			}
			if c.Compatible {
				added = append(added, c.Message)
			} else {
				broken = append(broken, c.Message)
			}
		}
	}
	differs(nil, apidiff.Changes(was, is))
	for _, path := range slices.Sorted(maps.Keys(reached)) {
		before, err := load(old, path)
		if err != nil {
			return nil, nil, err
		}
		after, err := load(now, path)
		if err != nil {
			continue // the door says then that its types are others
		}
		differs(reached[path], apidiff.Changes(before, after))
	}
	for _, list := range []*[]string{&broken, &added} {
		slices.SortFunc(*list, cmp.Compare)
		*list = slices.Compact(*list)
	}
	return broken, added, nil
}

// owner is the name that a change of apidiff is about: T of "T.Field: …", "(*T).Method: …".
func owner(change string) string {
	return regexp.MustCompile(`\w+`).FindString(change)
}

// load reads the types of one package.
func load(dir, path string) (*types.Package, error) {
	list, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps, Env: append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")}, path)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 || len(list[0].Errors) > 0 || list[0].Types == nil {
		return nil, fmt.Errorf("%s in %s: %v", path, dir, list[0].Errors)
	}
	return list[0].Types, nil
}

// shown lists the types of other packages of the module that a program can get hold of
// through one, by package.
func shown(p *types.Package) map[string]map[string]bool {
	s := &seen{module: strings.TrimSuffix(p.Path(), door), of: map[string]map[string]bool{}, done: map[types.Type]bool{}}
	for _, name := range p.Scope().Names() {
		if o := p.Scope().Lookup(name); o.Exported() {
			s.look(o.Type())
		}
	}
	delete(s.of, p.Path())
	return s.of
}

type seen struct {
	module string
	of     map[string]map[string]bool
	done   map[types.Type]bool
}

func (s *seen) look(t types.Type) {
	t = types.Unalias(t)
	if s.done[t] {
		return
	}
	s.done[t] = true
	switch t := t.(type) {
	case *types.Named:
		s.named(t)
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				s.look(f.Type())
			}
		}
	case *types.Signature:
		s.look(t.Params())
		s.look(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			s.look(v.Type())
		}
	case *types.Interface:
		for m := range t.Methods() {
			s.look(m.Type())
		}
	case *types.Map:
		s.look(t.Key())
		s.look(t.Elem())
	case interface{ Elem() types.Type }: // pointers, lists, channels
		s.look(t.Elem())
	}
}

func (s *seen) named(t *types.Named) {
	o := t.Obj()
	if o.Pkg() == nil || o.Pkg().Path() != s.module && !strings.HasPrefix(o.Pkg().Path(), s.module+"/") {
		return
	}
	names := s.of[o.Pkg().Path()]
	if names == nil {
		names = map[string]bool{}
		s.of[o.Pkg().Path()] = names
	}
	names[o.Name()] = true
	s.look(t.Underlying())
	for m := range t.Methods() {
		if m.Exported() {
			s.look(m.Type())
		}
	}
}
