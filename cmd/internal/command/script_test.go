package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/s3test"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"rewind": func() {
			if len(os.Args) > 1 && os.Args[1] == "ui" { // signals are a part of it
				Main()
			}
			os.Exit(run(context.Background(), os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Self: os.Args[0]}))
		},
		"program": Main, // with its signals
	})
}

// TestScripts runs testdata/*.txtar: each is a session at a shell, with the
// program itself and real git. A fixed bug leaves a block there.
func TestScripts(t *testing.T) {
	gittest.Slashes(t) // its steps are of sh, and of names below one root
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("GORACE", os.Getenv("GORACE")) // see the Makefile
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/config")
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			env.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
			env.Setenv("GIT_AUTHOR_NAME", "A")
			env.Setenv("GIT_AUTHOR_EMAIL", "a@localhost")
			env.Setenv("GIT_COMMITTER_NAME", "A")
			env.Setenv("GIT_COMMITTER_EMAIL", "a@localhost")
			env.Setenv("SERVER", "serve --stdio")
			env.Values["test"] = env.T()
			env.Values["server"] = &asked{env: env.Vars}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "git" {
				_, err := exec.LookPath("git")
				return err == nil, nil
			}
			return false, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": cmdExits, "asks": cmdAsks, "keeps": cmdKeeps, "settled": cmdSettled, "bucket": cmdBucket, "settles": cmdSettles,
		},
	})
}

// cmdBucket starts a server that speaks S3, and sets S3 to its host and bucket: bucket SERVER
func cmdBucket(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: bucket SERVER")
	}
	at, stop, err := s3test.Run(args[0], ts.MkAbs("bucket"))
	if err != nil {
		ts.Value("test").(testscript.T).Skip(fmt.Sprintf("SKIPPED: no server to test with: %v", err))
	}
	ts.Defer(stop)
	ts.Setenv("S3", at+"/"+s3test.Bucket)
	ts.Setenv("AWS_ACCESS_KEY_ID", s3test.Key)
	ts.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// cmdExits runs a program and checks its exit code: exits CODE PROGRAM ARGS…
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if exit, ok := err.(*exec.ExitError); ok {
		code = exit.ProcessState.String()[len("exit status "):]
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if code != args[0] {
		ts.Fatalf("%v exited with %s, want %s", args[1:], code, args[0])
	}
}

// An asked is the server of a script, once something was asked.
type asked struct {
	*served
	server string
	env    []string
}

// cmdAsks sends a request to one server, that the first starts in the directory of then:
// asks [CODE] METHOD [PARAMS]. Its result can be compared as the output of a program. With
// a code it has to be that error. The server is rewind $SERVER; another one is started
// where that has changed.
func cmdAsks(ts *testscript.TestScript, neg bool, args []string) {
	want := ""
	if len(args) > 0 && strings.Trim(args[0], "-0123456789") == "" {
		want, args = args[0], args[1:]
	}
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: asks [CODE] METHOD [PARAMS]")
	}
	a := ts.Value("server").(*asked)
	if server := ts.Getenv("SERVER"); a.served == nil || server != a.server {
		cmd := exec.Command("rewind", strings.Fields(server)...)
		a.server = server
		cmd.Dir = ts.MkAbs(".")
		a.served = serveAs(scripted{ts}, cmd, "", a.env...)
	}
	a.t, a.notes = scripted{ts}, nil
	params := "{}"
	if len(args) > 1 {
		params = args[1]
	}
	a.send(args[0], json.RawMessage(params))
	m := a.answer()
	got := ""
	if m.Error != nil {
		got = strconv.Itoa(m.Error.Code)
		m.Result = []byte(m.Error.Message)
	}
	if got != want {
		ts.Fatalf("%v: error %q, want %q: %s", args, got, want, m.Result)
	}
	fmt.Fprintf(ts.Stdout(), "%s\n", m.Result)
	for _, note := range a.notes {
		fmt.Fprintf(ts.Stdout(), "%s %s\n", note.Method, note.Params)
	}
}

// cmdKeeps sets a variable to what an expression finds in what was printed last: keeps NAME EXPR.
func cmdKeeps(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: keeps NAME EXPR")
	}
	m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(m) != 2 {
		ts.Fatalf("nothing is like %s", args[1])
	}
	ts.Setenv(args[0], m[1])
}

// cmdSettled waits until snapshots look only where something changed.
func cmdSettled(ts *testscript.TestScript, _ bool, _ []string) {
	for range 500 {
		ts.Check(ts.Exec("program", "snapshot"))
		ts.Check(ts.Exec("program", "status", "--json"))
		status := ts.ReadFile("stdout")
		if strings.Contains(status, `"watched":true`) {
			return
		}
		if strings.Contains(status, "not possible") {
			ts.Value("test").(testscript.T).Skip("SKIPPED: nothing can be watched here: ", status)
		}
		time.Sleep(5 * time.Millisecond)
	}
	ts.Fatalf("it is not watched")
}

// cmdSettles waits until status says something: settles EXPR
func cmdSettles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: settles EXPR")
	}
	want := regexp.MustCompile(args[0])
	for range 300 {
		ts.Check(ts.Exec("rewind", "status"))
		if want.MatchString(ts.ReadFile("stdout")) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("status says nothing like %s", args[0])
}

// A scripted is the test that a script is.
type scripted struct{ *testscript.TestScript }

func (s scripted) Helper()           {}
func (s scripted) Fatal(args ...any) { s.Fatalf("%v", args) }
func (s scripted) Cleanup(f func())  { s.Defer(f) }

// run carries out one command line and returns the exit code.
func run(ctx context.Context, args []string, io cli.Stdio) int { return newLine(args, io).run(ctx) }
