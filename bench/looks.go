package bench

import (
	"context"
	"fmt"
)

// gitStatus is git's own look, with some settings. It gives how many changes it saw.
func gitStatus(args ...string) func(context.Context, *lane) (int, error) {
	return func(ctx context.Context, l *lane) (int, error) {
		out, err := l.run(ctx, command{name: "git", args: append(args, "status", "--porcelain", "-z")})
		return len(split0(string(out))), err
	}
}

// floor is the bare system calls of a look at everything.
func floor(_ context.Context, l *lane) (int, error) { return statAll(l.tree, l.names.dirs) }

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
