package ledger

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// recordVersion is the only version of the records that exists.
const recordVersion = 2

// ErrRecord is reported for data that is no valid record of its kind.
var ErrRecord = errors.New("not a valid rewind record")

// A Kind says what a record is for. Its text is the customType of the entry
// that carries the record.
type Kind string

// The kinds of records, as pi-rewind-hook writes them since 1.8.
const (
	Turn        Kind = "rewind-turn"         // bindings of one prompt
	Op          Kind = "rewind-op"           // a restore, an undo, or single bindings
	ForkPending Kind = "rewind-fork-pending" // what the child of a fork begins with
)

func (k Kind) valid() bool { return k == Turn || k == Op || k == ForkPending }

// A Binding says that the worktree was as in Snapshot at the entry.
type Binding struct {
	Entry    string
	Snapshot oid.ID
}

// A Record is what one custom entry says about snapshots. Which fields count
// depends on the kind: bindings for a turn; any field, but at least one, for
// an op; Current and perhaps Undo for a pending fork.
type Record struct {
	Kind     Kind
	Bindings []Binding // in the order of events; a later one wins
	Current  oid.ID    // the state of the worktree, zero if not said
	Undo     oid.ID    // the state before the last restore, zero if not said

	// Mentioned holds every snapshot of a decoded record, also those that
	// nothing in it refers to.
	Mentioned []oid.ID
}

// decodeRecord reads the data of a custom entry. What makes a record invalid
// is what makes it invalid for pi-rewind-hook: another version than 2, or no
// array (a turn: or no bindings; a pending fork: no current). A binding or
// index that points nowhere, or at something that is no full object id, is
// left out; the rest counts.
func decodeRecord(kind Kind, data []byte) (Record, error) {
	r := Record{Kind: kind}
	// Names are matched exactly, which decoding into a struct does not do.
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return r, fmt.Errorf("%s: %w", kind, ErrRecord)
	}
	var version float64
	if json.Unmarshal(fields["v"], &version) != nil || version != recordVersion {
		return r, fmt.Errorf("%s: version is not %d: %w", kind, recordVersion, ErrRecord)
	}
	switch kind {
	case ForkPending:
		return r.pending(fields)
	case Turn, Op:
		return r.snapshots(fields)
	}
	return r, fmt.Errorf("%q: unknown kind: %w", kind, ErrRecord)
}

func (r Record) pending(fields map[string]json.RawMessage) (Record, error) {
	r.Current = decodeID(fields["current"])
	r.Undo = decodeID(fields["undo"])
	if r.Current.IsZero() {
		return r, fmt.Errorf("%s: no current: %w", r.Kind, ErrRecord)
	}
	r.mention(r.Current, r.Undo)
	return r, nil
}

func (r Record) snapshots(fields map[string]json.RawMessage) (Record, error) {
	list, ok := decodeArray(fields["snapshots"])
	if !ok {
		return r, fmt.Errorf("%s: no snapshots: %w", r.Kind, ErrRecord)
	}
	ids := make([]oid.ID, len(list)) // an invalid one keeps its place
	for i, s := range list {
		ids[i] = decodeID(s)
	}
	r.mention(ids...)
	bindings, ok := decodeArray(fields["bindings"])
	if !ok && r.Kind == Turn {
		return r, fmt.Errorf("%s: no bindings: %w", r.Kind, ErrRecord)
	}
	for _, b := range bindings {
		pair, _ := decodeArray(b)
		if len(pair) < 2 {
			continue
		}
		var entry string
		id := pick(ids, pair[1])
		if json.Unmarshal(pair[0], &entry) == nil && entry != "" && !id.IsZero() {
			r.Bindings = append(r.Bindings, Binding{entry, id})
		}
	}
	if r.Kind == Op {
		r.Current = pick(ids, fields["current"])
		r.Undo = pick(ids, fields["undo"])
	}
	return r, nil
}

func (r *Record) mention(ids ...oid.ID) {
	for _, id := range ids {
		if !id.IsZero() {
			r.Mentioned = append(r.Mentioned, id)
		}
	}
}

func decodeID(p json.RawMessage) oid.ID {
	var s string
	if json.Unmarshal(p, &s) != nil {
		return oid.ID{}
	}
	id, err := oid.Parse(s)
	if err != nil {
		return oid.ID{}
	}
	return id
}

// decodeArray is not satisfied by null, which would decode as an empty slice.
func decodeArray(p json.RawMessage) (list []json.RawMessage, ok bool) {
	return list, json.Unmarshal(p, &list) == nil && list != nil
}

// pick returns the id at an index given as a JSON number, zero if there is none.
func pick(ids []oid.ID, index json.RawMessage) oid.ID {
	var i *float64
	if json.Unmarshal(index, &i) != nil || i == nil {
		return oid.ID{}
	}
	n := int(*i)
	if n < 0 || n >= len(ids) || float64(n) != *i {
		return oid.ID{}
	}
	return ids[n]
}
