package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Records of snapshots are many, and decoding one costs more than all else that
// is done with most of them. So what can be told from the bytes of a record is
// told from them. They are ours: fields come in the order of [Snapshot], and a
// quotation mark inside of a string has a backslash before it.

var (
	whereField  = []byte(`"worktree":"`)
	timeField   = []byte(`"time":"`)
	sourceField = []byte(`"source":`)
)

// whereOf returns the worktree that a record is of; false: only decoding it can
// tell. Nothing that a user names comes before the worktree in a record.
func whereOf(record []byte) (where string, sure bool) {
	_, rest, ok := bytes.Cut(record, whereField)
	name, _, closed := bytes.Cut(rest, []byte{'"'})
	return string(name), ok && closed && len(name) > 0 && bytes.IndexByte(name, '\\') < 0
}

// timeOf returns the time of a record; false: only decoding it can tell.
func timeOf(record []byte) (at time.Time, sure bool) {
	_, rest, ok := bytes.Cut(record, timeField)
	text, _, closed := bytes.Cut(rest, []byte{'"'})
	if !ok || !closed {
		return at, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(text))
	return at, err == nil
}

// elsewhere reports whether a record is certainly of another worktree.
func elsewhere(record []byte, key string) bool {
	where, sure := whereOf(record)
	return sure && where != key
}

// mayHaveSource reports whether a record may be of a snapshot with a source.
func mayHaveSource(record []byte) bool { return bytes.Contains(record, sourceField) }

// A row is a record of a snapshot with its key.
type row struct {
	key, value []byte
	doubt      bool // of a query: see [Query.Doubt]
}

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

var errRecord = errors.New("malformed snapshot record")

// decodeSnapshot reads a record of the snapshots table and checks it.
func decodeSnapshot(data []byte) (*Snapshot, error) {
	s := new(Snapshot)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%w: %v", errRecord, err)
	}
	if s.ID.IsZero() || s.Tree.IsZero() || s.Umask != s.Umask.Perm() {
		return nil, errRecord
	}
	return s, nil
}

// encode makes the record of a snapshot. Skipped paths that have a content of
// their own are not in it.
func (s *Snapshot) encode() ([]byte, error) {
	if s.SkippedIn.IsZero() {
		return json.Marshal(s)
	}
	short := *s
	short.Skipped = nil
	return json.Marshal(&short)
}
