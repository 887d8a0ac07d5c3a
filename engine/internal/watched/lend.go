package watched

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// A turn may be another process's: the tree lends it, and that process looks where
// something changed, on the rows as they lie in the file. What it recorded it gives back.
// Whatever goes wrong on the way, the turn ends like one that did not come to its end.

// lent is what the other process is told.
type lent struct {
	Table   *stattable.Lent
	Changes *worktree.Changes
}

// given is what it gives back, as a line of JSON; behind it come the rows that changed.
type given struct {
	Stale   bool // what was lent is not what the store or the file says by now
	Bound   stattable.Binding
	Removed [][]byte
	Writing [][]byte
}

// Lend begins a turn for another process, if one would look only where something changed,
// and says what that is to know for [Borrow]. Back ends it: with what is given back, or
// with nothing.
func (t *Tree) Lend(ctx context.Context, root string) (text []byte, back func([]byte), ok bool) {
	t.mu.Lock()
	if t.root != root || !t.standing || !t.armed || t.table == nil || t.closed {
		t.mu.Unlock()
		return nil, nil, false
	}
	u := t.begin(ctx)
	if u.Only() != nil {
		var what lent
		if what.Table, ok = t.table.Lend(); ok {
			what.Changes = u.only
			var err error
			text, err = json.Marshal(what)
			ok = err == nil
		}
	}
	if !ok {
		u.Close()
		return nil, nil, false
	}
	return text, func(text []byte) {
		defer u.Close()
		u.takeBack(text)
	}, true
}

// takeBack takes over what another process gives back.
func (u *Turn) takeBack(text []byte) {
	var in given
	t := u.tree
	head, rows, _ := bytes.Cut(text, []byte{'\n'})
	if len(text) == 0 || json.Unmarshal(head, &in) != nil || t.closed {
		return
	}
	if in.Stale {
		t.table, t.armed, t.why = nil, false, "another process has recorded without it"
		return
	}
	var changed stattable.Rows
	if changed.Decode(rows) != nil || in.Bound.Snapshot.IsZero() {
		return
	}
	for _, r := range changed {
		if r.IsZero() {
			return
		}
	}
	u.ended = true
	u.settle(texts(in.Writing), worktree.Taken(t.table, in.Bound, changed, texts(in.Removed)))
}

// stale is given back where the next turn is to look at everything.
var stale = []byte(`{"Stale":true}`)

func texts(list [][]byte) (out []string) {
	for _, one := range list {
		out = append(out, string(one))
	}
	return out
}

func bytesOf(list []string) (out [][]byte) {
	for _, one := range list {
		out = append(out, []byte(one))
	}
	return out
}

// Borrow is a turn that another process lends, of a worktree with this file of rows. Where
// it cannot be used it is given back, and the turn is one of a worktree that nobody watches.
func Borrow(statTable string, text []byte, back func([]byte)) *Turn {
	var what lent
	if json.Unmarshal(text, &what) != nil || what.Table == nil || what.Changes == nil {
		back(nil)
		return &Turn{}
	}
	table, err := stattable.Borrow(statTable, what.Table)
	if err != nil {
		back(stale)
		return &Turn{}
	}
	return &Turn{Table: table, only: what.Changes, back: back}
}

// giveBack ends a borrowed turn for who lends it.
func (u *Turn) giveBack(text []byte) {
	if u.back != nil {
		u.Table.Close() // who lends it may write then
		u.back(text)
		u.back = nil
	}
}

// give gives back what was seen, which is now durable under this snapshot.
func (u *Turn) give(seen *worktree.Result, store string, snapshot oid.ID) error {
	if !seen.Partial() {
		u.giveBack(stale)
		return seen.SaveStatTable(store, snapshot)
	}
	writing := bytesOf(seen.Writing)
	bound, changed, removed, ok := seen.News(store, snapshot)
	if !ok {
		u.giveBack(stale)
		return nil
	}
	text, err := json.Marshal(given{Bound: bound, Removed: bytesOf(removed), Writing: writing})
	if err == nil {
		u.giveBack(append(append(text, '\n'), stattable.Rows(changed).Encode()...))
	}
	return err
}
