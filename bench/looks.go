package bench

import (
	"context"
	"fmt"
	"os"
)

// gitStatus is git's own look, with some settings. It gives how many changes it saw.
func gitStatus(env []string, args ...string) func(context.Context, *lane) (int, error) {
	return func(ctx context.Context, l *lane) (int, error) {
		out, err := l.run(ctx, command{name: "git", args: append(args, "status", "--porcelain", "-z"), env: env})
		return len(split0(string(out))), err
	}
}

// withDaemon leaves out what forbids git's daemon elsewhere. Git starts it when it is
// not there.
var withDaemon = []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0=" + os.DevNull}

// floor is the bare system calls of a look at everything.
func floor(list bool) func(context.Context, *lane) (int, error) {
	return func(_ context.Context, l *lane) (int, error) { return statAll(l.tree, l.names.dirs, list) }
}

// looks is the way of a contender that records nothing. What it must see, for
// git the changes and for the bare system calls all files, is checked.
func (l *lane) looks(c contender, change func() (changed, error)) way {
	var did changed
	seen := 0
	return way{
		before: func(context.Context) (err error) {
			did, err = change()
			return err
		},
		act: func(ctx context.Context) (err error) {
			seen, err = c.look(ctx, l)
			return err
		},
		after: func(context.Context) error {
			want := did.seen
			if c.needs == "" {
				want = l.names.files
			}
			if seen != want {
				return inexact{fmt.Sprintf("saw %d, not %d", seen, want)}
			}
			return nil
		},
	}
}
