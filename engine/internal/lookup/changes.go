package lookup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/changes"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Selection says which paths are asked for.
type Selection interface {
	Match(path string) bool
	Literal() (paths []string, only bool) // those that are no patterns; whether there are no others
}

// Base returns the snapshot that s is compared with to tell what it changed: the
// one at which the files stood before it, of a checkpoint the one of the same
// system before it. It is nil if there is none.
func (r *Reader) Base(ctx context.Context, s *records.Snapshot) (*records.Snapshot, error) {
	return (&bases{r: r}).of(ctx, s)
}

// bases finds the bases of many snapshots, for one request: what git has beside the
// store is listed once.
type bases struct {
	r      *Reader
	beside []*records.Snapshot
	listed bool
}

func (b *bases) of(ctx context.Context, s *records.Snapshot) (base *records.Snapshot, err error) {
	r := b.r
	if s.Foreign() {
		if !b.listed {
			if b.beside, err = r.beside(ctx, false, nil); err != nil {
				return nil, err
			}
			b.listed = true
		}
		return beforeCheckpoint(b.beside, s), nil
	}
	var id oid.ID
	err = r.View(ctx, func(v *records.View) error {
		if _, id, err = v.Changed(s); err != nil || id.IsZero() {
			return err
		}
		base, err = v.Find(id)
		return err
	})
	if err == nil && base == nil && !id.IsZero() {
		if base, err = r.Find(ctx, id); errors.Is(err, ErrNoSnapshot) { // another system has dropped it
			base, err = r.Before(ctx, s)
		}
	}
	if err == nil {
		err = r.Fill(ctx, base)
	}
	return base, err
}

// How much is found out at once of what snapshots changed, where it is not
// recorded. The rest is found out by those who ask next.
const (
	settleMost = 256
	settleTime = 2 * time.Second
	settleWait = 200 * time.Millisecond // for a store that others write
)

// rows fills in what is recorded of what snapshots changed, and returns those of which
// the store has a record.
func (r *Reader) rows(ctx context.Context, list []*records.Snapshot) (recorded map[*records.Snapshot]bool, err error) {
	recorded = map[*records.Snapshot]bool{}
	err = r.View(ctx, func(v *records.View) error {
		for _, s := range list {
			s.Changed, _, _ = v.Changed(s) // what is not told is found out
			recorded[s], _ = v.Recorded(s.ID)
		}
		return nil
	})
	return recorded, err
}

// settle fills in what snapshots changed, and records what it had to find out.
// What cannot be told, as of a snapshot that is not whole, stays unknown.
func (r *Reader) settle(ctx context.Context, list []*records.Snapshot) error {
	recorded, err := r.rows(ctx, list)
	if err != nil {
		return err
	}
	compare, begun := r.comparer(ctx, nil), time.Now()
	from := &bases{r: r}
	var damage error
	var found []*records.Snapshot
	tried := 0
	for _, s := range list {
		if s.Changed != nil && s.Changed.Settled {
			continue
		}
		if tried++; tried > settleMost || time.Since(begun) > settleTime || ctx.Err() != nil {
			break
		}
		base, err := from.of(ctx, s)
		if errors.Is(err, records.ErrDamaged) {
			damage = fmt.Errorf("what snapshot %v changed is not known: %w", s.ID, err)
		}
		if err == nil && r.sum(ctx, compare, base, s) && recorded[s] {
			found = append(found, s)
		}
	}
	r.keep(ctx, found)
	return errors.Join(damage, ctx.Err())
}

// sum finds out what a snapshot changed; false: that cannot be told.
func (r *Reader) sum(ctx context.Context, compare *comparer, base, s *records.Snapshot) bool {
	if r.Fill(ctx, s) != nil {
		return false
	}
	c, err := compare.sum(base, s)
	if err == nil {
		s.Changed = c
	}
	return err == nil
}

// keep records what was found out. It is a convenience for those who ask next: a
// store that cannot be written now is left as it is.
func (r *Reader) keep(ctx context.Context, found []*records.Snapshot) {
	if len(found) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	_ = r.Update(ctx, func(u *records.Update) error {
		for _, s := range found {
			if err := u.PutChanged(s.ID, s.Changed); err != nil {
				return err
			}
		}
		return nil
	})
}

// touching says of a row what it tells of the selected paths.
func touching(paths Selection) func(*changes.Changed) (yes, sure bool) {
	literal, only := paths.Literal()
	return func(c *changes.Changed) (yes, sure bool) {
		if c == nil || !c.Known {
			return false, false
		}
		if !only {
			for _, n := range c.Names {
				if (!c.Coarse || n.Status != 0) && paths.Match(n.Path) {
					return true, true
				}
			}
			return false, !c.Coarse
		}
		sure = true
		for _, path := range literal {
			y, s := c.Touches(path)
			if y {
				return true, true
			}
			sure = sure && s
		}
		return false, sure
	}
}
