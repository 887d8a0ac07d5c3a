package apply

import (
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
		if want := narrowed(s); want != s.Have.Mode.Perm() {
			if err := a.narrowOne(s, want); err != nil {
				open[s.Path] = fmt.Errorf("%q: %w: %w", s.Path, ErrOpen, err)
			}
		}
	}
	below(steps, open, func(s *Step, why error) {
		if !s.Want.absent() && blocked[s.Path] == nil {
			blocked[s.Path] = why
		}
	})
}

func (a *applier) narrowOne(s *Step, want tree.Mode) error {
	p, err := a.reach(s.Path)
	if dirfd.Gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.close()
	st, ok, err := p.lstat(p.name)
	if err != nil || !ok || st.Mode.Type() != tree.Dir || same(st, p.git) {
		return err
	}
	left := st.Mode.Perm() &^ (othersAll &^ s.Want.Mode.Perm())
	if left == st.Mode.Perm() {
		return nil
	}
	return p.act("chmod", func() error { return p.dir.Chmod(p.name, st, left) })
}
