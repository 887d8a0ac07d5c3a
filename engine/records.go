package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Records of snapshots are many, and decoding one costs more than all else that
// is done with most of them. So what can be told from the bytes of a record is
// told from them. They are ours: fields come in the order of [Snapshot], and a
// quotation mark inside of a string has a backslash before it.

var (
	whereField  = []byte(`"worktree":"`)
	sourceField = []byte(`"source":`)
)

// whereOf returns the worktree that a record is of; false: only decoding it can
// tell. Nothing that a user names stands before the worktree in a record.
func whereOf(record []byte) (where string, sure bool) {
	_, rest, ok := bytes.Cut(record, whereField)
	name, _, closed := bytes.Cut(rest, []byte{'"'})
	return string(name), ok && closed && len(name) > 0 && bytes.IndexByte(name, '\\') < 0
}

// elsewhere reports whether a record is certainly of another worktree.
func elsewhere(record []byte, key string) bool {
	where, sure := whereOf(record)
	return sure && where != key
}

// mayHaveSource reports whether a record may be of a snapshot with a source.
func mayHaveSource(record []byte) bool { return bytes.Contains(record, sourceField) }

// A row is a record with its key.
type row struct{ key, value []byte }

func (r row) decode() (*Snapshot, error) {
	s, err := decodeSnapshot(r.value)
	if err != nil {
		return nil, fmt.Errorf("%w: snapshot record %x: %w", ErrDamaged, r.key, err)
	}
	return s, nil
}

// decodeAll decodes records on all processors, in their order. In the place of one
// that is damaged is nil.
func decodeAll(rows []row) ([]*Snapshot, error) {
	const run = 64 // a goroutine for fewer is not worth it
	out, errs := make([]*Snapshot, len(rows)), make([]error, len(rows))
	workers := max(1, min(runtime.GOMAXPROCS(0), len(rows)/run))
	each := (len(rows) + workers - 1) / workers
	var wg sync.WaitGroup
	for from := 0; from < len(rows); from += each {
		wg.Go(func() {
			for i := from; i < min(from+each, len(rows)); i++ {
				out[i], errs[i] = rows[i].decode()
			}
		})
	}
	wg.Wait()
	return out, errors.Join(errs...)
}

// records returns those of the store's snapshots that the options choose. Of
// an unknown worktree are those whose records were lost, and they may be of
// this one; imported ones are of none. Beside a damaged record the others are
// returned.
func (e *Engine) records(ctx context.Context, opt *ListOptions) (out []*Snapshot, err error) {
	chosen := func(s *Snapshot) bool {
		return (opt.All || s.Where == e.key || s.Where == "" && !s.foreign()) && s.of(opt.Session)
	}
	var rows []row
	err = e.view(ctx, func(v *cas.View) error {
		for key, value := range v.Table(tableSnapshots).Backward() {
			if !opt.All && elsewhere(value, e.key) {
				continue
			}
			r := row{key, value}
			if opt.Limit == 0 {
				rows = append(rows, r)
				continue
			}
			s, err := r.decode()
			if err != nil {
				return err
			}
			if !chosen(s) {
				continue
			}
			if out = append(out, s); len(out) == opt.Limit {
				break
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrDamaged) {
		return nil, err
	}
	all, derr := decodeAll(rows)
	for _, s := range all {
		if s != nil && chosen(s) {
			out = append(out, s)
		}
	}
	return out, errors.Join(err, derr)
}

// known returns the commits that the store has a record of.
func (e *Engine) known(ctx context.Context) (map[oid.ID]bool, error) {
	known := map[oid.ID]bool{}
	err := e.view(ctx, func(v *cas.View) error {
		for key := range v.Table(tableByID).All() {
			id, err := oid.FromBytes(key)
			if err != nil {
				return fmt.Errorf("%w: the id of a snapshot: %w", ErrDamaged, err)
			}
			known[id] = true
		}
		return withSource(v, func(s *Snapshot) bool {
			known[s.Source.Commit] = true
			return true
		})
	})
	return known, err
}

// withSource calls fn with the snapshots that have a source, newest first, until
// it returns false.
func withSource(v *cas.View, fn func(*Snapshot) bool) error {
	for key, value := range v.Table(tableSnapshots).Backward() {
		if !mayHaveSource(value) {
			continue
		}
		s, err := row{key, value}.decode()
		if err != nil {
			return err
		}
		if s.Source != nil && !fn(s) {
			return nil
		}
	}
	return nil
}

// before returns the snapshot of the same worktree that was recorded before s,
// nil if s is its first.
func before(v *cas.View, s *Snapshot) (*Snapshot, error) {
	seq, err := v.Table(tableByID).Value(s.ID.Bytes())
	if errors.Is(err, cas.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for key, value := range v.Table(tableSnapshots).Before(seq) {
		if elsewhere(value, s.Where) {
			continue
		}
		other, err := row{key, value}.decode()
		if err != nil || other.Where == s.Where {
			return other, err
		}
	}
	return nil, nil
}
