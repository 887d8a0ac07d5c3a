package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// recover clears up the temporary names that an earlier run of the same step
// left behind. What lies under fresh is ours. Under spare lies our new thing,
// or the recorded old one, which both may go; or, if another process was
// faster than the earlier run and that could not put it back, the bytes of
// that process, which get back to their path. So do the old ones if what was
// recorded of them is damaged by now.
func (p *place) recover(s *Step) error {
	if _, ok, err := p.lstat(p.temp(fresh)); err != nil {
		return err
	} else if ok {
		if err := p.discard(p.temp(fresh)); err != nil {
			return err
		}
	}
	st, ok, err := p.lstat(p.temp(spare))
	if err != nil || !ok {
		return err
	}
	if known, err := p.known(s, st); err != nil {
		return err
	} else if known {
		err := p.discard(p.temp(spare))
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return p.giveBack(s)
}

// known reports whether what lies under the spare name is recorded.
func (p *place) known(s *Step, st dirfd.Stat) (bool, error) {
	if st.Mode.Type() == tree.Dir {
		return true, nil // it goes only if it is empty
	}
	nodes := []Node{s.Want, s.Have}
	if p.a.Refuse[s.Path] != nil {
		nodes = nodes[:1]
	}
	for _, n := range nodes {
		if yes, err := p.holds(p.temp(spare), st, n); yes || err != nil {
			return yes, err
		}
	}
	return false, nil
}

// giveBack puts foreign bytes from the spare name back to the path.
func (p *place) giveBack(s *Step) error {
	why := fmt.Errorf("%w while an earlier run was cut short", ErrChanged)
	if refused := p.a.Refuse[s.Path]; refused != nil {
		why = refused
	}
	st, ok, err := p.lstat(p.name)
	if err != nil {
		return err
	}
	if !ok {
		if err := p.rename(p.temp(spare), p.name); err != nil {
			return p.stranded(errors.Join(why, err))
		}
		return why
	}
	if ours, err := p.holds(p.name, st, s.Want); err != nil || !ours {
		return p.stranded(errors.Join(why, err))
	}
	if err := p.exchange(p.temp(spare), p.name); err != nil {
		return p.stranded(errors.Join(why, err))
	}
	return errors.Join(why, p.dropSpare(why, st))
}

// Clear removes what a run of these steps that was cut short left beside their
// paths, and goes no further: for who takes the run back instead of finishing
// it. Bytes of another process that the run had taken away by mistake get back
// to their path; the conflicts name where that could not be, and what else
// could not be removed. Options are those of the run.
func Clear(ctx context.Context, root string, steps []Step, opt *Options) (out Outcome, err error) {
	a, err := newApplier(root, nil, opt)
	if err != nil {
		return out, fmt.Errorf("clear: %w", err)
	}
	defer a.root.Close()
	err = Each(ctx, len(steps), 1, func(i int) error {
		err := a.clear(&steps[i])
		if fatal(err) {
			return err
		}
		if err != nil && !dirfd.Gone(err) {
			out.Conflicts = append(out.Conflicts, note(steps[i].Path, err))
		}
		return nil
	})
	out.Left = a.sweepLeft()
	if err = errors.Join(err, a.closeDirs()); err != nil {
		return out, fmt.Errorf("clear: %w", err)
	}
	return out, nil
}

// Leftovers returns the temporary paths that a run of these steps with this
// key may have left behind, whether they are there or not.
func Leftovers(steps []Step, key string) map[string]bool {
	paths := make(map[string]bool, 2*len(steps))
	for _, s := range steps {
		for _, role := range []string{fresh, spare} {
			paths[path.Join(path.Dir(s.Path), temporary(key, s.Path, role))] = true
		}
	}
	return paths
}

func (a *applier) clear(s *Step) (err error) {
	if err := safePath(s.Path); err != nil {
		return nil // nothing was made beside it
	}
	if s.idle() {
		return a.setMode(s) // it was perhaps opened
	}
	p, err := a.reach(s.Path)
	if err != nil {
		return err
	}
	defer p.close()
	defer func() { err = p.local(err) }()
	for _, role := range []string{fresh, spare} {
		if _, there, err := p.lstat(p.temp(role)); there || err != nil {
			return errors.Join(err, p.makeWritable(), p.recover(s))
		}
	}
	return nil
}
