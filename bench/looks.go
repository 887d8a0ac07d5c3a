package bench

import (
	"context"
	"fmt"
	"os"
)

// gitStatus is git's own look at everything. It gives how many changes it saw.
func gitStatus(ctx context.Context, l *lane) (int, error) {
	out, err := l.git(ctx, "--no-optional-locks", "status", "--porcelain", "-z")
	return len(split0(out)), err
}

// gitStatusCached is the same with git's memory of untracked files. It needs to write
// the index: that is where the memory is.
func gitStatusCached(ctx context.Context, l *lane) (int, error) {
	out, err := l.git(ctx, "-c", "core.untrackedCache=true", "status", "--porcelain", "-z")
	return len(split0(out)), err
}

// gitStatusMonitored asks git's daemon what changed; git starts it when it is not there.
func gitStatusMonitored(ctx context.Context, l *lane) (int, error) {
	env := []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0=" + os.DevNull} // what forbids the daemon elsewhere is left out
	out, err := l.run(ctx, command{name: "git", args: []string{"-c", "core.fsmonitor=true", "-c", "core.untrackedCache=true", "status", "--porcelain", "-z"}, env: env})
	return len(split0(string(out))), err
}

// looks makes a way of a contender that records nothing. What it must see, for
// git the changes and for the bare system calls all files, is checked.
func (st *stage) looks(ctx context.Context, c contender, change func(*lane) (changed, error)) (way, error) {
	l, err := st.lane(ctx, c)
	if err != nil {
		return way{}, err
	}
	var did changed
	seen := 0
	return way{
		name: c.name, lane: l, after: func(context.Context) error {
			want := did.seen
			if c.needs == "" {
				want = l.names.files
			}
			if seen != want {
				return inexact{fmt.Sprintf("saw %d, not %d", seen, want)}
			}
			return nil
		},
		before: func(context.Context) (err error) {
			did, err = change(l)
			return err
		},
		act: func(ctx context.Context) (err error) {
			seen, err = c.look(ctx, l)
			return err
		},
	}, nil
}
