package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

func TestASpanIsWhatItWasAskedFor(t *testing.T) {
	if times(3, time.Hour) != 3*time.Hour || times(1<<62, time.Millisecond) < 290*365*24*time.Hour {
		t.Error("a time is not what it was asked for")
	}
}

func TestTheStrongerSourceWinsAndWhatIsWrongIsNamedOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	text := "[rewind]\n\tmaxSnapshots = 1\n\tmaxAgeDays = 2\n\tthin = -1\n\tnonsense = 1\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	git := gitconf.NewConfig([]gitconf.Setting{
		{Name: "rewind.maxsnapshots", Value: "3"}, {Name: "rewind.nonsense", Value: "2"}, {Name: "core.filemode", Value: "false"},
	})
	env := map[string]string{"REWIND_MAX_SNAPSHOTS": "4", "REWIND_SCAN_MODE": "other"}
	s := Load(Sources{File: file, Git: git, Env: func(name string) string { return env[name] }})
	if s.MaxSnapshots != 4 || s.MaxAge != 48*time.Hour || s.ThinDays != 0 || s.ScanMode != ScanSessions || !s.Builtin {
		t.Errorf("%d snapshots, %v, thin %d, mode %q", s.MaxSnapshots, s.MaxAge, s.ThinDays, s.ScanMode)
	}
	warnings := s.Warnings()
	for _, name := range []string{"rewind.nonsense", "rewind.thin", "rewind.scanmode"} {
		n := 0
		for _, w := range warnings {
			if strings.Contains(w, name) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s is named %d times in %q", name, n, warnings)
		}
	}
}

func TestARepositoryMakesNothingLessSafeThanTheUserHas(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	text := "[rewind]\n\tmaxSnapshots = 100\n\tmaxAgeDays = 0\n\tthin = 7\n\tsecrets = builtin\n\tscanMode = ancestor-only\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in := func(scope gitconf.Scope, list ...string) (out []gitconf.Setting) {
		for i := 0; i < len(list); i += 2 {
			out = append(out, gitconf.Setting{Name: "rewind." + list[i], Value: list[i+1], Scope: scope, File: "config"})
		}
		return out
	}
	repository := in(gitconf.Local, "force", "true", "maxsnapshots", "1", "maxagedays", "1", "thin", "30", "secrets", "!.env", "secrets", "*.gpg",
		"include", "!x", "pinlabeledentries", "false", "scanmode", "repo-sessions", "maxstoresize", "5", "largedir", "6")
	git := append(in(gitconf.Global, "pinlabeledentries", "true", "largedir", "9"), repository...)
	env := map[string]string{}
	from := Sources{File: file, Git: gitconf.NewConfig(git), Env: func(name string) string { return env[name] }}
	s := Load(from)
	if s.Force || s.MaxSnapshots != 100 || s.MaxAge != 0 || s.ThinDays != 30 || !slices.Equal(s.Secrets, []string{"builtin", "*.gpg"}) || len(s.Include) > 0 ||
		!s.PinLabeled || s.ScanMode != ScanAncestors || s.MaxStoreSize != 5 || s.LargeDir != 9 {
		t.Errorf("%+v", s)
	}
	if w := s.Warnings(); len(w) != 8 || !slices.ContainsFunc(w, func(w string) bool { return strings.HasPrefix(w, "setting rewind.force in config is ignored: ") }) {
		t.Errorf("warnings %q", w)
	}
	env["REWIND_FORCE"], env["REWIND_MAX_SNAPSHOTS"] = "1", "2"
	if s = Load(from); !s.Force || s.MaxSnapshots != 2 {
		t.Errorf("the environment does not win: %v, %d", s.Force, s.MaxSnapshots)
	}
	for _, scope := range []gitconf.Scope{gitconf.System, gitconf.Global, gitconf.Command} {
		if s = Load(Sources{Git: gitconf.NewConfig(in(scope, "force", "true")), Env: func(string) string { return "" }}); !s.Force {
			t.Errorf("scope %d: no force", scope)
		}
	}
}

func TestWhereThePolicyPutsAPath(t *testing.T) {
	s := &Settings{Include: []string{"keep/"}, Exclude: []string{"*.tmp"}, Secrets: []string{"builtin"}, MaxFileSize: 10, GitMaxFileSize: 6, LargeDir: 3}
	p := s.Policy()
	for _, c := range []struct {
		path           string
		isDir, ignored bool
		size           int64
		want           worktree.Place
	}{
		{"a", false, false, 6, worktree.Usual},
		{"a", false, false, 10, worktree.Overlay},
		{"a", false, false, 11, worktree.Nowhere},
		{"a.tmp", false, false, 1, worktree.Nowhere},
		{"keep", true, true, 0, worktree.Overlay},
		{"d/.env", false, false, 1, worktree.Overlay},
		{"d/.env.example", false, false, 1, worktree.Usual},
		{"a", false, false, 7, worktree.Overlay},
		{"ignored", false, true, 7, worktree.Usual},
	} {
		if got, why := p.Place(c.path, c.isDir, c.ignored, c.size); got != c.want {
			t.Errorf("%s, %d bytes: %v (%s), want %v", c.path, c.size, got, why, c.want)
		}
	}
	if p.Full(2) != "" || p.Full(3) == "" {
		t.Error("the limit of a large directory is not the one that was set")
	}
	if (&Settings{}).Policy() != nil {
		t.Error("settings that say nothing are a policy")
	}
	none := func(string) string { return "" }
	if with, without := Load(Sources{Git: gitconf.NewConfig(nil), Env: none}), Load(Sources{Env: none}); with.GitMaxFileSize != 16<<20 || without.GitMaxFileSize != 0 {
		t.Errorf("%d bytes with git, %d without", with.GitMaxFileSize, without.GitMaxFileSize)
	}
	if names := []string{"x/id_rsa", ".env", "tls.key"}; slices.ContainsFunc(names, func(n string) bool { return !LikeSecret(n) }) || LikeSecret("main.go") {
		t.Error("the built-in list is not what it was")
	}
}

// An archive may bring a repository whose configuration has a million of them.
func TestSettingsWithoutEndAreNamedAndTakeNothingFromTheUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte("[rewind]\n\tsecrets = mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var list []gitconf.Setting
	for i := range 200 {
		list = append(list, gitconf.Setting{Name: fmt.Sprintf("rewind.first%d", i), Value: "1", Scope: gitconf.Local})
	}
	for i := range patternsMax + 1 {
		list = append(list, gitconf.Setting{Name: "rewind.secrets", Value: "*" + strings.Repeat("x", i), Scope: gitconf.Local})
	}
	for i := range 20_000 {
		list = append(list, gitconf.Setting{Name: fmt.Sprintf("rewind.x%d", i), Value: "1", Scope: gitconf.Local})
	}
	s := Load(Sources{File: file, Git: gitconf.NewConfig(list), Env: func(string) string { return "" }})
	if !slices.Equal(s.Secrets, []string{"mine"}) {
		t.Errorf("%d patterns, want the user's own", len(s.Secrets))
	}
	if n := len(s.Warnings()); n != warningsMax+1 {
		t.Errorf("%d sentences, want %d", n, warningsMax+1)
	}
	if !strings.Contains(s.Warnings()[0], "rewind.secrets is ignored") {
		t.Errorf("the first sentence is %q", s.Warnings()[0])
	}
}

func TestWhatIsToldOfASettingIsWhatCounts(t *testing.T) {
	none := func(string) string { return "" }
	defaults := Load(Sources{Git: gitconf.NewConfig(nil), Env: none})
	var words []gitconf.Setting
	for _, k := range list() {
		if k.fallback != "" {
			words = append(words, gitconf.Setting{Name: "rewind." + strings.ToLower(k.name), Value: k.fallback, Scope: gitconf.Global})
		}
	}
	said := Load(Sources{Git: gitconf.NewConfig(words), Env: none})
	if len(said.Warnings()) > 0 {
		t.Error(said.Warnings())
	}
	for i, told := range said.All() {
		if other := defaults.All()[i]; !other.Default() || told.Default() && !told.Many {
			t.Errorf("%s: %v, by default %v", told.Name, told.Values, other.Values)
		}
	}
	said.said, defaults.said = nil, nil
	if !reflect.DeepEqual(said, defaults) {
		t.Errorf("what is told to be the default is another one:\n%+v\n%+v", said, defaults)
	}
	env := map[string]string{"REWIND_GIT_MAX_FILE_SIZE": "1k", "REWIND_AGENT_DIR": "/a" + string(filepath.ListSeparator) + "/b"}
	s := Load(Sources{Git: gitconf.NewConfig([]gitconf.Setting{{Name: "rewind.agentdir", Value: "/c", Scope: gitconf.Local, File: "f"}}), Env: func(n string) string { return env[n] }})
	for _, told := range s.All() {
		want := map[string][]Value{"rewind.gitMaxFileSize": {{"1k", "environment"}}, "rewind.agentDir": {{"/c", "f"}, {"/a", "environment"}, {"/b", "environment"}}}[told.Name]
		if want != nil && !slices.Equal(told.Values, want) {
			t.Errorf("%s: %v", told.Name, told.Values)
		}
	}
}
