package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/engine/away"
)

func resumeCommand(a *app) *cobra.Command {
	c := cli.Command("resume URL-OR-NAME[:SNAPSHOT] [DIR]", "Make an empty directory what a snapshot in a remote is, and go on there with its history", cli.Takes(1, 2, "rewind resume /media/disk/history work"), a.resume)
	return a.JSONFlag(c)
}

func (a *app) resume(c *cobra.Command, args []string) (err error) {
	ctx, err := a.Begin(c)
	if err != nil {
		return err
	}
	from, want := parted(args[0])
	m, err := a.meant(c, from)
	if err != nil {
		return err
	}
	dir := "."
	if len(args) > 1 {
		dir = args[1]
	}
	if dir, err = a.Absolute(dir); err != nil {
		return err
	}
	password, unknown := a.passwordOf(ctx, m)
	if unknown != nil && !errors.Is(unknown, errNoPassword) {
		return unknown
	}
	if _, missing := os.Lstat(dir); missing != nil {
		defer func() { // one in which nothing has begun is no use; one with files in it cannot be removed
			if err != nil && (a.Engine == nil || BegunOf(a.Engine) == nil) {
				_ = os.Remove(dir)
			}
		}()
	}
	e, err := a.openEmpty(ctx, dir)
	if err != nil {
		return err
	}
	if unknown != nil {
		if there, err := e.Remotes().Exists(ctx, m); err == nil && !there { // a name that was misspelt needs no password
			return fmt.Errorf("%s: there is no repository", m.URL)
		}
		return unknown
	}
	r, err := e.Remotes().Resume(ctx, m, password, want)
	if err != nil {
		return err
	}
	if err := cli.Vouch(m.URL); err != nil {
		return err
	}
	a.Progress.Clear()
	a.Note("conflict", r.Written.Conflicts)
	a.Note("left", r.Fetched.Left)
	a.NoteFirst("not here", r.Snapshot, r.AtHome)
	a.Warn(dated(r))
	snapshots := len(r.Fetched.Snapshots) + r.Fetched.There
	if a.JSON {
		a.PrintJSON(resumedTold{ID: r.Snapshot.ID.String(), Remote: r.Remote, Directory: wire.NewPath(engine.Path(dir)), Written: r.Written.Files, History: snapshots, AtHome: wire.Notes(r.AtHome),
			Conflicts: wire.Notes(r.Written.Conflicts), Left: wire.Notes(r.Fetched.Left)})
	} else {
		show.Say(a.Out, "%s is snapshot %s now: %s written, and its history is there (%s); its remote is %s\n", show.Quote(engine.Path(dir)), r.Snapshot.ID.Short(), show.Count(r.Written.Files, "file"), show.Count(snapshots, "snapshot"), r.Remote)
	}
	if len(r.Written.Conflicts)+len(r.Fetched.Left) > 0 {
		return exit.ErrPartial
	}
	return nil
}

// dated tells of a date that is still to come.
func dated(r *away.Resumed) error {
	d := r.Ahead
	if d == nil {
		return nil
	}
	means := "others may be newer (\"rewind list\")"
	if d.Of != r.Snapshot.ID {
		means = "it was passed over, and \"rewind fetch\" brings it here"
	}
	return fmt.Errorf("snapshot %s of %s is dated %s, which is still to come: a clock was or is wrong: %s", d.Of.Short(), d.Hostname, d.Time.Local().Format(time.DateTime), means)
}

// openEmpty opens the directory of a resume, which is made, and is its own worktree without git: what lies above it is
// not meant.
func (a *app) openEmpty(ctx context.Context, dir string) (*engine.Engine, error) {
	_, missing := os.Lstat(dir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	if above, err := engine.Open(ctx, dir, &engine.Options{Force: true, NoGit: a.NoGit, NoStore: true}); err == nil {
		root := above.Root()
		_ = above.Close()
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != root {
			if missing != nil {
				_ = os.Remove(dir)
			}
			return nil, fmt.Errorf("%w: %s is inside %s, whose history every command there would mean: resume elsewhere, or say --no-git here and there", engine.ErrRefused, dir, root)
		}
	}
	e, err := engine.Open(ctx, dir, &engine.Options{Force: a.Force, NoGit: true, Recovered: a.PrintRecovered, Progress: a.Progress.Start(a.Err)})
	if err != nil {
		return nil, err
	}
	a.Engine = e
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != e.Root() {
		return nil, errors.Join(err, fmt.Errorf("%w: %s is inside %s, which has a history of its own", engine.ErrRefused, dir, e.Root()))
	}
	return e, nil
}

// parted separates a snapshot from the place before it: what stands behind the last colon and has no slash.
func parted(text string) (from, want string) {
	i := strings.LastIndexByte(text, ':')
	if host := text[:max(i, 0)]; strings.Contains(host, "@") && !strings.ContainsAny(host, ":/") {
		return text, "" // git's short form of a URL: USER@HOST:PATH
	}
	if i <= 0 || strings.ContainsAny(text[i:], `/\`) || i == 1 && filepath.VolumeName(text) != "" {
		return text, ""
	}
	return text[:i], text[i+1:]
}

// meant returns the remote of a URL, a directory, or a name that the worktree has here.
func (a *app) meant(c *cobra.Command, from string) (away.Remote, error) {
	if !strings.ContainsAny(from, `:/\`) { // it may be a name
		if e, err := engine.Open(c.Context(), a.Dir, &engine.Options{Force: true, NoGit: a.NoGit}); err == nil {
			defer e.Close()
			if m, err := e.Remotes().Find(from); err == nil {
				return m, nil
			}
		}
	}
	url, git, err := away.Resolve(from, a.Absolute)
	return away.Remote{Name: "origin", URL: url, Git: git}, err
}

// BegunOf tells of a resume into the worktree that has not ended.
func BegunOf(e *engine.Engine) error {
	url, err := e.Remotes().Begun()
	if err == nil && url != "" {
		err = fmt.Errorf("a resume of %s has begun here and has not ended: the same command goes on with it", url)
	}
	return err
}
