package command

import (
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/cmd/internal/record"
	"github.com/seed-82afce7a/rewind/cmd/internal/setup"
	"github.com/seed-82afce7a/rewind/engine"
)

// What a status says that is not well is to be mended, and has a command for that.
func TestTheDoctorNamesWhatIsNotWellOfAStatus(t *testing.T) {
	free, none := int64(1<<30), int64(0)
	well := engine.Status{Root: "/w", Git: true, Store: "/w/store", StoreBytes: 1, FreeBytes: &free}
	for _, c := range findingsOf(aboutHere, examineStatus(&well)) {
		if c.State != setup.Well {
			t.Errorf("of a worktree that is well: %+v", c)
		}
	}
	for _, c := range []struct {
		what, state, mend string
		plant             func(*engine.Status)
	}{
		{"store", "note", "rewind snapshot", func(st *engine.Status) { st.StoreBytes = 0 }},
		{"unfinished", "todo", "rewind undo", func(st *engine.Status) { st.Unfinished = &engine.Operation{Kind: "restore"} }},
		{"unfinished", "todo", "rewind redo", func(st *engine.Status) { st.Unfinished = &engine.Operation{Kind: "undo"} }},
		{"not whole", "todo", "rewind sync", func(st *engine.Status) { st.Lost = []engine.Note{{Path: "0123456789abcdef", Reason: "gone"}} }},
		{"secrets", "todo", "rewind purge", func(st *engine.Status) { st.Exposed = []engine.Path{".env"} }},
		{"ref", "todo", "rewind sync", func(st *engine.Status) { st.Pending = 2 }},
		{"ref", "todo", "rewind sync", func(st *engine.Status) { st.RefLost = true }},
		{"disk", "todo", "rewind prune", func(st *engine.Status) { st.Much = true }},
		{"disk", "todo", "make room", func(st *engine.Status) { st.FreeBytes = &none }},
		{"left out", "note", "rewind status", func(st *engine.Status) { st.Skipped = []engine.Note{{Path: "x", Reason: "why"}} }},
		{"setting", "todo", "git config --show-origin --get-all rewind.maxSnapshot ", func(st *engine.Status) { st.Warnings = []string{"unknown setting rewind.maxSnapshot"} }},
		{"setting", "todo", "rewind.force", func(st *engine.Status) {
			st.Warnings = []string{"setting rewind.force in /w/.git/config is ignored: it is a repository's"}
		}},
		{"trust", "todo", "git config --global --add safe.directory /w", func(st *engine.Status) {
			st.Warnings = []string{`git is left out, and /w is recorded in your own store: it is of somebody else; "git config --global --add safe.directory /w" allows it, for git too`}
		}},
		{"watch", "todo", "sudo sysctl fs.inotify.max_user_watches=", func(st *engine.Status) {
			st.Warnings = []string{"not watched: there are more directories than may be watched: raise fs.inotify.max_user_watches"}
		}},
		{"watch", "note", "", func(st *engine.Status) { st.Warnings = []string{"not watched: it is a network file system"} }},
		{"store", "todo", "rewind verify", func(st *engine.Status) {
			st.Warnings = []string{`the newest header of the store was damaged: "rewind verify" reads everything`}
		}},
	} {
		st := well
		c.plant(&st)
		found := false
		for _, f := range findingsOf(aboutHere, examineStatus(&st)) {
			found = found || f.What == c.what && string(f.State) == c.state && strings.Contains(f.Mend, c.mend)
		}
		if !found {
			t.Errorf("%s, mended by %q, is not found: %+v", c.what, c.mend, examineStatus(&st))
		}
	}
}

func TestTheDoctorSaysWhatLimitsKeepAWatcherFromItsWork(t *testing.T) {
	for text, want := range map[string]setup.State{
		"no: \"rewind watch\" does so":                                           setup.Told,
		"no: too many programs watch files: raise fs.inotify.max_user_instances": setup.ToDo,
	} {
		if c := examineWatch(nil, text); c.State != want || c.What != "watch" {
			t.Errorf("%s: %+v", text, c)
		}
	}
	if c := examineWatch(&record.Watching{Watched: true}, "by process 1"); c.State != setup.Well {
		t.Errorf("a watched worktree: %+v", c)
	}
	if c := examineWatch(&record.Watching{Watched: true, Failing: &record.Failing{}}, "by process 1"); c.State != setup.ToDo {
		t.Errorf("nothing is recorded: %+v", c)
	}
}
