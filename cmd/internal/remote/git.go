package remote

import (
	"context"
	"fmt"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/engine/away"
)

// published is what somebody agrees to who adds a git remote.
const published = `Whoever may read %s will read there, unencrypted:
  the files of every snapshot, also those that were never committed, and the beginnings of your prompts.
Contents of ignored files stay here; their names do not.
`

// addGit adds a git repository elsewhere. It is asked once whether others may read what goes there.
func (a *app) addGit(ctx context.Context, r *away.Remotes, m away.Remote, yes bool) error {
	if err := r.Check(ctx, m); err != nil {
		return exit.Usage(err)
	}
	if _, err := r.Exists(ctx, m); err != nil {
		return err
	}
	s, err := r.Open(ctx, m, "")
	if err != nil {
		return err
	}
	defer s.Close()
	if !yes && !a.Interactive() {
		return fmt.Errorf("%w: whoever may read %s will read the files of every snapshot there, unencrypted: --yes says that this is meant", engine.ErrRefused, m.URL)
	}
	if !yes {
		show.Say(a.Err, published+"Push there? [y/N] ", m.URL)
		if err := a.SaysYes(ctx); err != nil {
			return err
		}
	}
	if err := r.Add(ctx, m, s); err != nil {
		return err
	}
	if err := cli.Vouch(m.URL); err != nil {
		return err
	}
	if a.JSON {
		return a.printAdded(ctx, r, m.Name, "")
	}
	show.Say(a.Out, "added %s: the git repository %s\n", m.Name, m.URL)
	return nil
}

// errNotAgreed is the refusal to push to a git remote that came along with the store.
func errNotAgreed(m away.Remote) error {
	return fmt.Errorf("%w: nobody has agreed on this machine that what is pushed to %s can be read there: \"rewind remote remove %s\", and add it again", engine.ErrRefused, m.URL, m.Name)
}
