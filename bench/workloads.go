package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A workload is one thing that everyone is asked to do.
type workload struct {
	name       string
	changed    int  // files that differ each time
	restores   bool // runs where the file system is known
	contenders func(st *stage) []contender
}

// A contender is one way to do it. Only act is measured; before makes the
// situation, after checks what was done and cleans up.
type contender struct {
	name               string
	before, act, after func(ctx context.Context) error
}

// workloads lists them all, in the order in which they are run.
var workloads = []workload{
	{"edit-1", 1, false, func(st *stage) []contender { return edits(st, 1) }},
	{"edit-5", 5, false, func(st *stage) []contender { return edits(st, 5) }},
	{"first", 0, false, firsts},
	{"first-nogit", 0, false, firstsWithoutGit},
	{"start", 0, false, starts},
	{"restore-1", 1, true, func(st *stage) []contender { return restores(st, 1) }},
	{"restore-1000", 1000, true, func(st *stage) []contender { return restores(st, 1000) }},
}

// Workloads lists the names of the workloads.
func Workloads() []string {
	var list []string
	for _, w := range workloads {
		list = append(list, w.name)
	}
	return list
}

// systems are those that record and restore. Rewind comes first, so that the others are compared with it.
func (st *stage) systems() []system {
	peers := []system{hook{}, opencode{}, piRewind{}}
	if st.binary == "" {
		return peers
	}
	return append([]system{rewind{}}, peers...)
}

// A floor is a way to look at every file; it gives how many it saw.
type floor struct {
	name string
	look func(root string, dirs []dirNames) (int, error)
}

// none is a step with nothing to do.
func none(context.Context) error { return nil }

// edits: n files have got other bytes since the last snapshot.
func edits(st *stage, n int) []contender {
	files := st.pick(n)
	put := func(context.Context) error { return st.edit(files) }
	var list []contender
	for _, sys := range st.systems() {
		var id string
		primed := false
		list = append(list, contender{
			name: sys.name(),
			before: func(ctx context.Context) error {
				if !primed { // the snapshot before this one
					primed = true
					if _, err := sys.snapshot(ctx, st); err != nil {
						return err
					}
				}
				return put(ctx)
			},
			act: func(ctx context.Context) (err error) {
				id, err = sys.snapshot(ctx, st)
				return err
			},
			after: func(ctx context.Context) error { return st.holds(ctx, sys, id, files) },
		})
	}
	return append(list, references(st, put, n)...)
}

// firsts: a clean checkout that the system has never seen.
func firsts(st *stage) []contender {
	var list []contender
	clean := func(ctx context.Context) error {
		_, err := st.git(ctx, "reset", "-q", "--hard")
		return err
	}
	for _, sys := range st.systems() {
		var id string
		list = append(list, contender{
			name: sys.name(),
			before: func(ctx context.Context) error {
				return firstError(clean(ctx), sys.forget(ctx, st))
			},
			act: func(ctx context.Context) (err error) {
				id, err = sys.snapshot(ctx, st)
				return err
			},
			after: func(ctx context.Context) error { return st.holds(ctx, sys, id, st.pick(3)) },
		})
	}
	return append(list, references(st, clean, 0)...)
}

// references are what recording is measured against: git's own look at the
// worktree, which must find n files changed, and the bare system calls.
func references(st *stage, before func(context.Context) error, n int) []contender {
	var out string
	list := []contender{{
		name: "git status", before: before,
		act: func(ctx context.Context) (err error) {
			out, err = st.git(ctx, "--no-optional-locks", "status", "--porcelain", "-z")
			return err
		},
		after: func(context.Context) error {
			if got := len(split0(out)); got != n {
				return fmt.Errorf("git status saw %d changes, not %d", got, n)
			}
			return nil
		},
	}}
	for _, f := range floors {
		count := 0
		list = append(list, contender{
			name: f.name, before: before,
			act: func(context.Context) (err error) {
				count, err = f.look(st.tree, st.names.dirs)
				return err
			},
			after: func(context.Context) error {
				if count != st.names.files {
					return fmt.Errorf("saw %d files, not %d", count, st.names.files)
				}
				return nil
			},
		})
	}
	return list
}

// firstsWithoutGit: the same directory, its .git moved away for the turn.
func firstsWithoutGit(st *stage) []contender {
	dotGit, aside := filepath.Join(st.tree, ".git"), filepath.Join(filepath.Dir(st.tree), "git-aside")
	hide := func(context.Context) error { return firstError(emptyDir(st.state), os.Rename(dotGit, aside)) }
	show := func() error { return firstError(os.RemoveAll(dotGit), os.Rename(aside, dotGit)) }
	var list []contender
	if st.binary != "" {
		var id string
		list = append(list, contender{
			name: rewind{}.name(), before: hide,
			act: func(ctx context.Context) (err error) {
				id, err = rewind{}.snapshot(ctx, st)
				return err
			},
			after: func(ctx context.Context) error {
				return errors.Join(st.holds(ctx, rewind{}, id, st.pick(3)), show(), emptyDir(st.state))
			},
		})
	}
	return append(list, contender{
		name: "git init, add -A", before: hide,
		act: func(ctx context.Context) error {
			if _, err := st.git(ctx, "init", "-q"); err != nil {
				return err
			}
			_, err := st.git(ctx, "add", "-A")
			return err
		},
		after: func(ctx context.Context) error {
			added, err := st.git(ctx, "ls-files", "-z")
			if n := len(split0(added)); err == nil && n < len(st.names.old) {
				err = fmt.Errorf("git added %d files of %d", n, len(st.names.old))
			}
			return errors.Join(err, show())
		},
	})
}

// starts: commands that should cost no more than their start.
func starts(st *stage) []contender {
	prime := func(ctx context.Context) error {
		_, err := hook{}.snapshot(ctx, st)
		return err
	}
	list := []contender{
		st.command("git version", "git", "version"),
		st.command("git log of pi-rewind-hook", "git", "log", "-20", "--first-parent", "--format=%H %T %s", hookRef),
	}
	list[1].before = prime
	if st.binary == "" {
		return list
	}
	own := []contender{
		st.command("rewind list", st.binary, "-C", st.tree, "list", "--limit", "20", "--json"),
		st.command("rewind status", st.binary, "-C", st.tree, "status", "--json"),
	}
	own[0].before = func(ctx context.Context) error {
		_, err := rewind{}.snapshot(ctx, st)
		return err
	}
	return append(own, list...)
}

// command is a contender that is one command, which must print something.
func (st *stage) command(name, program string, args ...string) contender {
	var out []byte
	return contender{
		name: name, before: none,
		act: func(ctx context.Context) (err error) {
			out, err = st.run(ctx, command{name: program, args: args})
			return err
		},
		after: func(context.Context) error {
			if len(bytes.TrimSpace(out)) == 0 {
				return errors.New("printed nothing")
			}
			return nil
		},
	}
}

// restores: n files differ from a recorded clean checkout: of ten, eight have
// other bytes, one is deleted, one is new.
func restores(st *stage, n int) []contender {
	files := st.pick(n)
	var list []contender
	for _, sys := range st.systems() {
		var id string
		var done damage
		list = append(list, contender{
			name: sys.name(),
			before: func(ctx context.Context) (err error) {
				if _, err := st.git(ctx, "update-index", "-q", "--refresh"); err != nil {
					return err
				}
				if id, err = sys.snapshot(ctx, st); err != nil {
					return err
				}
				done, err = st.damage(files)
				return err
			},
			act:   func(ctx context.Context) error { return sys.restore(ctx, st, id) },
			after: func(ctx context.Context) error { return st.undamaged(ctx, done) },
		})
	}
	return list
}

// pick gives n files of the worktree, evenly spread.
func (st *stage) pick(n int) []string {
	n = st.count(n)
	var list []string
	for i := range n {
		list = append(list, st.names.old[i*len(st.names.old)/n])
	}
	return list
}

// edit gives each file bytes that it has never had.
func (st *stage) edit(files []string) error {
	for _, name := range files {
		st.edits++
		data, err := os.ReadFile(st.path(name))
		if err != nil {
			return err
		}
		if head, _, edited := strings.Cut(string(data), "\n// edit "); edited {
			data = []byte(head)
		}
		if err := os.WriteFile(st.path(name), fmt.Appendf(data, "\n// edit %d\n", st.edits), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// holds checks that a snapshot has the present bytes of the files.
func (st *stage) holds(ctx context.Context, sys system, id string, files []string) error {
	for _, name := range files {
		want, err := os.ReadFile(st.path(name))
		if err != nil {
			return err
		}
		got, err := sys.content(ctx, st, id, name)
		if err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("snapshot %s has other bytes of %s than the disk", id, name)
		}
	}
	return nil
}

// damage is what was done to a clean checkout: the bytes that files had, and new files.
type damage struct {
	was     map[string][]byte
	created []string
}

// damage changes files.
func (st *stage) damage(files []string) (damage, error) {
	d := damage{was: map[string][]byte{}}
	for i, name := range files {
		data, err := os.ReadFile(st.path(name))
		if err != nil {
			return d, err
		}
		st.edits++
		text := fmt.Appendf(nil, "%s// damage %d\n", data, st.edits)
		switch i % 10 {
		case 8:
			d.was[name] = data
			err = os.Remove(st.path(name))
		case 9:
			created := name + ".new.txt"
			d.created = append(d.created, created)
			err = os.WriteFile(st.path(created), text, 0o644)
		default:
			d.was[name] = data
			err = os.WriteFile(st.path(name), text, 0o644)
		}
		if err != nil {
			return d, err
		}
	}
	return d, nil
}

// undamaged checks every changed file, and that git finds the rest clean.
func (st *stage) undamaged(ctx context.Context, d damage) error {
	for name, want := range d.was {
		got, err := os.ReadFile(st.path(name))
		if err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("%s has not the bytes that it had", name)
		}
	}
	for _, name := range d.created {
		if _, err := os.Lstat(st.path(name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is still there", name)
		}
	}
	dirty, err := st.git(ctx, "--no-optional-locks", "status", "--porcelain")
	if err == nil && dirty != "" {
		err = fmt.Errorf("the worktree is not what it was: %.200s", dirty)
	}
	return err
}
