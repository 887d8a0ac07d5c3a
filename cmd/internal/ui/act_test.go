package ui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
)

// worked is a worktree with two snapshots and some edits since.
func worked(t *testing.T) (d *desk, first, second *engine.Snapshot) {
	d = newDesk(t)
	d.write("src/a", "one\n")
	d.write("src/b", "one\n")
	d.write("keep", "same\n")
	first = d.snapshot("the first")
	d.write("src/a", "two\n")
	d.write("src/new", "two\n")
	second = d.snapshot("the second")
	d.write("src/b", "three\n")
	d.write("later", "three\n")
	d.open()
	return d, first, second
}

func TestTheTimelineOpensAtTheNewestAndShowsWhatItChanged(t *testing.T) {
	d, _, second := worked(t)
	d.shows("the first", "the second", "What "+short(second.ID)+" changed", "M a", "A new", "-one", "+two", "2 paths changed")
	d.press("d")
	d.shows("Changed since "+short(second.ID), "A later", "M src/b")
	d.press("home")
	d.shows("Changed since the last snapshot or restore", "A later")
}

func TestARestoreIsShownAndAskedAndUndoneAndRedone(t *testing.T) {
	d, first, _ := worked(t)
	d.press("down", "r")
	d.shows("Restore "+short(first.ID)+"?", "writes 2 paths, deletes 2 paths", "− delete  later", "− delete  src/new", "~ change  src/a", "~ change  src/b")
	d.has("src/a", "two\n", "later", "three\n")
	for _, no := range []string{"n", "enter", "esc", "q"} {
		d.press(no)
		d.shows("nothing was changed")
		d.has("src/a", "two\n", "src/new", "two\n", "later", "three\n")
		d.press("r")
	}
	d.press("y")
	d.shows("restored "+short(first.ID)+": 2 written, 2 deleted", "z takes it back", "undo:1")
	d.has("src/a", "one\n", "src/b", "one\n", "src/new", "-", "later", "-")
	d.press("z")
	d.shows("Undo the last restore?", "+ create  later")
	d.press("y")
	d.has("src/a", "two\n", "src/b", "three\n", "src/new", "two\n", "later", "three\n")
	d.press("Z", "y")
	d.has("src/a", "one\n", "src/b", "one\n", "src/new", "-", "later", "-")
	d.press("Z")
	d.shows("nothing to do")
}

func TestAFileOrADirectoryIsRestoredAlone(t *testing.T) {
	d, first, _ := worked(t)
	d.press("down", "d", "2", "home")
	d.shows("all 4 changes")
	d.choose("src/a")
	d.press("r")
	d.shows("only src/a", "writes 1 path, deletes 0 paths")
	d.press("y")
	d.has("src/a", "one\n", "src/b", "three\n", "src/new", "two\n", "later", "three\n")
	d.choose("src")
	d.press("r", "y")
	d.has("src/a", "one\n", "src/b", "one\n", "src/new", "-", "later", "three\n")
	if here, err := d.e.Here(context.Background()); err != nil || here.ID == first.ID {
		t.Errorf("the files stand at %v, %v after a restore of parts", here, err)
	}
}

// The others are the same, line by line: only where they are tells them apart.
func TestAHunkIsRestoredAlone(t *testing.T) {
	d := newDesk(t)
	lines := func(changed ...int) string {
		var b strings.Builder
		for i := range 60 {
			if slices.Contains(changed, i) {
				b.WriteString("NEW\n")
			} else {
				fmt.Fprintln(&b, "line", i%25)
			}
		}
		return b.String()
	}
	d.write("f", lines())
	d.snapshot("even")
	d.write("f", lines(5, 30, 55))
	d.open()
	d.press("3", "r")
	d.shows("d compares with the present")
	d.press("d", "]")
	d.shows("hunk 2 of 3")
	d.press("r")
	d.shows("Restore a hunk of f?", "writes 1 path, deletes 0 paths", "-NEW", "+line 5")
	d.press("y")
	d.has("f", lines(5, 55))
	d.press("z", "y")
	d.has("f", lines(5, 30, 55))
}

func TestAHunkOfAFileThatHasChangedSinceIsRefused(t *testing.T) {
	for now, says := range map[string]string{
		"other\ntwo\n": "has changed since the hunk was shown",
		"ONE\ntwo\n" + strings.Repeat("more\n", contentMax/4): "is larger by now than files of which",
	} {
		d := newDesk(t)
		d.write("f", "one\ntwo\n")
		d.snapshot("even")
		d.write("f", "ONE\ntwo\n")
		d.open()
		d.press("d", "3")
		d.write("f", now)
		d.press("r")
		d.shows(says)
		d.has("f", now)
	}
}

func TestWhatChangedWhileThePlanWasShownIsShownAgain(t *testing.T) {
	d, _, _ := worked(t)
	d.press("down", "r")
	d.write("unseen", "by the plan\n")
	d.press("y")
	d.shows("The files have changed since this was shown", "− delete  unseen", "deletes 3 paths")
	d.has("src/a", "two\n", "unseen", "by the plan\n", "later", "three\n")
	d.press("y")
	d.has("src/a", "one\n", "unseen", "-", "later", "-")
}

func TestWhatStaysIsNamed(t *testing.T) {
	d := newDesk(t)
	d.write(".gitignore", "*.env\n")
	d.write("a.env", "one\n")
	d.write("f", "one\n")
	d.snapshot("first")
	d.write("a.env", "two\n")
	d.write("f", "two\n")
	d.open()
	d.press("r")
	d.shows("leaves 1 path as they are", "= keep     a.env")
	d.press("y")
	d.shows("kept as they are:", "a.env", "1 written, 0 deleted")
	d.has("a.env", "two\n", "f", "one\n")
}

func TestTheFilterFindsWordsOfAll(t *testing.T) {
	d, _, second := worked(t)
	d.press("/")
	for _, r := range "the SECOND" {
		d.press(string(r))
	}
	d.shows("1 of 2", "the second")
	d.lacks("the first")
	d.press("enter", "esc")
	d.shows("the first", "2 snapshots")
	d.press("/")
	for _, r := range second.ID.String()[:8] {
		d.press(string(r))
	}
	d.shows("1 of 2", "the second")
	for range 8 {
		d.press("backspace")
	}
	d.press("?", "enter")
	d.shows("no snapshot has these words")
}

func TestSessionsAreFolded(t *testing.T) {
	d := newDesk(t)
	for i, session := range []string{"s1", "s1", "s1", "s2", "s2", ""} {
		d.write("f", strings.Repeat("x", i+1))
		_, err := d.e.Snapshot(context.Background(), &engine.SnapshotOptions{Session: session, Entry: string(rune('a' + i)), Trigger: "turn"})
		d.must(err)
	}
	d.open()
	rows := len(d.m.timeline.stops)
	if rows != 4 { // the present, one alone, two conversations
		t.Errorf("%d rows:\n%s", rows, picture(d.m))
	}
	d.press("end", "space")
	if n := len(d.m.timeline.stops); n != rows+3 {
		t.Errorf("%d rows after one was opened:\n%s", n, picture(d.m))
	}
	d.press("down", "down", "space")
	if n, s := len(d.m.timeline.stops), d.m.timeline.chosen(); n != rows || s.moment != nil || len(s.group.moments) != 3 {
		t.Errorf("%d rows after one was folded:\n%s", n, picture(d.m))
	}
	d.press("-")
	if n := len(d.m.timeline.stops); n != rows+5 {
		t.Errorf("%d rows after all were opened:\n%s", n, picture(d.m))
	}
	d.press("-")
	if n := len(d.m.timeline.stops); n != rows {
		t.Errorf("%d rows after all were folded:\n%s", n, picture(d.m))
	}
}

func TestWhatAnotherProcessRecordsIsSeenAndTheChoiceStays(t *testing.T) {
	d, first, _ := worked(t)
	d.press("end")
	d.m.takePoll(polled{path: "store", stamp: stamp{size: 1}})
	d.snapshot("by another")
	d.run(d.m.takePoll(polled{path: "store", stamp: stamp{size: 2}}))
	d.shows("by another")
	if s := d.m.timeline.shown(); s == nil || s.ID != first.ID {
		t.Errorf("the choice is %v, want %v", s, first.ID)
	}
}

func TestASnapshotThatWasPrunedWhileItIsShown(t *testing.T) {
	d := newDesk(t)
	for _, text := range []string{"one", "two", "three"} {
		d.write("f", text)
		d.snapshot("")
	}
	d.open()
	d.press("end")
	gone := short(d.m.timeline.shown().ID)
	p, err := d.e.Prune(context.Background(), &engine.PruneOptions{MaxSnapshots: 1, Unseen: true, Grace: -1})
	d.must(err)
	if len(p.Dropped) != 2 {
		t.Fatalf("%d snapshots were dropped", len(p.Dropped))
	}
	d.press("r")
	d.shows("no such snapshot")
	d.press("esc", "2", "r", "esc", "R")
	d.lacks(gone)
	d.shows("1 snapshot")
	d.has("f", "three")
}

func TestATurnIsRevertedAndLaterEditsStay(t *testing.T) {
	d, _, second := worked(t)
	d.press("t")
	d.shows("Revert what "+short(second.ID)+" changed?", "− delete  src/new", "~ change  src/a", "deletes 1 path")
	d.press("y")
	d.shows("reverted: 1 written, 1 deleted")
	d.has("src/a", "one\n", "src/b", "three\n", "src/new", "-", "later", "three\n")
	d.press("z", "y")
	d.has("src/a", "two\n", "src/new", "two\n", "later", "three\n")
	d.write("src/a", "another\n")
	d.choose("src/a")
	d.press("t")
	d.shows("src/a", "not restored, and what was there is still there")
	d.has("src/a", "another\n", "src/new", "two\n")
	d.press("esc", "1", "end", "t")
	d.shows("is the first of its worktree")
}

// typed empties the field of a dialog, types a text and ends it.
func (d *desk) typed(text string) {
	d.t.Helper()
	d.press("end", "ctrl+u")
	d.run(d.m.press("", text))
	d.press("enter")
}

func TestWhatIsAskedForIsDoneByACommand(t *testing.T) {
	d, first, _ := worked(t)
	d.must(d.e.Pin(context.Background(), "held", first.ID))
	d.press("R")
	d.says = "it is done\n"
	id := first.ID.String()
	for key, test := range map[string]struct {
		asks, text string
		want       []string
	}{
		"c": {"Record the files as they are", " mine", []string{"snapshot", "--message=mine"}},
		"p": {"Pin " + short(first.ID), "-good", []string{"pin", "--", id, "-good"}},
		"P": {"held", "held", []string{"pin", "--remove", "--", "held"}},
		"m": {"Label " + short(first.ID), "where it began", []string{"label", "--", id, "where it began"}},
		"M": {"the first", "the first", []string{"label", "--remove", "--", id, "the first"}},
		"f": {"second directory of " + short(first.ID), "../fork", []string{"fork", "--", id, "../fork"}},
	} {
		d.press("end", key)
		d.shows(test.asks, "Enter does it")
		d.typed(test.text)
		d.shows(" it is done")
		if d.m.dialog != nil || !slices.Equal(d.ran, test.want) {
			t.Errorf("%s: %q", key, d.ran)
		}
		if key == "c" {
			continue
		}
		d.press("home", key)
		if d.m.dialog != nil || d.m.toast.text == "" {
			t.Errorf("%s: of no snapshot", key)
		}
	}
	for code, says := range map[int]string{0: "two\nlines\n", 5: "in part\n"} {
		d.says, d.code = says, code
		d.press("c", "enter")
		d.shows(strings.Fields(says)...)
		if d.m.dialog == nil {
			t.Errorf("%q is not in a dialog", says)
		}
		d.press("esc")
	}
}

func TestWhatWasFinishedOnTheWayIsToldWithWhatIsUnderWay(t *testing.T) {
	d := newDesk(t)
	d.open()
	finished := recovered{&engine.Restored{ID: idOf(7), Conflicts: []engine.Note{{Path: "left", Reason: "it was changed"}}}}
	d.m.Update(finished)
	d.shows("finished what had been interrupted", "left: it was changed")
	d.m.dialog = d.m.busy("Restore")
	d.m.Update(finished)
	d.m.Update(brief(good, "and that"))
	d.shows("finished what had been interrupted", "left: it was changed", "and that")
}

// TestWhatWasRenamedIsOneRowOfBothNames: what is done there is done to both.
func TestWhatWasRenamedIsOneRowOfBothNames(t *testing.T) {
	d := newDesk(t)
	d.write("src/a", "one\n")
	d.write("src/b", "one more\n")
	d.write("lib/x", "x\n")
	d.snapshot("the first")
	d.must(os.Rename(filepath.Join(d.dir, "src/a"), filepath.Join(d.dir, "src/c")))
	d.must(os.Rename(filepath.Join(d.dir, "src/b"), filepath.Join(d.dir, "lib/b")))
	d.snapshot("the second")
	d.open()
	d.shows("R src/a → src/c", "R src/b → lib/b", "all 2 changes")
	d.lacks("+2")
	d.lacks("D a")
	d.choose("src/c")
	d.press("t")
	d.shows("only a → c", "delete  src/c", "create  src/a")
	d.press("y")
	d.has("src/a", "one\n", "src/c", "-", "lib/b", "one more\n")
	d.press("1", "home", "down", "2")
	d.choose("lib/b")
	d.press("t", "y")
	d.has("src/b", "one more\n", "lib/b", "-")
}
