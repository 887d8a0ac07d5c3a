package bench

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeName makes the test's own program stand for rewind, where it is called so: it has
// the command line and the requests of rewind, and keeps its snapshots with git. Behind
// the name stands the verb that it does not do, though it says it did.
const fakeName = "fake-rewind-"

func TestMain(m *testing.M) {
	if broken, ok := strings.CutPrefix(filepath.Base(os.Args[0]), fakeName); ok {
		if err := runFake(os.Args[1:], broken); err != nil {
			fmt.Fprintln(os.Stderr, "fake:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// fakeRewind gives the program, and names the verb that it does not do.
func fakeRewind(t *testing.T, broken string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: there is no git, and every peer is run with it")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	fake := filepath.Join(t.TempDir(), fakeName+broken)
	if err := os.Symlink(self, fake); err != nil {
		t.Fatal(err)
	}
	return fake
}

// A fake is the worktree and where its snapshots are.
type fake struct{ dir, store, broken string }

func runFake(args []string, broken string) error {
	f := fake{broken: broken}
	noGit := false
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if args[0] == "-C" {
			f.dir, args = args[1], args[1:]
		}
		noGit = noGit || args[0] == "--no-git"
		args = args[1:]
	}
	switch args[0] {
	case "serve":
		return f.serve()
	case "version":
		return nil
	case "watch":
		time.Sleep(time.Minute)
		return nil
	}
	if err := f.open(noGit); err != nil {
		return err
	}
	method := args[0]
	if slices.Contains(args, "--dry-run") {
		method = cmp.Or(map[string]string{"snapshot": "preview", "restore": "plan", "undo": "planUndo"}[method], method)
	}
	out, err := f.do(method, append(args[1:], "")[0])
	fmt.Println(out)
	return err
}

// open makes the store if there is none.
func (f *fake) open(noGit bool) error {
	f.store = filepath.Join(f.dir, ".git", "rewind")
	if noGit {
		f.store = filepath.Join(os.Getenv("XDG_STATE_HOME"), "rewind")
	}
	if _, err := os.Stat(f.store); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := exec.Command("git", "init", "-q", "--bare", f.store).Run(); err != nil {
		return err
	}
	_, err := f.git("config", "core.bare", "false")
	return err
}

func (f *fake) git(args ...string) (string, error) {
	c := exec.Command("git", append([]string{"--git-dir", f.store, "--work-tree", f.dir}, args...)...)
	c.Dir, c.Stderr = f.dir, os.Stderr
	c.Env = append(os.Environ(), fmt.Sprintf("GIT_INDEX_FILE=%s/index%d", f.store, os.Getpid()))
	out, err := c.Output()
	return strings.TrimSuffix(string(out), "\n"), err
}

// do does one verb and gives what rewind prints.
func (f *fake) do(verb, what string) (string, error) {
	last := filepath.Join(f.store, "last")
	switch verb {
	case "snapshot":
		if id, err := os.ReadFile(last); err == nil && f.broken == verb {
			return fmt.Sprintf(`{"id":%q}`, id), nil
		}
		if _, err := f.git("add", "-A"); err != nil {
			return "", err
		}
		tree, err := f.git("write-tree")
		if err == nil {
			err = os.WriteFile(last, []byte(tree), 0o644)
		}
		return fmt.Sprintf(`{"id":%q,"skipped":[]}`, tree), err
	case "restore", "undo":
		if verb == "undo" {
			tree, err := os.ReadFile(last + "-undo")
			if what = string(tree); err != nil {
				return "", err
			}
		}
		if f.broken != verb {
			if err := f.goTo(what, last+"-undo"); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf(`{"id":%q}`, what), nil
	case "preview", "diff", "status":
		n, err := f.differs(last)
		if verb == "preview" {
			return fmt.Sprintf(`{"changed":%d}`, len(n)), err
		}
		return fmt.Sprintf(`{"watched":true,"changed":%[1]s,"changes":%[1]s}`, asJSON(n)), err
	case "plan", "planUndo":
		if f.broken == "plan" {
			return `{"changes":[]}`, nil
		}
		if verb == "planUndo" {
			last += "-undo"
		}
		n, err := f.differs(last)
		return fmt.Sprintf(`{"changes":%s}`, asJSON(n)), err
	case "cat":
		c := exec.Command("git", "--git-dir", f.store, "cat-file", "blob", what)
		c.Stdout = os.Stdout
		err := c.Run()
		os.Stdout.Close() // nothing after the bytes
		return "", err
	case "list", "prune":
		return `{"snapshots":[]}`, nil
	}
	return "", fmt.Errorf("no verb %q", verb)
}

// goTo puts a tree back, and writes down the one that was there.
func (f *fake) goTo(tree, undo string) error {
	if _, err := f.git("add", "-A"); err != nil {
		return err
	}
	now, err := f.git("write-tree")
	if err != nil {
		return err
	}
	if _, err := f.git("read-tree", "--reset", "-u", tree); err != nil {
		return err
	}
	return os.WriteFile(undo, []byte(now), 0o644)
}

// differs lists what is not as in the tree of which the id is in a file.
func (f *fake) differs(file string) ([]string, error) {
	id, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if _, err := f.git("add", "-A"); err != nil {
		return nil, err
	}
	out, err := f.git("diff", "--cached", "--name-only", string(id))
	return strings.Fields(out), err
}

func asJSON(list []string) []byte {
	text, _ := json.Marshal(append([]string{}, list...))
	return text
}

// serve answers requests as rewind serve does.
func (f *fake) serve() error {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var r struct {
			ID     int
			Method string
			Params struct {
				Dir, ID string
				NoGit   bool
			}
		}
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			return err
		}
		out, err := "{}", error(nil)
		if r.Method == "initialize" {
			f.dir = r.Params.Dir
			err = f.open(r.Params.NoGit)
		} else {
			out, err = f.do(r.Method, r.Params.ID)
		}
		if err != nil {
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":%q}}`+"\n", r.ID, err)
			continue
		}
		fmt.Println(`{"jsonrpc":"2.0","method":"progress","params":{}}`)
		fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":%s}`+"\n", r.ID, out)
	}
	return nil
}
