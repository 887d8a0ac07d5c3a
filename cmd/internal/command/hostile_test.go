package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

// What a terminal obeys, in every coding, and a line that could pass as ours.
const (
	evil     = "\x1b]0;evil\x07\x1b[31m\u009b2J\u202eexe.\u2066\x9b\x7f\b\r\nrewind: all is well\n"
	evilName = "n\x1b[31m\u009b2J\u202eexe.\u2066\x9b\x7f\nrewind: all is well\nz"
	evilRef  = "b\u009b2J\u202eexe.\u2066" // git allows no others in a name
)

// A hostile is a repository in which all that somebody else can choose is hostile.
type hostile struct {
	t    *testing.T
	base string
	dir  string
}

func newHostile(t *testing.T) *hostile {
	t.Helper()
	gittest.Need(t)
	gittest.Slashes(t)
	base := t.TempDir()
	h := &hostile{t: t, base: base, dir: filepath.Join(base, evilName)}
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME", "PI_CODING_AGENT_DIR", "HOME"} {
		dir := filepath.Join(base, name+"-"+evilName)
		t.Setenv(name, dir)
		h.must(os.MkdirAll(dir, 0o755))
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("REWIND_NONSENSE", evil)
	h.must(os.MkdirAll(filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "rewind"), 0o755))
	h.put(filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "rewind", "config"), "[rewind \""+strings.ReplaceAll(evilRef, "\n", "")+"\"]\n\tx = 1\n")
	h.must(os.MkdirAll(h.dir, 0o755))
	h.git("init", "-q", "-b", evilRef)
	for _, c := range [][2]string{
		{"user.name", evil}, {"user.email", evil}, {"rewind.maxSnapshots", evil}, {"rewind.nonsense", evil}, {"rewind.agentDir", evil}, {"rewind.ignored", evil},
		{"filter." + evilRef + ".clean", "echo secret-password " + evilRef + "; exit 3"}, {"filter." + evilRef + ".required", "true"},
		{"filter.proc.process", "echo secret-password " + evilRef}, {"filter.proc.required", "true"},
	} {
		h.git("config", c[0], c[1])
	}
	h.put(h.at(".gitattributes"), "filtered filter="+evilRef+"\nproc filter=proc\ncoded working-tree-encoding="+evilRef+"\n")
	for _, name := range []string{"filtered", "proc", "coded", "plain", "dir " + evilName + "/f", evilName, ".env" + evilName, "nested" + evilName + "/f", "gone" + evilName} {
		h.put(h.at(name), "text of "+name[:1]+"\n")
	}
	h.must(os.Symlink(evilName, h.at("link"+evilName)))
	h.git("-C", "nested"+evilName, "init", "-q")
	h.git("-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", evil)
	h.put(filepath.Join(os.Getenv("PI_CODING_AGENT_DIR"), "sessions", evilName+".jsonl"), evil)
	return h
}

func (h *hostile) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *hostile) at(name string) string { return filepath.Join(h.dir, name) }

func (h *hostile) put(path, text string) {
	h.t.Helper()
	h.must(errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
}

func (h *hostile) git(args ...string) {
	h.t.Helper()
	(&gittest.Repo{T: h.t, Dir: h.dir}).Git(args...)
}

// run runs a command, holds what it prints, and returns its standard output.
func (h *hostile) run(args ...string) string {
	h.t.Helper()
	var out, errs bytes.Buffer
	code := run(h.t.Context(), append([]string{"-C", h.dir}, args...), cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &errs})
	for name, text := range map[string]string{"standard output": out.String(), "standard error": errs.String()} {
		if at := strings.IndexFunc(text, func(r rune) bool { return visible.Hidden(r) && r != '\n' && r != '\t' }); at >= 0 || !utf8.ValidString(text) {
			h.t.Errorf("%q (exit %d): %s has what a terminal obeys at %d:\n%q", args, code, name, at, text)
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "rewind: all is well") {
				h.t.Errorf("%q: %s has a line that is not ours:\n%q", args, name, text)
			}
		}
		if strings.Contains(text, "secret-password") {
			h.t.Errorf("%q: %s has a filter's command line:\n%q", args, name, text)
		}
	}
	if slices.Contains(args, "--json") && code != exit.BadUsage && out.Len() > 0 {
		var v any
		if err := json.Unmarshal(out.Bytes(), &v); err != nil {
			h.t.Errorf("%q: %v:\n%q", args, err, out.String())
		}
	}
	return out.String()
}

// Nothing that somebody else chose reaches the terminal as it is: not by any
// command, with JSON or without.
func TestNothingThatATerminalObeysIsPrinted(t *testing.T) {
	h := newHostile(t)
	var first struct{ ID string }
	h.must(json.Unmarshal([]byte(h.run("snapshot", "--json", "-m", evil, "--session", evil, "--entry", evil, "--trigger", evil)), &first))
	h.run("snapshot", "-m", evil)
	h.put(h.at(evilName), "other\n")
	h.must(os.Remove(h.at("gone" + evilName)))
	done := map[string]bool{"snapshot": true}
	all := [][]string{
		{"snapshot", "-m", evil}, {"snapshot", "--dry-run"}, {"list"}, {"list", "--all"}, {"list", "--session", evil}, {"list", "--", evilName}, {"list", "--graph"}, {"list", "--oneline"}, {"list", "--since", evil}, {"list", "--grep", evil}, {"log", evilName}, {"log", "-p", evilName}, {"log", "gone" + evilName}, {"log", evil}, {"show", first.ID}, {"show", "@"}, {"show", evil},
		{"diff", first.ID}, {"diff", "--stat", first.ID}, {"diff", "--name-status", first.ID}, {"diff", "--", evilName}, {"diff", evil},
		{"status"}, {"back"}, {"version"}, {"version", evil}, {"snapshot", "--no-git"}, {"stores"}, {"stores", "--remove", evil}, {"verify"}, {"pin", first.ID, evilName}, {"pin", first.ID, evilRef}, {"pin"}, {"prune", "--dry-run"}, {"sync"},
		{"log", "plain"}, {"log", evilName}, {"log", evil}, {"log", "-p", "plain"},
		{"blame", "plain"}, {"blame", first.ID + ":plain"}, {"blame", evilName}, {"blame", evil}, {"blame", "--at", evil, "plain"}, {"blame", "-L", evil, "plain"}, {"restore", "-p", first.ID},
		{"cat", first.ID + ":plain"}, {"cat", first.ID + ":" + evil}, {"cat", evil}, {"export", first.ID, filepath.Join(h.base, "out"+evilName)}, {"export", first.ID, h.dir},
		{"import", "--dry-run"}, {"import", evil}, {"purge", "--dry-run", "gone" + evilName}, {"purge", "--yes", "gone" + evilName}, {"purge", "--yes", evil},
		{"restore", "--dry-run", first.ID}, {"revert", "--dry-run", "@"}, {"revert", "--yes", "@"}, {"undo", "--yes"}, {"apply", "--yes", "@"}, {"revert", "--yes", evil}, {"apply", "--yes", evil + ".." + evil}, {"revert", "--yes", "@", "--", evil}, {"restore", "--yes", first.ID}, {"restore", "--yes", evil}, {"restore", "--yes", first.ID, "--", evil},
		{"hook", evil, evil}, {"hook", "claude", evil}, {"hook", "claude", "Stop"}, {"hook", "--layout", evil, "generic", "before"}, {"hook", "--task"},
		{"setup", evil}, {"setup", "--dry-run"}, {"setup", "--remove", "--dry-run"},
		{"mcp", evil}, {"doctor"}, {"doctor", "--deep"}, {"doctor", "--report"}, {"uninstall"}, {"uninstall", "--dry-run"}, {"uninstall", "--dry-run", "--json"}, {"config"}, {"config", "--json"}, {"config", evil}, {"config", "agentdir"}, {"config", "thin", evil}, {"config", "exclude", evilRef, "\x1b[31m"}, {"config", "--unset", "exclude"}, {"config", "--global", "include", evilRef}, {"doctor", evil}, {"ui"}, {"ui", evil}, {"watch", "--quiet", "100ms", "--idle", "1ms"}, {"watch", evil}, {"watch", "--quiet", evil},
		{"acp", "--", evil}, {"acp", "--", "true"}, {"run", "--", evil}, {"run", "-m", evil, "--", "true"},
		{"bisect", "--good", first.ID, "--bad", "@", "--", "true"}, {"bisect", "--good", evil, "--bad", "@", "--", evil}, {"bisect", "--good", first.ID, "--bad", "@", "--path", evil, "--", "true"}, {"bisect", evil}, {"completion", evil}, {"completion"}, {"label", "@", evil}, {"label", evil, evil}, {"label", "@"}, {"label", "--remove", "@", evil}, {"label", "--remove", "@"},
		{"fork", evil, filepath.Join(h.base, "fork"+evilName)}, {"fork", "@", h.dir}, {"fork", "@", filepath.Join(h.base, "fork"+evilName)}, {"forks"}, {"adopt", "--yes", evil}, {"adopt", "--dry-run", filepath.Join(h.base, "fork"+evilName)}, {"adopt", "--yes", filepath.Join(h.base, "fork"+evilName)}, {"forks", "--remove", evil}, {"forks", "--remove", filepath.Join(h.base, "fork"+evilName)}, {"--force", "forks", "--remove", filepath.Join(h.base, "fork"+evilName)},
		{"remote"}, {"remote", "add", "disk", filepath.Join(h.base, "repo"+evilName)}, {"remote", "add", evil, evil}, {"push"}, {"push", evil}, {"list", "--remote", "disk"}, {"fetch"}, {"fetch", evil}, {"remote", "status", "disk"}, {"remote", "verify"}, {"resume", filepath.Join(h.base, "repo"+evilName), filepath.Join(h.base, "resumed"+evilName)}, {"resume", evil, evil}, {"remote", "remove", "disk"},
		{"bisect", "start", "--good", first.ID, "--bad", "@"}, {"list"}, {"bisect", "good", evil}, {"bisect", "skip"}, {"bisect", "reset"},
		{"undo", "--dry-run"}, {"undo", "--yes"}, {"redo", "--yes"}, {"bench", evil}, {"bench", "--workloads", evil}, {"help", evil}, {"pin", first.ID, "@" + evil}, {"serve", evil}, {"serve"}, {evil}, {"list", "--" + evil}, {"list", evil}, {"list", "--limit", evil},
	}
	for _, args := range all {
		done[args[0]] = true
		h.run(args...)
		h.run(append([]string{args[0], "--json"}, args[1:]...)...)
	}
	for _, c := range newRoot(&cli.App{}).Commands() {
		if !done[c.Name()] {
			t.Errorf("%s was not tried", c.Name())
		}
	}
	// What is broken is told of too.
	h.put(filepath.Join(h.dir, ".git", "refs", "pi-rewind", "store"), evil)
	h.put(h.at("plain"), "another text\n")
	h.run("status")
	h.run("snapshot")
	h.put(filepath.Join(h.dir, ".git", "config"), "[core]\n\trepositoryformatversion = 1\n[extensions]\n\t"+"refstorage = "+evilRef+"\n")
	h.run("snapshot")
	h.run("status", "--json")
	h.put(filepath.Join(h.dir, ".git", "config"), "["+evil)
	h.run("snapshot")
	h.put(filepath.Join(h.dir, ".git", "rewind", "store.db"), evil)
	h.run("status")
	h.run("-C", evil, "list")
	h.run("-C", h.base, "--no-git", "list")
}

// JSON has the very bytes, whatever a terminal makes of them.
func TestJSONIsExactWhateverTheNames(t *testing.T) {
	h := newHostile(t)
	label := strings.ToValidUTF8(evil, "") + "\U000e0001"
	h.run("snapshot", "--json", "-m", label)
	var shown struct {
		Label   string
		Branch  string
		Changes []struct {
			Path    string
			PathB64 []byte `json:"path_b64"`
		}
	}
	h.must(json.Unmarshal([]byte(h.run("show", "--json", "@")), &shown))
	if shown.Label != label || shown.Branch != evilRef {
		t.Errorf("label %q, branch %q", shown.Label, shown.Branch)
	}
	found := false
	for _, c := range shown.Changes {
		found = found || string(c.PathB64) == evilName
	}
	if !found {
		t.Errorf("no change has the name: %q", shown.Changes)
	}
}

// A name that git would have to quote is quoted so that git understands it.
func TestGitAppliesAPatchOfHostileNames(t *testing.T) {
	h := newHostile(t)
	h.run("snapshot")
	h.put(h.at(evilName), "text of n\nmore\n")
	patch := h.run("diff", "--", evilName)
	cmd := exec.Command("git", "apply", "-R")
	cmd.Dir, cmd.Stdin = h.dir, strings.NewReader(patch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s\n%s", err, out, patch)
	}
	if text, err := os.ReadFile(h.at(evilName)); err != nil || string(text) != "text of n\n" {
		t.Errorf("it has %q, %v", text, err)
	}
}

// Commands print by say, or text that is ours alone: a line that prints otherwise
// would have to be looked at again with each change.
func TestCommandsPrintBySay(t *testing.T) {
	sources, err := filepath.Glob("../*/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatal(err)
	}
	raw := regexp.MustCompile(`fmt\.(Fprintf\((a\.|io\.|os\.)|Fprint(ln)?\((a|io|os)\.\w+, [^"]|Print)`)
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			if raw.MatchString(line) && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s:%d: %s", name, n+1, strings.TrimSpace(line))
			}
		}
	}
}
