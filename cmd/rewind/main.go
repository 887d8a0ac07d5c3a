// Command rewind is a time machine for the working directory of coding agents:
// it records the state of all files, and puts any recorded state back.
//
// This package parses flags, calls the engine once, and prints. It has no
// policy and touches no file of the store. docs/cli.md is its contract.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// stdio is where a command reads and writes.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// run carries out one command line and returns the exit code.
func run(ctx context.Context, args []string, io stdio) int {
	a := &app{stdio: io}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	err := root.ExecuteContext(ctx)
	a.close()
	if err != nil && !isSilent(err) {
		a.progress.clear()
		fmt.Fprintf(io.err, "rewind: %s\n", sentence(ctx, err))
	}
	return exitCode(err)
}
