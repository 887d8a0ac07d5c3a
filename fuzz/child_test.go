//go:build linux && (amd64 || arm64)

package fuzz

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// TestMain makes this program a process of the crash and concurrency tests, if
// the environment says so.
func TestMain(m *testing.M) {
	switch os.Getenv("REWIND_FUZZ_CHILD") {
	case "":
		os.Exit(m.Run())
	case "travel":
		travelAndDie()
	case "fork":
		forkAndDie()
	case "bisect":
		bisectAndDie()
	case "follow":
		followAndDie()
	case "worker":
		workForAWhile()
	case "filter":
		serveFilter(bufio.NewReader(os.Stdin), os.Stdout)
	}
}

// childExit ends a child that met an error of the engine.
func childExit(err error) {
	if err != nil {
		fmt.Println("error", err)
		os.Exit(3)
	}
}

// travelAndDie records, restores and undoes, and says what is done after each.
// It dies before a durable call that is given by number.
func travelAndDie() {
	n, _ := strconv.Atoi(os.Getenv("REWIND_FUZZ_DIE"))
	target, err := oid.Parse(os.Getenv("REWIND_FUZZ_TARGET"))
	childExit(err)
	count, err := dieAt(n)
	if err != nil {
		fmt.Println("unsupported", err)
		os.Exit(4)
	}
	ctx := context.Background()
	e, err := engine.Open(ctx, ".", nil)
	childExit(err)
	if os.Getenv("REWIND_FUZZ_SUDDEN") != "true" {
		r, err := e.Snapshot(ctx, &engine.SnapshotOptions{Label: "B"})
		childExit(err)
		fmt.Println("recorded", r.ID)
	}
	if from := os.Getenv("REWIND_FUZZ_MERGE"); from == keptMine {
		_, err = e.Do(ctx, engine.Op{To: target, KeepMine: true})
		childExit(err)
	} else if from != "" {
		base, err := oid.Parse(from)
		childExit(err)
		_, err = e.Do(ctx, engine.Op{Verb: "revert", Spans: []engine.Span{{From: base, To: target}}})
		childExit(err)
	} else {
		_, err = e.Do(ctx, engine.Op{To: target})
		childExit(err)
	}
	fmt.Println("restored")
	_, err = e.Do(ctx, engine.Op{Verb: engine.Undo})
	childExit(err)
	fmt.Println("undone")
	childExit(e.Close())
	fmt.Println("calls", count())
	os.Exit(0)
}

// said is what a child printed: the words of its lines by the first of them.
type said map[string][]string

// child runs this program as a child in a directory, until it ends or is killed.
func (w *world) child(name, dir string, env ...string) said {
	w.t.Helper()
	return w.childFor(5*time.Minute, name, dir, env...)
}

// childFor is child for one that may take so long.
func (w *world) childFor(most time.Duration, name, dir string, env ...string) said {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), most)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Dir = dir
	cmd.Env = w.environ(append(env, "REWIND_FUZZ_CHILD="+name)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, _ := cmd.Output()
	heard := said{}
	if err := ctx.Err(); err != nil {
		heard["error"] = append(heard["error"], "it took too long: "+err.Error())
	}
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		words := strings.Fields(lines.Text())
		heard[words[0]] = append(heard[words[0]], words[1:]...)
	}
	if stderr.Len() > 0 {
		heard["error"] = append(heard["error"], stderr.String())
	}
	return heard
}
