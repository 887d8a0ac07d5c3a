// Command rewind is a time machine for the working directory of coding agents:
// it records the state of all files, and puts any recorded state back.
//
// This package parses flags, calls the engine once, and prints. It has no
// policy and touches no file of the store. docs/cli.md is its contract.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
)

func main() {
	if err := enoughFiles(); err != nil {
		say(os.Stderr, "rewind: %v\n", err)
		os.Exit(exitUnless(isHook(newRoot(&app{}), os.Args[1:]), exitFailed))
	}
	collectLater()
	ctx, stop, off := context.Background(), func() {}, func() bool { return false }
	if !hearsItself(newRoot(&app{}), os.Args[1:]) {
		ctx, stop = interruptible(ctx)
		if !isBench(newRoot(&app{}), os.Args[1:]) {
			off = endAfter(ctx, os.Stderr)
		}
	}
	code := run(ctx, os.Args[1:], stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr, endAfter: endAfter, self: os.Args[0]})
	off()
	stop()
	os.Exit(code)
}

// collectLater lets the first garbage collection wait until the heap has grown
// to 64 MiB, where Go would begin at 4: what most commands need lies between,
// and collecting it would take a tenth of their time. From then on a collection
// comes sooner than usual: a first snapshot of 80,000 files without git then
// takes 240 to 270 MB instead of 260 to 310, in the same time. GOGC overrides all
// of it. Near 800 MiB collections come as often as they have to, up to half of
// the time: what somebody made to fill the memory meets the bounds of docs/cli.md
// first. GOMEMLIMIT overrides that.
func collectLater() {
	const later, limit = 1600, 800 << 20
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(later)
	afterCollection(func() { debug.SetGCPercent(collectAt) })
}

// collectAt is how much the heap grows between two collections, in percent.
const collectAt = 60

// afterCollection calls a function after the next collection.
func afterCollection(f func()) {
	freed := new([64]byte)
	runtime.AddCleanup(freed, func(f func()) { f() }, f)
}

// collectLess lets a program that lives on collect less often. It keeps some megabytes
// and makes as many in a few turns: by the rule above a sixth of its time went into
// collections. With so much room its heap is that much larger at most.
// It goes on as long as it is told to.
func collectLess(goOn func() bool) {
	const room = 24 << 20
	if os.Getenv("GOGC") != "" || !goOn() {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := collectAt
	if n := live[0].Value; n.Kind() == metrics.KindUint64 && n.Uint64() > 0 {
		percent = max(percent, int(100*room/n.Uint64()))
		debug.SetGCPercent(percent)
	}
	afterCollection(func() { collectLess(goOn) })
}

// livesOn says that the program does, if the process is its own.
func (a *app) livesOn() {
	if a.endAfter != nil {
		collectLess(func() bool { return true })
	}
}

// stdio is where a command reads and writes.
type stdio struct {
	in       io.Reader
	out, err io.Writer
	endAfter func(context.Context, io.Writer) (off func() bool) // nil where the process is not the command's own
	self     string                                             // how the program was called; empty there too
}

// A jsonError is what --json prints of a command that has no result.
type jsonError struct {
	Message string `json:"message"`
	Exit    int    `json:"exit"`
}

// wantsJSON reports whether --json was said, also on a command line in which
// something else is wrong.
func wantsJSON(a *app, args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return a.json || a.engine == nil && slices.Contains(args, "--json")
}

// exitUnless is the exit code of a command, unless that must not fail.
func exitUnless(unfailing bool, code int) int {
	if unfailing {
		return exitDone
	}
	return code
}

// run carries out one command line and returns the exit code.
func run(ctx context.Context, args []string, io stdio) int {
	out := &output{Writer: io.out}
	a := &app{stdio: stdio{in: io.in, out: out, err: io.err, endAfter: io.endAfter, self: io.self}}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(io.in)
	root.SetOut(out)
	root.SetErr(io.err)
	err := root.ExecuteContext(ctx)
	a.close()
	if lost := out.failed(); lost != nil && (err == nil || isSilent(err)) {
		err = lost
	}
	if err != nil && !isSilent(err) {
		a.progress.clear()
		say(io.err, "rewind: %v\n", errors.New(sentence(ctx, err)))
	}
	if err != nil && !a.told && wantsJSON(a, args) {
		a.printJSON(map[string]any{"error": jsonError{Message: sentence(ctx, err), Exit: exitCode(err)}})
	}
	return exitUnless(isHook(root, args), exitCode(err))
}
