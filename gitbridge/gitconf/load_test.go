package gitconf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// checkConfig compares all settings in force in a directory, with their scopes,
// with git's list.
func checkConfig(t *testing.T, p *place, dir string) *Config {
	t.Helper()
	out, gitErr := p.try(dir, "config", "--list", "-z", "--show-scope")
	l, err := Discover(p.path(dir), p.options())
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Config()
	if (err != nil) != (gitErr != nil) {
		t.Fatalf("error %v, git has %v", err, gitErr)
	}
	var got strings.Builder
	scopes := []string{System: "system", Global: "global", Local: "local", Worktree: "worktree", Command: "command"}
	for _, s := range c.Settings() {
		fmt.Fprintf(&got, "%s\x00%s", scopes[s.Scope], s.Name)
		if !s.Bare {
			got.WriteString("\n" + s.Value)
		}
		got.WriteByte(0)
	}
	a, b := strings.Split(got.String(), "\x00"), strings.Split(out, "\x00")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			t.Errorf("in %s, from field %d:\n got %.300q\nwant %.300q", dir, i, a[min(i, len(a)):], b[min(i, len(b)):])
			break
		}
	}
	return c
}

func TestLaterScopesWinAsInGit(t *testing.T) {
	p := newPlace(t)
	delete(p.env, "GIT_CONFIG_NOSYSTEM")
	p.env["GIT_CONFIG_SYSTEM"] = p.path("system")
	p.write("system", "[a]\n\tb = system\n\tsystem = 1\n")
	p.write("home/.config/git/config", "[a]\n\tb = xdg\n\txdg\n")
	p.write("home/.gitconfig", "[a]\n\tb = home\n")
	p.git(".", "init", "-q", "r")
	p.git("r", "config", "a.b", "local")
	p.git("r", "config", "extensions.worktreeConfig", "true")
	p.git("r", "config", "--worktree", "a.b", "worktree")
	want := func(value string) {
		t.Helper()
		if got, _ := checkConfig(t, p, "r").String("A.B"); got != value {
			t.Errorf("a.b is %q, want %q", got, value)
		}
	}
	want("worktree")
	p.env["GIT_CONFIG_COUNT"] = "2"
	p.env["GIT_CONFIG_KEY_0"], p.env["GIT_CONFIG_VALUE_0"] = "a.b", "command"
	p.env["GIT_CONFIG_KEY_1"], p.env["GIT_CONFIG_VALUE_1"] = "Other.Sub.Key", ""
	want("command")
	p.env["XDG_CONFIG_HOME"] = p.path("xdg")
	p.write("xdg/git/config", "[a]\n\tb = elsewhere\n")
	want("command")
	p.env["GIT_CONFIG_GLOBAL"] = p.path("global")
	want("command")
	p.write("global", "[a]\n\tglobal = 1\n")
	p.env["GIT_CONFIG_NOSYSTEM"] = "yes"
	want("command")
	p.env["GIT_CONFIG_KEY_0"] = "bad key"
	checkConfig(t, p, "r")
	p.env["GIT_CONFIG_COUNT"] = "many"
	checkConfig(t, p, "r")
}

func TestIncludesStandWhereTheyAreWritten(t *testing.T) {
	p := newPlace(t)
	p.git(".", "init", "-q", "r")
	p.write("home/.gitconfig", "[include]\n\tpath = one\n\tpath = missing\n[a]\n\tb = after\n")
	p.write("home/one", "[a]\n\tb = one\n[include]\n\tpath = ~/sub/two\n")
	p.write("home/sub/two", "[a]\n\tb = two\n[include]\n\tpath = ../three\n")
	p.write("home/three", "[a]\n\tb = three\n")
	if got := checkConfig(t, p, "r").Strings("a.b"); fmt.Sprint(got) != "[one two three after]" {
		t.Errorf("values %v", got)
	}
	p.write("home/three", "[include]\n\tpath = three\n")
	checkConfig(t, p, "r") // without end: an error on both sides
	p.write("home/three", "[include]\n\tpath\n")
	checkConfig(t, p, "r")
}

func TestConditionsHoldAsInGit(t *testing.T) {
	gittest.Links(t)
	p := newPlace(t)
	p.git(".", "init", "-q", "-b", "topic/x", "src/Repo")
	p.git("src/Repo", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
	p.git("src/Repo", "worktree", "add", "-q", "-b", "linked", "../linked")
	if err := os.Symlink(p.path("src"), p.path("home/alias")); err != nil {
		t.Fatal(err)
	}
	conditions := []string{
		"gitdir:" + p.path("src") + "/", "gitdir:" + p.path("src") + "/**", "gitdir:" + p.path("src"), "gitdir:" + p.path("src/Repo") + "/.git",
		"gitdir:Repo/", "gitdir:repo/", "gitdir/i:repo/", "gitdir/i:REPO/.git", "gitdir:Repo", "gitdir:Re*/", "gitdir:**/.git", "gitdir:~/", "gitdir:~/../src/",
		"gitdir:~/alias/", "gitdir:./", "gitdir:../", "gitdir:./../src/", "gitdir:" + p.path("home/alias") + "/", "gitdir:src/*/.git", "gitdir:src/*", "gitdir:/**", "gitdir:*",
		"gitdir:worktrees/", "gitdir:" + p.path("src/Repo") + "/.git/worktrees/", "gitdir:", "gitdir/i:", "gitdir", "onbranch:topic/x", "onbranch:topic/", "onbranch:topic/*", "onbranch:*", "onbranch:**",
		"onbranch:TOPIC/x", "onbranch:linked", "onbranch:", "unknown:x", "gitdir:./home/", "gitdir:home/",
	}
	var global strings.Builder
	for i, c := range conditions {
		fmt.Fprintf(&global, "[includeIf %q]\n\tpath = inc%d\n", c, i)
		p.write(fmt.Sprintf("home/inc%d", i), fmt.Sprintf("[hit]\n\tc%d = %s\n", i, c))
	}
	p.write("home/.gitconfig", global.String())
	for _, dir := range []string{"src/Repo", "src/linked"} {
		if n := len(checkConfig(t, p, dir).Settings()); n < len(conditions)+10 {
			t.Errorf("%s: %d settings; too few conditions hold to prove anything", dir, n)
		}
	}
	p.git("src/linked", "checkout", "-q", "--detach")
	checkConfig(t, p, "src/linked")
	// A configuration file in the worktree's own directory, for "./".
	p.write("src/Repo/.git/inc", "[hit]\n\tdot = 1\n")
	p.git("src/Repo", "config", "includeIf.gitdir:./.path", "inc")
	p.git("src/Repo", "config", "includeIf.gitdir:./worktrees/.path", "inc")
	checkConfig(t, p, "src/Repo")
	checkConfig(t, p, "src/linked")
}

func TestAConditionAboutRemotesHoldsAsInGit(t *testing.T) {
	p := newPlace(t)
	p.git(".", "init", "-q", "r")
	conditions := []string{
		"https://host/firm/**", "https://host/firm/*", "https://host/**", "https://**", "**", "*", "**/firm/**", "https://host/firm/a.git", "HTTPS://host/**", "git@host:firm/*",
		"git@host:**", "git@*:firm/b.git", "git@host:firm/", "", "https://host/firm/", "*/firm/*", "https:?//host/**", "https:/[/]host/**", "nothing", "file://**", "**/**",
	}
	var global strings.Builder
	global.WriteString("[hit]\n\tbefore = 1\n")
	for i, c := range conditions {
		fmt.Fprintf(&global, "[includeIf %q]\n\tpath = inc%d\n", "hasconfig:remote.*.url:"+c, i)
		p.write(fmt.Sprintf("home/inc%d", i), fmt.Sprintf("[hit]\n\tc%d = %s\n", i, c))
	}
	global.WriteString("[includeIf \"hasconfig:remote.origin.url:**\"]\n\tpath = inc0\n[includeIf \"hasconfig:**\"]\n\tpath = inc0\n")
	p.write("home/.gitconfig", global.String())
	hits := func() int {
		n := 0
		for _, s := range checkConfig(t, p, "r").Settings() {
			if strings.HasPrefix(s.Name, "hit.c") {
				n++
			}
		}
		return n
	}
	if n := hits(); n != 0 {
		t.Errorf("%d conditions hold without a remote", n)
	}
	p.git("r", "config", "remote.origin.url", "https://host/firm/a.git") // read after the conditions
	if n := hits(); n < 5 || n == len(conditions) {
		t.Errorf("%d conditions hold; that proves nothing", n)
	}
	p.git("r", "config", "--add", "remote.origin.url", "git@host:firm/b.git")
	p.git("r", "config", "remote.other.pushUrl", "nothing")
	hits()
	p.write("home/.gitconfig", global.String()+"[remote \"a.url\"]\n\turl = file:///c\n[remote]\n\turl = nothing\n[remote \"bare\"]\n\turlx = nothing\n")
	hits()
	p.git("r", "config", "includeIf.hasconfig:remote.*.url:file://**.path", "../inc")
	p.write("r/inc", "[hit]\n\tcLocal = 1\n[include]\n\tpath = further\n")
	p.write("r/further", "[hit]\n\tcFurther = 1\n")
	hits()
	// A remote in what a condition includes is refused, whatever the condition.
	p.write("r/further", "[remote \"deep\"]\n\turl = https://host/deep\n")
	checkConfig(t, p, "r")
	p.write("r/further", "")
	hits()
	p.git("r", "config", "includeIf.gitdir:**.path", "../bydir")
	p.write("r/bydir", "[remote \"dir\"]\n\turl = https://host/deep\n")
	checkConfig(t, p, "r")
	p.write("home/.gitconfig", "")
	p.git(".", "config", "-f", "r/.git/config", "--unset-all", "includeIf.hasconfig:remote.*.url:file://**.path")
	checkConfig(t, p, "r") // nobody asks for URLs
	p.git(".", "config", "-f", "r/.git/config", "--unset-all", "includeIf.gitdir:**.path")
	p.write("home/.gitconfig", "[includeIf \"hasconfig:remote.*.url:nothing\"]\n\tpath\n")
	checkConfig(t, p, "r")
}

func TestOneFileCanBeRead(t *testing.T) {
	p := newPlace(t)
	p.write("rewind/config", "[rewind]\n\tinclude = build/\n\tinclude = dist/\n[include]\n\tpath = more\n[includeIf \"gitdir:/**\"]\n\tpath = more\n")
	p.write("rewind/more", "[rewind]\n\tmaxSnapshots = 2k\n")
	c, err := ReadFile(p.path("rewind/config"), p.options())
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Strings("rewind.include"); fmt.Sprint(got) != "[build/ dist/]" {
		t.Errorf("include %v", got)
	}
	if n, err := c.Int("rewind.maxsnapshots", 0); n != 2048 || err != nil || len(c.Strings("rewind.maxSnapshots")) != 1 {
		t.Errorf("maxSnapshots %d, %v", n, err)
	}
	if _, err := ReadFile(p.path("rewind/none"), p.options()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	p.write("rewind/more", "[rewind\n")
	if _, err := ReadFile(p.path("rewind/config"), p.options()); !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), filepath.FromSlash("rewind/more:1")) {
		t.Errorf("broken include: %v", err)
	}
}

// TestAConditionAboutTheWorktreeHolds: git knows it since version 2.54, and
// compares as for gitdir.
func TestAConditionAboutTheWorktreeHolds(t *testing.T) {
	p := newPlace(t)
	p.git(".", "init", "-q", "src/Repo")
	p.git("src/Repo", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
	p.git("src/Repo", "worktree", "add", "-q", "../linked")
	p.git(".", "init", "-q", "--bare", "src/bare")
	here := map[string][]string{ // pattern → directories in which it holds
		"worktree:" + filepath.ToSlash(p.path("src/Repo")): {"src/Repo"}, "worktree:" + filepath.ToSlash(p.path("src")) + "/": {"src/Repo", "src/linked"},
		"worktree:Repo": {"src/Repo"}, "worktree:repo": nil, "worktree/i:repo": {"src/Repo"}, "worktree:src/*": {"src/Repo", "src/linked"},
		"worktree:link*": {"src/linked"}, "worktree:.git": nil, "worktree:./": nil, "worktree:../src/": nil, "worktree:": {"src/Repo", "src/linked"}, "worktree:**": {"src/Repo", "src/linked"},
		"worktree:./../src/": nil, "worktree/x:Repo": nil,
	}
	for pattern, want := range here {
		p.write("home/.gitconfig", fmt.Sprintf("[includeIf %q]\n\tpath = inc\n", pattern))
		p.write("home/inc", "[hit]\n\tc = yes\n")
		var got []string
		for _, dir := range []string{"src/Repo", "src/linked", "src/bare"} {
			l, err := Discover(p.path(dir), p.options())
			if err != nil {
				t.Fatal(err)
			}
			c, err := l.Config()
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := c.String("hit.c"); ok {
				got = append(got, dir)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s holds in %q, want %q", pattern, got, want)
		}
	}
}

// TestWhoeverKnowsTheBranchIsAskedForIt: only if a condition depends on it.
func TestWhoeverKnowsTheBranchIsAskedForIt(t *testing.T) {
	p := newPlace(t)
	p.git(".", "init", "-q", "-b", "main", "r")
	l, err := Discover(p.path("r"), p.options())
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	branch := func() string { asked++; return "topic/x" }
	for text, want := range map[string]int{"[a]\n\tb = 1\n": 0, "[includeIf \"onbranch:topic/\"]\n\tpath = inc\n": 1} {
		p.write("home/.gitconfig", text)
		p.write("home/inc", "[hit]\n\tc = yes\n")
		asked = 0
		c, err := l.ConfigOn(branch)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := c.String("hit.c"); asked != want || ok != (want > 0) {
			t.Errorf("%q: asked %d times, hit %v", text, asked, ok)
		}
	}
}

func TestIncludesThatMultiplyAndSettingsWithoutEndAreRefused(t *testing.T) {
	p := newPlace(t)
	p.git(".", "init", "-q", "r")
	all := func(n int, to string) string { return strings.Repeat("[include]\npath = "+to+"\n", n) }
	for level := range 9 {
		p.write(fmt.Sprint("home/c", level), all(10, fmt.Sprint("c", level+1)))
	}
	p.write("home/c9", "[a]\nb = c\n")
	for name, text := range map[string]string{
		"ten each, nine deep": all(1, "c0"),
		"a million settings":  "[a]\n" + strings.Repeat("b\n", settingsMax+1),
		"together too long":   all(40, "long"),
	} {
		p.write("home/long", "[a]\nb = c\n#"+strings.Repeat("x", 2<<20)+"\n")
		p.write("home/.gitconfig", text)
		if _, err := ReadFile(p.path("home/.gitconfig"), p.options()); err == nil || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%s: %v, want an error that names the bound", name, err)
		}
	}
	p.write("home/.gitconfig", all(100, "c8"))
	if c, err := ReadFile(p.path("home/.gitconfig"), p.options()); err != nil || len(c.Strings("a.b")) != 1000 {
		t.Errorf("a hundred that include ten: %v", err)
	}
}
