package records

import (
	"github.com/seed-82afce7a/rewind/engine/internal/changes"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// changed returns the row at a key, nil if there is none that can be read: then
// what it would say has to be found out again.
func (v *View) changed(key []byte) *changes.Changed {
	value, err := v.Table(tableChanges).Value(key)
	if err != nil {
		return nil
	}
	c, err := changes.Decode(value)
	if err != nil {
		return nil
	}
	return c
}

// PutChanged records what a snapshot changed. If the snapshot or its base is not
// there any more, nothing is recorded. If the base has another id by now, then what
// was compared is not what there is: only the base is recorded.
func (u *Update) PutChanged(id oid.ID, c *changes.Changed) error {
	seq, err := u.Table(tableByID).Value(id.Bytes())
	if err != nil {
		return nil
	}
	if base, err := u.Find(c.Base); !c.Base.IsZero() {
		switch {
		case err != nil || base == nil:
			return nil
		case base.ID != c.Base:
			c = &changes.Changed{Base: base.ID}
		}
	}
	return u.put(tableChanges, seq, c.Encode())
}

// rebase gives the snapshots whose bases got other ids, or went, the bases that
// they have now. How they differ from those has to be found out again. Where a
// base went of which nobody knows the base, the row goes too.
func (u *Update) rebase(ids map[oid.ID]oid.ID, gone map[oid.ID]*changes.Changed) error {
	rows := map[string]*changes.Changed{}
	for key, value := range u.Table(tableChanges).All() {
		c, err := changes.Decode(value)
		if err != nil || c.Base.IsZero() || len(key) != 8 {
			continue
		}
		base, known := c.Base, true
		for range len(gone) {
			lost, went := gone[base]
			if !went {
				break
			}
			if known = lost != nil; !known {
				break
			}
			base = lost.Base
		}
		if now := ids[base]; !now.IsZero() {
			base = now
		}
		switch {
		case !known:
			rows[string(key)] = nil
		case base != c.Base:
			rows[string(key)] = &changes.Changed{Base: base}
		}
	}
	for key, c := range rows {
		if err := u.replaceChanged([]byte(key), c); err != nil {
			return err
		}
	}
	return nil
}

func (u *Update) replaceChanged(key []byte, c *changes.Changed) error {
	if c == nil {
		return u.remove(tableChanges, key)
	}
	return u.put(tableChanges, key, c.Encode())
}

// Changed returns what is recorded of what a snapshot changed, nil if nothing is,
// and the id of its base: the snapshot at which the files stood before it, zero if
// there was none. Where nothing is recorded the base is told from the history: it is
// the one that was recorded on purpose before it, or what was restored since.
func (v *View) Changed(s *Snapshot) (c *changes.Changed, base oid.ID, err error) {
	if seq, err := v.Table(tableByID).Value(s.ID.Bytes()); err == nil {
		c = v.changed(seq)
	}
	if c != nil {
		return c, c.Base, nil
	}
	base, err = v.base(s)
	return nil, base, err
}

func (v *View) base(s *Snapshot) (oid.ID, error) {
	before, err := v.Before(s)
	if err != nil {
		return oid.ID{}, err
	}
	for op, err := range v.operations() {
		if err != nil {
			return oid.ID{}, err
		}
		if op.Where != s.Where {
			continue
		}
		if op.From == s.ID && s.OfRestore() && !op.Stood.IsZero() {
			return op.Stood, nil
		}
		if before != nil && !op.Started.After(before.Time) {
			break
		}
		if !op.leads() || op.Ended.IsZero() || !op.Ended.Before(s.Time) {
			continue
		}
		return v.arrival(op)
	}
	if before == nil {
		return oid.ID{}, nil
	}
	return before.ID, nil
}

// arrival returns where the files stood after an operation.
func (v *View) arrival(op *Operation) (oid.ID, error) {
	reverted, err := v.Operation(op.Reverts)
	if err != nil || reverted == nil {
		return op.To, err
	}
	return reverted.Stood, nil
}

// cutChanged takes what names a path that match has out of the rows: they have to
// be found out again.
func (u *Update) cutChanged(match func(path string) bool) error {
	rows := map[string]*changes.Changed{}
	for key, value := range u.Table(tableChanges).All() {
		c, err := changes.Decode(value)
		if err != nil {
			rows[string(key)] = nil
			continue
		}
		for _, n := range c.Names {
			if match(string(n.Path)) {
				rows[string(key)] = &changes.Changed{Base: c.Base}
			}
		}
	}
	for key, c := range rows {
		if err := u.replaceChanged([]byte(key), c); err != nil {
			return err
		}
	}
	return nil
}
