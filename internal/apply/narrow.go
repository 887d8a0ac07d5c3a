package apply

import (
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// othersAll is what group and others may have.
const othersAll tree.Mode = 0o077

// narrowed returns the permissions of a directory that stays, without those of
// group and others that the plan takes away.
func narrowed(s *Step) tree.Mode {
	return s.Have.Mode.Perm() &^ (othersAll &^ s.Want.Mode.Perm())
}

// narrow closes to others, before anything is written, the directories that the
// plan closes: what is put into one meanwhile could be read. Where that fails
// nothing is written below; blocked gets the reason. What is not as the plan
// expects is left to the step itself.
func (a *applier) narrow(steps []Step, blocked map[string]error) {
	open := map[string]error{}
	for i := range steps {
		s := &steps[i]
		if !s.Have.Mode.IsDir() || !s.Want.Mode.IsDir() || blocked[s.Path] != nil || safePath(s.Path) != nil {
			continue
		}
		if narrowed(s) == s.Have.Mode.Perm() {
			continue
		}
		err := a.chmodDir(s.Path, func(now tree.Mode) (tree.Mode, error) { return now &^ (othersAll &^ s.Want.Mode.Perm()), nil })
		if err != nil && !dirfd.Gone(err) && !errors.Is(err, ErrChanged) {
			open[s.Path] = fmt.Errorf("%q: %w: %w", s.Path, ErrOpen, err)
		}
	}
	below(steps, open, func(s *Step, why error) {
		if !s.Want.absent() && blocked[s.Path] == nil {
			blocked[s.Path] = why
		}
	})
}
