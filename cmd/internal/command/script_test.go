package command

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
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
			"exits": cmdExits,
		},
	})
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

// run carries out one command line and returns the exit code.
func run(ctx context.Context, args []string, io cli.Stdio) int { return newLine(args, io).run(ctx) }
