package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/engine"
)

// opened is an engine of a workdir that an example begins with.
func opened() (dir string, e *engine.Engine, end func()) {
	dir, opt, remove := workdir()
	e, err := engine.Open(context.Background(), dir, opt)
	check(err)
	return dir, e, func() { check(e.Close()); remove() }
}

// workdir makes a directory with two files in it, of which nobody else has anything.
func workdir() (dir string, opt *engine.Options, remove func()) {
	base, err := os.MkdirTemp("", "example")
	check(err)
	dir = filepath.Join(base, "work")
	check(os.Mkdir(dir, 0o755))
	put(dir, "main.go", "package main\n")
	put(dir, "notes", "one\ntwo\nthree\n")
	env := map[string]string{"HOME": base}
	return dir, &engine.Options{Getenv: func(name string) string { return env[name] }}, func() { check(os.RemoveAll(base)) }
}

func put(dir, name, text string) { check(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)) }

func get(dir, name string) string {
	text, err := os.ReadFile(filepath.Join(dir, name))
	check(err)
	return string(text)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// A snapshot, a change that turns out to be wrong, and the way back.
func Example() {
	dir, opt, remove := workdir()
	defer remove()
	ctx := context.Background()
	e, err := engine.Open(ctx, dir, opt)
	check(err)
	defer e.Close()

	before, err := e.Snapshot(ctx, &engine.SnapshotOptions{Label: "before the change"})
	check(err)
	put(dir, "main.go", "oops\n")
	check(os.Remove(filepath.Join(dir, "notes")))

	done, err := e.Do(ctx, engine.Op{To: before.ID})
	check(err)
	fmt.Printf("%d written, %q\n", done.Written, get(dir, "main.go"))

	_, err = e.Do(ctx, engine.Op{Verb: engine.Undo})
	check(err)
	fmt.Printf("%q\n", get(dir, "main.go"))
	// Output:
	// 2 written, "package main\n"
	// "oops\n"
}

// Which snapshots there are, and how one is found.
func ExampleEngine_List() {
	dir, e, end := opened()
	defer end()
	ctx := context.Background()
	for _, turn := range []string{"first", "second"} {
		put(dir, "notes", turn)
		_, err := e.Snapshot(ctx, &engine.SnapshotOptions{Label: turn, Session: "s", Trigger: "turn"})
		check(err)
	}

	list, err := e.List(ctx, &engine.ListOptions{Session: "s"})
	check(err)
	for _, s := range list {
		fmt.Println(s.Label())
	}
	last, err := e.Find(ctx, "@")
	check(err)
	fmt.Println("the last is the", last.Label())
	_, err = e.Find(ctx, "label:third")
	fmt.Println("third:", errors.Is(err, engine.ErrNoSnapshot))
	// Output:
	// second
	// first
	// the last is the second
	// third: true
}

// What changed since a snapshot, with the bytes of both sides.
func ExampleEngine_Diff() {
	dir, e, end := opened()
	defer end()
	ctx := context.Background()
	before, err := e.Snapshot(ctx, nil)
	check(err)
	put(dir, "notes", "one\n2\nthree\n")
	put(dir, "new", "")

	d, err := e.Diff(ctx, before.Snapshot, nil, nil)
	check(err)
	for _, c := range d.Changes {
		old, _, err := d.Read(ctx, c, false)
		check(err)
		now, _, err := d.Read(ctx, c, true)
		check(err)
		fmt.Printf("%c %s: %q, now %q\n", c.Status(), c.Path, old, now)
	}
	// Output:
	// A new: "", now ""
	// M notes: "one\ntwo\nthree\n", now "one\n2\nthree\n"
}

// What a restore of one directory would do, without doing it.
func ExampleEngine_Plan() {
	dir, e, end := opened()
	defer end()
	ctx := context.Background()
	before, err := e.Snapshot(ctx, nil)
	check(err)
	put(dir, "notes", "wrong")
	put(dir, "main.go", "right")

	op := engine.Op{To: before.ID, Paths: []string{"notes"}}
	plan, err := e.Plan(ctx, op)
	check(err)
	for _, c := range plan.Changes {
		fmt.Printf("would be %c: %s\n", c.Status(), c.Path)
	}
	fmt.Println(get(dir, "notes"))
	_, err = e.Do(ctx, op)
	check(err)
	fmt.Printf("%q, %q\n", get(dir, "notes"), get(dir, "main.go"))
	// Output:
	// would be M: notes
	// wrong
	// "one\ntwo\nthree\n", "right"
}

// What one turn changed is taken back, and what was edited since stays: a merge.
func ExampleEngine_Do_merge() {
	dir, e, end := opened()
	defer end()
	ctx := context.Background()
	before, err := e.Snapshot(ctx, nil)
	check(err)
	put(dir, "notes", "ONE\ntwo\nthree\n")
	after, err := e.Snapshot(ctx, nil)
	check(err)
	put(dir, "notes", "ONE\ntwo\nthree\nfour\n")

	done, err := e.Do(ctx, engine.Op{Verb: "revert", Ranges: []engine.Range{{From: after.ID, To: before.ID}}})
	check(err)
	fmt.Printf("%d conflicts, %q\n", len(done.Conflicts), get(dir, "notes"))
	// Output:
	// 0 conflicts, "one\ntwo\nthree\nfour\n"
}

// A program that lives on opens the worktree anew for each turn.
func ExampleWatch() {
	dir, opt, remove := workdir()
	defer remove()
	ctx := context.Background()
	var w engine.Watch
	for _, text := range []string{"first", "second"} {
		put(dir, "notes", text)
		e, err := w.Open(ctx, dir, opt)
		check(err)
		r, err := e.Snapshot(ctx, &engine.SnapshotOptions{Trigger: "turn"})
		check(err)
		fmt.Println(r.Changed, r.First)
		check(w.Rest(ctx)) // between two turns
	}
	check(w.Close())
	// Output:
	// 2 true
	// 1 false
}
