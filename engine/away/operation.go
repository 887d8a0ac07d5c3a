package away

import (
	"errors"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// An operation is a restore, undo, redo or merge as it goes elsewhere. Others are named by their keys: a number means
// something in one store alone.
type operation struct {
	Key     string         `json:"key"`
	Kind    string         `json:"kind"`
	Below   string         `json:"below,omitempty"`  // what lies below it on its stack
	Beside  string         `json:"beside,omitempty"` // what lay on top of the other stack when it had begun
	To      oid.ID         `json:"to"`
	Stood   oid.ID         `json:"stood,omitzero"`
	Paths   []records.Path `json:"paths,omitempty"`
	Plan    oid.ID         `json:"plan"`
	Started time.Time      `json:"started"`
	Ended   time.Time      `json:"ended"`
	Partial bool           `json:"partial,omitempty"`
	There   []records.Path `json:"there,omitempty"`

	from    oid.ID // the snapshot that it goes with
	brought bool   // it was begun elsewhere
}

// check is an error if it cannot be one that somebody has begun.
func (o *operation) check() error {
	isWord := func(text string) bool {
		for _, c := range text {
			if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
				return false
			}
		}
		return text != "" && len(text) <= 64
	}
	if !isWord(o.Key) || !isWord(o.Kind) || o.To.IsZero() || o.Started.IsZero() {
		return tampered("it is no operation")
	}
	return nil
}

// here is the operation as a store has it.
func (o *operation) here() *records.Operation {
	return &records.Operation{
		Key: o.Key, Kind: o.Kind, Beside: o.Beside, From: o.from, To: o.To, Stood: o.Stood, Paths: o.Paths, Plan: o.Plan,
		Started: o.Started, Ended: o.Ended, Partial: o.Partial, There: o.There,
	}
}

// deeds are the operations of a store.
type deeds struct {
	from map[oid.ID][]operation          // that began with a snapshot, oldest first
	of   map[string][]*records.Operation // of a worktree, in the order in which they began
}

// deedsOf returns the operations that have ended, of all worktrees. Where some cannot be read, those of that worktree stay.
func deedsOf(v *records.View) (*deeds, error) {
	worktrees, err := v.Worktrees()
	if err != nil {
		return nil, err
	}
	out := &deeds{from: map[oid.ID][]operation{}, of: map[string][]*records.Operation{}}
	for key := range worktrees {
		all, err := records.In(v.View, &records.Owner{Key: key}).Operations(0)
		if err != nil && !errors.Is(err, records.ErrDamaged) {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(op *records.Operation) bool { return op.Ended.IsZero() })
		slices.Reverse(all)
		byNumber := map[uint64]*records.Operation{0: {}}
		for _, op := range all {
			byNumber[op.Seq] = op
			n := operation{
				Key: op.Key, Kind: op.Kind, Beside: op.Beside, To: op.To, Stood: op.Stood, Paths: op.Paths, Plan: op.Plan,
				Started: op.Started, Ended: op.Ended, Partial: op.Partial, There: op.There, from: op.From, brought: op.Brought,
			}
			if below := byNumber[op.Below]; below != nil {
				n.Below = below.Key
			}
			if taken := byNumber[op.Reverts]; op.Reverts != 0 && taken != nil && byNumber[taken.Below] != nil {
				n.Beside = byNumber[taken.Below].Key
			}
			out.from[op.From] = append(out.from[op.From], n)
		}
		slices.SortStableFunc(all, func(a, b *records.Operation) int { return a.Started.Compare(b.Started) })
		out.of[key] = all
	}
	return out, nil
}

// last returns the key of the operation that had begun last in its worktree when a snapshot was taken; "": none had.
func (d *deeds) last(s *records.Snapshot) string {
	list := d.of[s.Where]
	n, _ := slices.BinarySearchFunc(list, s.Time, func(op *records.Operation, at time.Time) int { return op.Started.Compare(at) })
	if n == 0 {
		return ""
	}
	return list[n-1].Key
}
