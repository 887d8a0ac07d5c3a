package command

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/setup"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/durable"
)

// A report is what doctor found, to be shown to strangers: versions, numbers and words of
// ours. Nothing in it was written by the user or names something of theirs; so no text of a
// finding is in it, for that may name a path.
type report struct {
	Build    cli.Build
	System   string
	Git      string         // its version; "": there is no program
	Status   *engine.Status // nil: the worktree could not be opened
	Settings []string       // that are not the default
	Findings []finding
}

// digits are what a version begins with: what a packager or user put behind it may say more.
var digits = cli.Pattern(`[0-9]+(\.[0-9]+)*`)

// report prints it; st is nil where the worktree could not be read.
func (a *app) report(st *engine.Status, found []finding) {
	r := report{Build: cli.Built(), System: runtime.GOOS + "/" + runtime.GOARCH, Status: st, Findings: found}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		r.System += ", kernel " + digits().FindString(string(text))
	}
	for _, f := range found {
		if f.What == "git" && f.State == setup.Well {
			r.Git = digits().FindString(f.Text)
		}
	}
	if a.Engine != nil {
		r.Settings = changedSettings(a.Engine)
	}
	r.print(a)
}

// changedSettings names the settings that are not the default, with a value where that is
// one of our own words or a number.
func changedSettings(e *engine.Engine) (out []string) {
	for _, t := range e.Settings() {
		switch {
		case t.Default():
		case !t.Many && (slices.Contains(t.Words, t.Values[0].Text) || digits().FindString(t.Values[0].Text) == t.Values[0].Text && t.Values[0].Text != ""):
			out = append(out, t.Name+"="+t.Values[0].Text)
		default:
			out = append(out, fmt.Sprintf("%s (%s)", t.Name, show.Count(len(t.Values), "value")))
		}
	}
	return out
}

func (r *report) print(a *app) {
	line := func(what, format string, args ...any) {
		show.Say(a.Out, "%-10s "+format+"\n", append([]any{what}, args...)...)
	}
	line("rewind", "%s", strings.TrimSpace(r.Build.Version+" "+r.Build.Commit+" "+r.Build.Go))
	line("system", "%s", r.System)
	line("git", "%s", orNone(r.Git))
	if st := r.Status; st != nil {
		line("worktree", "git %v, %s", st.Git, st.Algorithm)
		line("lies on", "%s, the store on %s", orNone(durable.FileSystem(st.Root)), orNone(durable.FileSystem(st.Store)))
		line("store", "%s here, %d in all, %s; in git %s", show.Count(st.Snapshots, "snapshot"), st.Total, show.Size(st.StoreBytes), show.Size(st.GitBytes))
		line("state", "%d skipped, %d pending, %d lost, %d undo, %d redo, unfinished %v, ref lost %v, watched %v", len(st.Skipped), st.Pending, len(st.Lost), st.Undo, st.Redo, st.Unfinished != nil, st.RefLost, st.Watched)
	}
	line("settings", "%s", orNone(strings.Join(r.Settings, ", ")))
	for _, f := range r.Findings {
		line(f.About, "%s %s", f.State, f.What)
	}
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
