package rules

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/attr"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/ignore"
	"github.com/seed-82afce7a/rewind/internal/regular"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/internal/worktree"

	"golang.org/x/text/unicode/norm"
)

// Settings takes over what git's configuration says about looking at
// files. A malformed value counts as git's default and is a warning. By
// core.trustctime and core.checkStat git may be told to overlook edits: they
// are not obeyed, which may cost the first scan some reading.
func (s *Source) Settings() worktree.Settings {
	flag := func(name string, otherwise bool) bool {
		v, err := s.Config.Bool(name, otherwise)
		if err != nil {
			s.Warn(err.Error())
		}
		return v
	}
	out := worktree.Settings{
		NoFileMode: dirfd.Storable(tree.GitExec) != tree.GitExec || !flag("core.filemode", true),
		NoSymlinks: !flag("core.symlinks", true),
		FoldCase:   flag("core.ignorecase", false),
		AllowNTFS:  !flag("core.protectntfs", true),
		ProtectHFS: flag("core.protecthfs", false),
	}
	if flag("core.precomposeunicode", false) && runtime.GOOS == "darwin" { // git knows the setting nowhere else
		out.Compose = norm.NFC.String
	}
	return out
}

// Clean takes over what git's configuration says about converting files.
func (s *Source) Clean() *attr.Config {
	c := &attr.Config{Filters: map[string]attr.Filter{}}
	if v, _ := s.Config.String("core.autocrlf"); strings.EqualFold(v, "input") {
		c.AutoCRLF = attr.AutoInput
	} else if on, _ := s.Config.Bool("core.autocrlf", false); on {
		c.AutoCRLF = attr.AutoTrue
	}
	switch v, _ := s.Config.String("core.eol"); strings.ToLower(v) {
	case "lf":
		c.EOL = attr.EOLLF
	case "crlf":
		c.EOL = attr.EOLCRLF
	}
	if on, err := s.Config.Bool("core.safecrlf", false); err == nil && on {
		c.SafeCRLF = true
	}
	for _, setting := range s.Config.Settings() {
		s.addFilter(c.Filters, setting)
	}
	return c
}

// addFilter takes over one setting of a filter driver.
func (s *Source) addFilter(filters map[string]attr.Filter, setting gitconf.Setting) {
	rest, ok := strings.CutPrefix(setting.Name, "filter.")
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 0 {
		return
	}
	name, key := rest[:dot], rest[dot+1:]
	f := filters[name]
	switch key {
	case "clean":
		f.Clean = setting.Value
	case "process":
		f.Process = setting.Value
	case "required":
		f.Required, _ = s.Config.Bool(setting.Name, false)
	default:
		return
	}
	filters[name] = f
}

// Cone returns what a sparse checkout in cone mode wants on disk, nil where
// there is no such checkout.
func (s *Source) Cone(fold bool) *ignore.Cone {
	for _, name := range []string{"core.sparsecheckout", "core.sparsecheckoutcone"} {
		if on, err := s.Config.Bool(name, false); err != nil || !on {
			return nil
		}
	}
	data, err := regular.Read(filepath.Join(s.Layout.GitDir, "info", "sparse-checkout"), ignore.FileBytesMax)
	if err != nil {
		return nil
	}
	return ignore.ParseCone(data, &ignore.Options{FoldCase: fold})
}

// Filters runs the clean filters that the repository configures: it belongs to
// the user, or it would not have been found. close ends what it started.
func (s *Source) Filters() (run func(context.Context, attr.Filter, string, []byte) ([]byte, error), close func() error) {
	r := &attr.Runner{Dir: s.Root, Env: filterEnv(s.Env)}
	return r.Run, r.Close
}

// filterEnv is the environment without the variables by which an enclosing git
// command would lead a filter to another repository, and with the PATH of the process
// for which the filters run.
func filterEnv(getenv func(string) string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") || strings.HasPrefix(v, "GIT_CONFIG") {
			env = append(env, v)
		}
	}
	if path := getenv("PATH"); path != "" {
		env = append(env, "PATH="+path) // the last one counts
	}
	return env
}
