// Package client_test runs the recipes of README.md as they stand there, against the
// program.
package client_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// recipe returns the code in a language that README.md has.
func recipe(t *testing.T, language string) []byte {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
	if found == nil {
		t.Fatalf("README.md has no code in %s", language)
	}
	return found[1]
}

// bin is the directory in which the program is.
var bin string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if bin, err = os.MkdirTemp("", "client"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(bin)
		out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "rewind"), "github.com/seed-82afce7a/rewind/cmd/rewind").CombinedOutput()
		if err != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// place makes a directory of its own, and an environment with the program on the path.
func place(t *testing.T) (dir string, env []string) {
	t.Helper()
	return t.TempDir(), append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "XDG_STATE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
}

func copyTo(t *testing.T, dir, name string) {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(name))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, filepath.Base(name)), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func runIn(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

func TestTheRecipesRecordEachStepAndGoBack(t *testing.T) {
	for _, lang := range []struct {
		language, client, file, program string
		flags                           []string
	}{
		{"python", "rewind.py", "agent.py", "python3", nil},
		{"ts", "../pi/src/client.ts", "agent.mts", "node", []string{"--experimental-strip-types", "--no-warnings"}},
	} {
		t.Run(lang.language, func(t *testing.T) {
			program, err := exec.LookPath(lang.program)
			if err != nil {
				t.Skip("SKIPPED: there is no ", lang.program)
			}
			if lang.program == "node" && exec.Command(program, "--experimental-strip-types", "--version").Run() != nil {
				if program, err = filepath.Abs("../pi/node_modules/node/bin/node"); err != nil || exec.Command(program, "--version").Run() != nil {
					t.Skip("SKIPPED: this node reads no TypeScript: Node 22 does")
				}
			}
			dir, env := place(t)
			copyTo(t, dir, lang.client)
			if err := os.WriteFile(filepath.Join(dir, lang.file), recipe(t, lang.language), 0o644); err != nil {
				t.Fatal(err)
			}
			out := runIn(t, dir, env, program, append(lang.flags, lang.file)...)
			if !strings.Contains(out, "1 written; 0 conflicts") {
				t.Errorf("it says\n%s", out)
			}
			if got, _ := os.ReadFile(filepath.Join(dir, "answer.txt")); string(got) != "first prompt\n" {
				t.Errorf("after the restore the file has %q", got)
			}
			list := runIn(t, dir, env, filepath.Join(bin, "rewind"), "list", "--session", "S1", "--json")
			for _, want := range []string{`"first prompt"`, `"second prompt"`, `"turn"`} {
				if !strings.Contains(list, want) {
					t.Errorf("the list lacks %s:\n%s", want, list)
				}
			}
		})
	}
}

// The page of the protocol shows a client in a shell.
func TestTheClientInAShellGoesBack(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if _, jq := exec.LookPath("jq"); err != nil || jq != nil {
		t.Skip("SKIPPED: there is no bash or no jq")
	}
	page, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```sh\n(.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/protocol.md has no client in a shell")
	}
	dir, env := place(t)
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	edit := strings.Replace(string(found[1]), "ask restore", "echo two > a\nask restore", 1)
	out := runIn(t, dir, env, bash, "-euc", edit)
	if got, _ := os.ReadFile(filepath.Join(dir, "a")); len(got) > 0 || !strings.Contains(out, `"written":1,"deleted":0`) {
		t.Errorf("the file has %q, and it says\n%s", got, out)
	}
}

// A client must not wait for an answer that nobody gives.
func TestThePythonClientSaysThatTheProcessIsGone(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: there is no python3")
	}
	dir, env := place(t)
	copyTo(t, dir, "rewind.py")
	out := runIn(t, dir, env, python, "-c", `
from rewind import Rewind, RewindError
r = Rewind(".")
for call in (lambda: r.show(id="0123"), lambda: r.nonsense(), lambda: (r._process.kill(), r.status()), lambda: r.status()):
    try:
        call()
    except RewindError as e:
        print(e.code, e)
r.close()
`)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i, want := range []string{"3 ", "-32601 ", "1 rewind ended", "1 rewind ended"} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Fatalf("line %d is not %q:\n%s", i+1, want, out)
		}
	}
}
