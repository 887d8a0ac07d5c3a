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

	"github.com/spf13/cobra"
)

func main() {
	c := newLine(os.Args[1:], stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr, endAfter: endAfter, self: os.Args[0]})
	if err := enoughFiles(); err != nil {
		say(os.Stderr, "rewind: %v\n", err)
		os.Exit(c.exit(exitFailed))
	}
	collectLater()
	ctx, stop, off := context.Background(), func() {}, func() bool { return false }
	if !c.hearsItself() {
		ctx, stop = interruptible(ctx)
		if !c.isBench() {
			off = endAfter(ctx, os.Stderr)
		}
	}
	code := c.run(ctx)
	off()
	stop()
	os.Exit(code)
}

// collectLater lets the first garbage collection wait until the heap has grown
// to 64 MiB, where Go would begin at 4: what most commands need lies between,
// and collecting it would take a tenth of their time. From then on a collection
// comes sooner than usual: a first snapshot of 80,000 files without git then
// takes 240 to 270 MB instead of 260 to 310, in the same time. What a large heap
// has is mostly lists without pointers, which a collection does not look into; so
// it may come sooner still. GOGC overrides all of it. Near 800 MiB collections come
// as often as they have to, up to half of the time: what somebody made to fill the
// memory meets the bounds of docs/cli.md first. GOMEMLIMIT overrides that.
func collectLater() {
	const later, limit = 1600, 800 << 20
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(later)
	collectSoon(later)
}

// collectSoon adapts what was set to the heap after each collection, until
// [collectLess] has set another percentage.
func collectSoon(set int) {
	afterCollection(func() {
		percent := percentOf(live())
		if percent != set {
			if other := debug.SetGCPercent(percent); other != set {
				debug.SetGCPercent(other)
				return
			}
		}
		collectSoon(percent)
	})
}

// collectAt is how much the heap grows between two collections, in percent. A
// large one grows by largeRoom, but by no less than collectAtLeast percent.
const (
	collectAt      = 60
	collectAtLeast = 15
	largeRoom      = 40 << 20
)

// live returns how much of the heap was in use at the last collection; 0 if that
// is not known.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if v := sample[0].Value; v.Kind() == metrics.KindUint64 {
		return v.Uint64()
	}
	return 0
}

// percentOf returns by how much a heap of so many bytes may grow.
func percentOf(live uint64) int {
	return int(min(collectAt, max(collectAtLeast, 100*largeRoom/max(live, 1))))
}

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
	if n := live(); n > 0 {
		debug.SetGCPercent(max(percentOf(n), int(100*room/n)))
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

// A commandLine is one call of the program. The tree of all commands is made once for it: that takes
// longer than many a command.
type commandLine struct {
	app  *app
	out  *output
	root *cobra.Command
	args []string
	verb string // the name of the command, if there is such a one
}

func newLine(args []string, io stdio) *commandLine {
	out := &output{Writer: io.out}
	io.out = out
	c := &commandLine{app: &app{stdio: io}, out: out, args: args}
	c.root = newRoot(c.app)
	c.root.SetArgs(args)
	c.root.SetIn(io.in)
	c.root.SetOut(io.out)
	c.root.SetErr(io.err)
	if found, _, err := c.root.Find(args); err == nil {
		c.verb = found.Name()
	}
	return c
}

// exit is the exit code of the process. That of a hook is always 0: an agent may take
// another one for an answer, and refuse the prompt.
func (c *commandLine) exit(code int) int {
	if c.verb == "hook" {
		return exitDone
	}
	return code
}

// hearsItself reports whether the command hears signals itself: run, for which they
// are its command's, and bisect, which puts the files back first.
func (c *commandLine) hearsItself() bool { return c.verb == "run" || c.verb == "bisect" }

// isBench reports whether it is the command bench: however long it takes, it removes
// what it made before it ends.
func (c *commandLine) isBench() bool { return c.verb == "bench" }

// run carries out one command line and returns the exit code.
func run(ctx context.Context, args []string, io stdio) int { return newLine(args, io).run(ctx) }

func (c *commandLine) run(ctx context.Context) int {
	a := c.app
	err := c.root.ExecuteContext(ctx)
	a.close()
	if lost := c.out.failed(); lost != nil && (err == nil || isSilent(err)) {
		err = lost
	}
	if err != nil && !isSilent(err) {
		a.progress.clear()
		say(a.err, "rewind: %v\n", errors.New(sentence(ctx, err)))
	}
	if err != nil && !a.told && wantsJSON(a, c.args) {
		a.printJSON(map[string]any{"error": jsonError{Message: sentence(ctx, err), Exit: exitCode(err)}})
	}
	return c.exit(exitCode(err))
}
