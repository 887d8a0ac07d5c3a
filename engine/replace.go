package engine

import (
	"encoding/json"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// renamed returns the id that a snapshot has since a purge; zero if it has none.
func renamed(v *cas.View, id oid.ID) oid.ID {
	value, err := v.Table(tableRenamed).Value(id.Bytes())
	if err != nil {
		return oid.ID{}
	}
	now, err := oid.FromBytes(value)
	if err != nil {
		return oid.ID{}
	}
	return now
}

// replace puts the new snapshots into the places of the old ones, everywhere.
func (e *Engine) replace(u *cas.Update, changed []replaced) error {
	ids := map[oid.ID]oid.ID{}
	for _, r := range changed {
		ids[r.old] = r.new
		if err := e.replaceRecord(u, r); err != nil {
			return err
		}
	}
	for key, value := range u.Table(tableRenamed).All() {
		if id, err := oid.FromBytes(value); err == nil && !ids[id].IsZero() {
			old, _ := oid.FromBytes(key)
			ids[old] = ids[id]
		}
	}
	for old, id := range ids {
		if err := u.Table(tableRenamed).Put(old.Bytes(), id.Bytes()); err != nil {
			return err
		}
	}
	return e.repoint(u, ids)
}

func (e *Engine) replaceRecord(u *cas.Update, r replaced) error {
	if r.outside {
		if err := u.Table(tableDropped).Put(r.old.Bytes(), []byte{1}); err != nil || r.snap == nil {
			return err
		}
		if now, err := find(&u.View, r.new); err != nil || now != nil && now.ID == r.new {
			return err
		}
		return e.appendRecord(u, r.snap, true)
	}
	now, err := find(&u.View, r.old)
	if err != nil || now == nil || now.ID != r.old {
		return err // pruned meanwhile
	}
	r.snap.Points = now.Points
	seq, err := u.Table(tableByID).Value(r.old.Bytes())
	if err != nil {
		return err
	}
	if err := e.forget(u, r.old); err != nil {
		return err
	}
	value, err := r.snap.encode()
	if err != nil {
		return err
	}
	if err := u.Table(tableSnapshots).Put(seq, value); err != nil {
		return err
	}
	if err := u.Table(tableByID).Put(r.new.Bytes(), seq); err != nil || e.repo == nil {
		return err
	}
	return u.Table(tablePending).Put(seq, r.new.Bytes())
}

// repoint makes pins, worktrees and operations name the new ids.
func (e *Engine) repoint(u *cas.Update, ids map[oid.ID]oid.ID) error {
	pins := map[string]oid.ID{}
	for name, value := range u.Table(tablePins).All() {
		if id, err := oid.FromBytes(value); err == nil && !ids[id].IsZero() {
			pins[string(name)] = ids[id]
		}
	}
	for name, id := range pins {
		if err := u.Table(tablePins).Put([]byte(name), id.Bytes()); err != nil {
			return err
		}
	}
	all, err := worktrees(&u.View)
	if err != nil {
		return err
	}
	for key, w := range all {
		if err := e.repointWorktree(u, key, w, ids); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) repointWorktree(u *cas.Update, key string, w worktreeRecord, ids map[oid.ID]oid.ID) error {
	ops, err := operations(&u.View, key)
	if err != nil {
		return err
	}
	for _, op := range ops {
		from, to := ids[op.From], ids[op.To]
		if from.IsZero() && to.IsZero() {
			continue
		}
		if !from.IsZero() {
			op.From = from
		}
		if !to.IsZero() {
			op.To = to
		}
		if err := op.put(u); err != nil {
			return err
		}
	}
	if ids[w.Last].IsZero() {
		return nil
	}
	w.Last = ids[w.Last]
	value, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return u.Table(tableWorktrees).Put([]byte(key), value)
}
