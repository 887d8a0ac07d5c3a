package apply

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Verify reads back every path that the steps write and returns a note for
// each that does not hold exactly what is wanted: type, permissions, content.
// Deletions are not looked at. It changes nothing; notes are in path order.
// An error means that not everything was looked at.
func Verify(ctx context.Context, root string, steps []Step, alg oid.Algorithm) ([]Note, error) {
	a, err := newApplier(root, nil, &Options{Alg: alg})
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	defer a.root.Close()
	var notes []Note
	var mu sync.Mutex // guards notes
	err = each(ctx, len(steps), min(runtime.GOMAXPROCS(0), 8), func(i int) error {
		if steps[i].Want.absent() {
			return nil
		}
		if err := a.verify(&steps[i]); err != nil {
			mu.Lock()
			defer mu.Unlock()
			notes = append(notes, note(steps[i].Path, err))
		}
		return nil
	})
	slices.SortFunc(notes, func(a, b Note) int { return strings.Compare(a.Path, b.Path) })
	if err != nil {
		return notes, fmt.Errorf("verify: %w", err)
	}
	return notes, nil
}

func (a *applier) verify(s *Step) error {
	if err := safePath(s.Path); err != nil {
		return err
	}
	p, err := a.reachPlain(s.Path)
	if err != nil {
		return err
	}
	defer p.close()
	st, err := p.dir.Lstat(p.name)
	if err != nil {
		return err
	}
	if !isMode(st.Mode, s.Want.Mode) {
		return fmt.Errorf("%w: its mode is %o instead of %o", ErrChanged, st.Mode, s.Want.Mode)
	}
	yes, err := p.holds(p.name, st, s.Want)
	if err == nil && !yes {
		err = fmt.Errorf("%w: another content", ErrChanged)
	}
	return err
}
