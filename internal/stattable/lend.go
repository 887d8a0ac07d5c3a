package stattable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A Lent table is what another process has to know of a table in memory to use its rows
// where they lie in the file: that, and what the file lacks.
type Lent struct {
	Path       string
	Generation uint64 // of the file
	Written    int64  // when that was written
	Saved      int64
	Bound      Binding
	Restless   [][]byte
	Small      Small
	Unsaved    []byte // [Rows]; the zero Row: one that goes
}

// Rows are rows of directories, to be handed to another process.
type Rows map[string]Row

// Encode makes bytes of rows: how many there are, and of each the path, which may be any
// bytes, and the row, both behind their lengths. As JSON a thousand rows took a tenth of a
// second on the way.
func (rows Rows) Encode() []byte {
	n := binary.MaxVarintLen64
	for dir, r := range rows {
		n += len(dir) + len(r.p) + 2*binary.MaxVarintLen32
	}
	out := binary.AppendUvarint(make([]byte, 0, n), uint64(len(rows)))
	for dir, r := range rows {
		out = append(binary.AppendUvarint(out, uint64(len(dir))), dir...)
		out = append(binary.AppendUvarint(out, uint64(len(r.p))), r.p...)
	}
	return out
}

// Decode reads what [Rows.Encode] makes, and checks each row as those of the file are.
func (rows *Rows) Decode(text []byte) error {
	*rows = Rows{}
	count, used := binary.Uvarint(text)
	if used <= 0 {
		return errRows
	}
	for text = text[used:]; len(text) > 0; {
		var part [2][]byte // the path, and the row
		for i := range part {
			n, used := binary.Uvarint(text)
			if used <= 0 || n > uint64(len(text)-used) {
				return errRows
			}
			part[i], text = text[used:][:n], text[used:][n:]
		}
		var r Row
		if len(part[1]) > 0 {
			var err error
			if r, err = parseRow(string(part[0]), bytes.Clone(part[1])); err != nil { // one that is kept does not keep all
				return err
			}
		}
		(*rows)[string(part[0])] = r
	}
	if uint64(len(*rows)) != count {
		return errRows
	}
	return nil
}

var errRows = errors.New("stat table: what is handed over is not whole")

// lendWait is how long who reads the file is waited for before a turn.
const lendWait = 50 * time.Millisecond

// lentMax rows are handed over, and what more the file lacks is written into it before.
const lentMax = 64

// Lend says what there is to know of a table in memory. Not ok: the file is not as this
// process has written it, or has rows that are no part of the table.
func (t *Table) Lend() (l *Lent, ok bool) {
	if t.kept == nil || t.kept.strays || t.generation == 0 {
		return nil, false
	}
	if len(t.kept.unsaved) > lentMax && t.Flush(lendWait) != nil {
		return nil, false
	}
	l = &Lent{Path: t.path, Generation: t.generation, Written: t.written, Saved: t.saved, Bound: t.bound, Small: t.kept.small, Unsaved: Rows(t.kept.unsaved).Encode()}
	for dir := range t.kept.restless {
		l.Restless = append(l.Restless, []byte(dir))
	}
	return l, true
}

// borrowed is what a table has whose rows lie in the file of another process's.
type borrowed struct {
	mu   sync.Mutex // guards what follows: a row is looked for when it is asked for
	rows *bolt.Bucket
	met  Rows // the zero Row: there is none
}

// Borrow opens the file of a table that was lent, to be used as one in memory is. It is
// to be closed before the lender writes, and cannot be saved.
func Borrow(path string, l *Lent) (*Table, error) {
	if path != l.Path {
		return nil, fmt.Errorf("stat table: %s is not lent, but %s", path, l.Path)
	}
	var unsaved Rows
	if err := unsaved.Decode(l.Unsaved); err != nil {
		return nil, err
	}
	t := &Table{path: path, kept: &kept{restless: map[string]bool{}, small: l.Small, borrowed: &borrowed{met: unsaved}}}
	for _, dir := range l.Restless {
		t.kept.restless[string(dir)] = true
	}
	if err := t.openLent(l); err != nil {
		t.Close()
		return nil, err
	}
	t.generation, t.written, t.saved, t.bound = l.Generation, l.Written, l.Saved, l.Bound
	return t, nil
}

// openLent opens the file, if it is the one that was lent.
func (t *Table) openLent(l *Lent) (err error) {
	defer guard(&err)()
	if err := t.openFile(0); err != nil {
		return err
	}
	generation, written, _, err := header(t.tx)
	if err != nil {
		return err
	}
	if t.kept.borrowed.rows = t.tx.Bucket(rowsBucket); t.kept.borrowed.rows == nil || generation != l.Generation || written != l.Written {
		return ErrOutdated
	}
	return nil
}

// row returns the row of a directory, which is read when it is asked for first.
func (b *borrowed) row(dir string) (r Row, err error) {
	defer guard(&err)()
	b.mu.Lock()
	defer b.mu.Unlock()
	r, known := b.met[dir]
	if known || b.rows == nil {
		return r, nil
	}
	if p := b.rows.Get(key(dir)); len(p) > 0 {
		if r, err = parseRow(dir, p); err != nil {
			return Row{}, err
		}
	}
	b.met[dir] = r
	return r, nil
}

func (b *borrowed) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows, b.met = nil, Rows{}
}
