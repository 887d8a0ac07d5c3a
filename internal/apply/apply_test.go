package apply_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// before and after differ in every way that two states can.
var before = world{
	"same":                file("same"),
	"edit":                file("old"),
	"grow":                file(""),
	"gone":                file("gone"),
	"chmod":               fileMode(0o644, "x"),
	"both":                fileMode(0o600, "a"),
	"link":                link("old target"),
	"linktofile":          link("same"),
	"filetolink":          file("f"),
	"filetodir":           file("f"),
	"dirtofile":           dir(0o755),
	"dirtofile/a":         file("a"),
	"dirtofile/d":         dir(0o755),
	"dirtofile/d/b":       file("b"),
	"dirtolink":           dir(0o700),
	"linktodir":           link("same"),
	"old":                 dir(0o755),
	"old/deep":            dir(0o755),
	"old/deep/f":          file("f"),
	"old/l":               link("nowhere"),
	"mode":                dir(0o755),
	"mode/f":              file("1"),
	"Case":                file("case"),
	odd("\xff\xfe", "ff"): file("not UTF-8"),
}

var after = world{
	"same":                    file("same"),
	"edit":                    file("new"),
	"grow":                    file(strings.Repeat("0123456789abcdef", 200_000)),
	"chmod":                   fileMode(0o755, "x"),
	"both":                    fileMode(0o711, "b"),
	"link":                    link("new target"),
	"linktofile":              file("was a link"),
	"filetolink":              link("edit"),
	"filetodir":               dir(0o755),
	"filetodir/x":             dir(0o500),
	"filetodir/x/y":           fileMode(0o400, "y"),
	"dirtofile":               file("was a directory"),
	"dirtolink":               link("mode"),
	"linktodir":               dir(0o711),
	"linktodir/f":             file("f"),
	"mode":                    dir(0o2750),
	"mode/f":                  file("2"),
	"case":                    file("case"),
	"new":                     dir(0o755),
	"new/deep":                dir(0o777),
	"new/deep/empty":          dir(0o700),
	"new/deep/f":              fileMode(0o666, "f"),
	odd("new/\x80", "new/80"): file("n"),
	odd("a\nb\r", "ab"):       file("odd"),
}

func TestApplyMakesExactlyTheTarget(t *testing.T) {
	root := t.TempDir()
	before.make(t, root)
	_, stats := read(t, root)
	steps := plan(t, root, after, nil)
	var last int
	opt := &apply.Options{Alg: oid.SHA1, Progress: func(done, total int) {
		if done != last+1 || total != len(steps) {
			t.Errorf("progress %d of %d after %d", done, total, last)
		}
		last = done
	}}
	out := carry(t, root, steps, after, opt)
	same(t, root, after)
	if len(out.Kept)+len(out.Conflicts) != 0 || out.Written+out.Deleted != len(steps) || last != len(steps) {
		t.Errorf("outcome %+v of %d steps, progress %d", out, len(steps), last)
	}
	_, now := read(t, root)
	if now["same"] != stats["same"] {
		t.Errorf("an unchanged file was touched: %+v, was %+v", now["same"], stats["same"])
	}
	if now["chmod"].Ino != stats["chmod"].Ino || now["chmod"].Mtime != stats["chmod"].Mtime {
		t.Error("a change of permissions rewrote the file")
	}
	for _, path := range []string{"edit", "grow", "both", "mode/f"} {
		if now[path].Mtime <= stats[path].Mtime {
			t.Errorf("%s: mtime %d is not after %d", path, now[path].Mtime, stats[path].Mtime)
		}
	}
	// And back again, from the same kind of plan.
	run(t, root, plan(t, root, before, nil), before)
	same(t, root, before)
}

func TestOrderClearsMakesWritesDeletes(t *testing.T) {
	f, d := file("x").node(), dir(0o755).node()
	steps := []apply.Step{
		{Path: "z", Have: d}, {Path: "z/f", Have: f}, {Path: "z/d", Have: d},
		{Path: "n/m/f", Want: f}, {Path: "n/m", Want: d}, {Path: "n", Want: d},
		{Path: "swap", Have: d, Want: f}, {Path: "swap/d", Have: d}, {Path: "swap/d/f", Have: f},
		{Path: "mode", Have: d, Want: dir(0o700).node()}, {Path: "mode/sub", Have: d, Want: dir(0o700).node()},
		{Path: "README", Have: f}, {Path: "readme", Want: f},
	}
	var got []string
	for _, s := range apply.Order(steps) {
		got = append(got, s.Path)
	}
	want := "swap/d/f README swap/d n n/m n/m/f swap readme z/f z/d z mode/sub mode" // files as they were given
	if strings.Join(got, " ") != want {
		t.Errorf("order\n%s, want\n%s", strings.Join(got, " "), want)
	}
}

func TestWhatChangedSinceThePlanIsAConflict(t *testing.T) {
	root := t.TempDir()
	from := world{"edit": file("1"), "del": file("1"), "link": link("1"), "swap": file("1"), "touched": file("1"), "isnew": file("1"), "d": dir(0o755), "vanish": file("1")}
	to := world{"edit": file("2"), "link": link("2"), "swap": dir(0o755), "swap/f": file("2"), "touched": file("2"), "isnew": file("2"), "new": file("2"), "newdir": dir(0o755), "newdir/f": file("2"), "vanish": file("2")}
	from.make(t, root)
	steps := plan(t, root, to, nil)
	write := func(path, data string) { must(t, os.WriteFile(filepath.Join(root, path), []byte(data), 0o644)) }
	write("edit", "other")
	write("del", "other")
	must(t, os.Remove(filepath.Join(root, "link")))
	must(t, makeLink("other", filepath.Join(root, "link")))
	write("swap", "other")
	write("new", "other")
	write("newdir", "a file")
	must(t, os.Chtimes(filepath.Join(root, "touched"), time.Now(), time.Now().Add(time.Hour)))
	write("isnew", "2")
	must(t, os.Remove(filepath.Join(root, "vanish")))
	out := run(t, root, steps, to)
	named(t, "Conflicts", out.Conflicts, "del", "edit", "link", "new", "newdir", "newdir/f", "swap", "swap/f", "vanish")
	for _, n := range out.Conflicts {
		if !strings.HasSuffix(n.Path, "/f") && !errors.Is(n.Err, apply.ErrChanged) {
			t.Errorf("%s: %v", n.Path, n.Err)
		}
	}
	// Touched or already as wanted is no conflict: no byte is at stake.
	same(t, root, world{"edit": file("other"), "del": file("other"), "link": link("other"), "swap": file("other"), "new": file("other"),
		"newdir": file("a file"), "touched": file("2"), "isnew": file("2")})
}

// A replay cannot tell: an earlier run may have put it there.
func TestWhatSomebodyElsePutsThereMeanwhileIsNotWritten(t *testing.T) {
	root := t.TempDir()
	world{"changed": file("old")}.make(t, root)
	to := world{"a": file("ours"), "changed": file("theirs"), "d": dir(0o755), "d/f": file("theirs"), "new": file("theirs")}
	steps := plan(t, root, to, nil)
	opt := &apply.Options{Alg: oid.SHA1}
	theirs := []string{"changed", "d/f", "new"}
	opt.Hook(func(_, path string) error {
		for i := 0; path == "a" && i < len(theirs); i++ {
			must(t, os.WriteFile(filepath.Join(root, theirs[i]), []byte("theirs"), 0o644))
		}
		return nil
	})
	opt.Alone()
	out := carry(t, root, steps, to, opt)
	if out.Written != 2 || !slices.Equal(out.There, theirs) {
		t.Errorf("%+v, want 2 written, and %q there", out, theirs)
	}
	out = carry(t, root, steps, to, &apply.Options{Alg: oid.SHA1, Replay: true})
	if out.Written != len(steps) || len(out.There) > 0 {
		t.Errorf("the replay: %+v", out)
	}
	same(t, root, to)
}

// Nobody looks at a path where nothing is expected before the new file is there to take it.
func TestWhatLiesWhereNothingIsExpectedStays(t *testing.T) {
	root := t.TempDir()
	lies := world{"same": file("ours"), "other": file("theirs"), "dir": dir(0o755), "dir/f": file("theirs"),
		"link": link("theirs"), "d": dir(0o755), "d/same": file("ours"), "d/other": file("theirs")}
	to := world{"same": file("ours"), "other": file("ours"), "dir": file("ours"), "link": link("ours"),
		"d": dir(0o755), "d/same": file("ours"), "d/other": file("ours"), "d/new": file("ours")}
	steps := plan(t, root, to, nil) // there is nothing yet
	lies.make(t, root)
	out := run(t, root, steps, to)
	if slices.Sort(out.There); !slices.Equal(out.There, []string{"d", "d/same", "same"}) || out.Written != 1 {
		t.Errorf("%q are there, %d written", out.There, out.Written)
	}
	named(t, "Conflicts", out.Conflicts, "d/other", "dir", "link", "other")
	for _, n := range out.Conflicts {
		if !errors.Is(n.Err, apply.ErrChanged) || strings.Contains(n.Reason, "not recorded") != (n.Path != "dir") {
			t.Errorf("%s: %v", n.Path, n.Err)
		}
	}
	want := maps.Clone(lies)
	want["d/new"] = file("ours")
	same(t, root, want) // and no temporary file
}

func TestUnknownFilesKeepTheirDirectory(t *testing.T) {
	root := t.TempDir()
	from := world{"a": dir(0o755), "a/f": file("f"), "a/ignored.o": file("precious"), "b": dir(0o755), "b/f": file("f"),
		"b/d": dir(0o755), "b/d/ignored.o": file("precious"), "c": file("c")}
	from.make(t, root)
	to := world{"b": file("a file must go where precious lies"), "c": file("d")}
	steps := plan(t, root, to, func(path string) bool { return strings.HasSuffix(path, ".o") })
	out := run(t, root, steps, to)
	want := maps.Clone(from)
	delete(want, "a/f")
	want["c"] = file("d")
	same(t, root, want)
	named(t, "Kept", out.Kept, "a", "b/d", "b/f")
	named(t, "Conflicts", out.Conflicts, "b")
	if n := out.Conflicts[0]; !errors.Is(n.Err, apply.ErrBlocked) || !strings.Contains(n.Reason, "b/d/ignored.o") {
		t.Errorf("the blocker is not named: %q", n.Reason)
	}
}

func TestHardLinksAreBroken(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	world{"edit": file("1"), "mode": file("1"), "del": file("1")}.make(t, root)
	for _, name := range []string{"edit", "mode", "del"} {
		must(t, os.Link(filepath.Join(root, name), filepath.Join(outside, name)))
	}
	to := world{"edit": file("2"), "mode": fileMode(0o755, "1")}
	run(t, root, plan(t, root, to, nil), to)
	same(t, root, to)
	same(t, outside, world{"edit": file("1"), "mode": file("1"), "del": file("1")})
}

func TestModificationTimesOnlyGrow(t *testing.T) {
	root := t.TempDir()
	world{"future": file("1"), "now": file("1")}.make(t, root)
	future := time.Now().Add(24 * time.Hour)
	must(t, os.Chtimes(filepath.Join(root, "future"), future, future))
	_, was := read(t, root)
	to := world{"future": file("2"), "now": file("2")}
	run(t, root, plan(t, root, to, nil), to)
	_, now := read(t, root)
	for path := range to {
		if now[path].Mtime <= was[path].Mtime {
			t.Errorf("%s: %d after %d", path, now[path].Mtime, was[path].Mtime)
		}
	}
}

func TestUnsafePathsAreNotWritten(t *testing.T) {
	root := t.TempDir()
	world{".git": dir(0o755), ".git/config": file("mine"), "a": dir(0o755)}.make(t, root)
	var steps []apply.Step
	for _, c := range hostile {
		steps = append(steps, apply.Step{Path: c.path, Want: file("evil").node()})
	}
	out := run(t, root, steps, world{"x": file("evil")})
	if len(out.Conflicts) != len(steps) {
		t.Errorf("%d conflicts of %d", len(out.Conflicts), len(steps))
	}
	for _, n := range out.Conflicts {
		if !errors.Is(n.Err, apply.ErrUnsafe) {
			t.Errorf("%q: %v", n.Path, n.Err)
		}
	}
	same(t, root, world{".git": dir(0o755), ".git/config": file("mine"), "a": dir(0o755)})
}

func TestALinkOnTheWayIsNotFollowed(t *testing.T) {
	gittest.Links(t)
	root, outside := t.TempDir(), t.TempDir()
	world{"f": file("sentinel")}.make(t, outside)
	world{"d": dir(0o755), ".git": dir(0o755), ".git/hooks": dir(0o755)}.make(t, root)
	must(t, os.Symlink(outside, filepath.Join(root, "abs")))
	must(t, os.Symlink("../"+filepath.Base(outside), filepath.Join(root, "rel")))
	must(t, os.Symlink(".git/hooks", filepath.Join(root, "hooks")))
	evil := file("evil")
	var steps []apply.Step
	for _, l := range []string{"abs", "rel", "hooks"} {
		steps = append(steps, apply.Step{Path: l + "/new", Want: evil.node()}, apply.Step{Path: l + "/f", Have: file("sentinel").node()},
			apply.Step{Path: l + "/d", Want: dir(0o777).node()}, apply.Step{Path: l, Have: dir(0o755).node(), Want: dir(0o700).node()})
	}
	want, _ := read(t, root)
	out := run(t, root, steps, world{"x": evil})
	if len(out.Conflicts)+out.Deleted != len(steps) {
		t.Errorf("outcome %+v", out)
	}
	same(t, root, want)
	same(t, outside, world{"f": file("sentinel")})
}

func TestProtectedDirectoriesAreNotWritten(t *testing.T) {
	root := t.TempDir()
	w := world{"a": dir(0o755), "a/store": dir(0o755), "a/store/db": file("db")}
	w.make(t, root)
	to := world{"a": dir(0o755), "a/store": dir(0o755), "a/store/db": file("evil"), "a/ok": file("ok")}
	out, err := apply.Apply(t.Context(), root, plan(t, root, to, nil), shelve(to).source,
		&apply.Options{Alg: oid.SHA1, Protected: []string{filepath.Join(root, "a", "store")}})
	must(t, err)
	w["a/ok"] = file("ok")
	same(t, root, w)
	if len(out.Conflicts) != 1 || !errors.Is(out.Conflicts[0].Err, apply.ErrUnsafe) {
		t.Errorf("outcome %+v", out)
	}
}

func TestWrongContentIsNotWritten(t *testing.T) {
	root := t.TempDir()
	from := world{"a": file("1"), "l": link("1"), "big": file("1")}
	from.make(t, root)
	to := world{"a": file("2"), "l": link("2"), "big": file(strings.Repeat("x", 3<<20)), "ok": file("ok"), "none": file("none")}
	lost := errors.New("lost")
	src := func(ctx context.Context, id oid.ID, w io.Writer) (checked bool, err error) {
		switch id {
		case to["ok"].node().ID:
			_, err = io.WriteString(w, "ok")
		case to["none"].node().ID:
			return false, lost
		case to["big"].node().ID: // what went to the file at once
			_, err = io.WriteString(w, strings.Repeat("y", 3<<20))
		default:
			_, err = io.WriteString(w, "wrong")
		}
		return false, err
	}
	out, err := apply.Apply(t.Context(), root, plan(t, root, to, nil), src, &apply.Options{Alg: oid.SHA1})
	must(t, err)
	want := maps.Clone(from)
	want["ok"] = file("ok")
	same(t, root, want)
	named(t, "Conflicts", out.Conflicts, "a", "big", "l", "none")
	for _, n := range out.Conflicts {
		if n.Path == "none" && !errors.Is(n.Err, lost) || n.Path != "none" && !errors.Is(n.Err, apply.ErrContent) {
			t.Errorf("%s: %v", n.Path, n.Err)
		}
	}
}

func TestCancellingStopsBetweenSteps(t *testing.T) {
	root := t.TempDir()
	to := world{}
	for i := range 200 {
		to[fmt.Sprintf("d%d", i)] = dir(0o755)
		to[fmt.Sprintf("d%d/f", i)] = file("x")
	}
	ctx, cancel := context.WithCancel(t.Context())
	opt := &apply.Options{Alg: oid.SHA1, Key: "k", Progress: func(done, _ int) {
		if done == 150 {
			cancel()
		}
	}}
	steps := plan(t, root, to, nil)
	out, err := apply.Apply(ctx, root, steps, shelve(to).source, opt)
	// No "apply:" stands before it: to a reader that is the command of this name.
	if !errors.Is(err, context.Canceled) || err.Error() != context.Canceled.Error() || out.Written < 150 || out.Written > 160 {
		t.Errorf("%+v, %v", out, err)
	}
	opt.Replay, opt.Progress = true, nil
	out, err = apply.Apply(t.Context(), root, steps, shelve(to).source, opt)
	if err != nil || out.Written != len(steps) {
		t.Errorf("replay: %+v, %v", out, err)
	}
	same(t, root, to)
}

func TestNestedRepositoriesAreDirectories(t *testing.T) {
	root := t.TempDir()
	world{"n": dir(0o755), "n/.git": dir(0o755), "n/.git/HEAD": file("ref"), "n/f": file("1")}.make(t, root)
	nested := item{tree.Nested | 0o755, ""}
	steps := []apply.Step{
		{Path: "n", Have: nested.node(), Want: item{tree.Nested | 0o700, ""}.node()},
		{Path: "n/f", Have: file("1").node(), Want: file("2").node()},
		{Path: "n/.git/HEAD", Have: file("ref").node(), Want: file("2").node()},
		{Path: "m", Want: nested.node()}, {Path: "m/f", Want: file("2").node()},
	}
	out := run(t, root, steps, world{"x": file("2")})
	same(t, root, world{"n": dir(0o700), "n/.git": dir(0o755), "n/.git/HEAD": file("ref"), "n/f": file("2"), "m": dir(0o755), "m/f": file("2")})
	named(t, "Conflicts", out.Conflicts, "n/.git/HEAD")
}
