package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// readSession reads a session file once, from its beginning to its end.
func readSession(ctx context.Context, path string) (*Session, error) {
	f, err := openSession(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := &Session{path: path, byID: map[string]int{}, bound: map[string]oid.ID{}, labels: map[string]string{}}
	if s.header, err = findHeader(ctx, f); err == nil {
		err = s.read(ctx, f)
	}
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", path, err)
	}
	return s, nil
}

// findHeader looks for the header at the beginning of a file.
func findHeader(ctx context.Context, f io.ReaderAt) (Header, error) {
	r, p := newLineReader(&bounded{ctx, io.NewSectionReader(f, 0, math.MaxInt64), headerReachMax}), newParser()
	for r.next() {
		if p.parse(r.content()) == nil {
			return p.line.header()
		}
	}
	if r.err != nil && !errors.Is(r.err, errTooLong) {
		return Header{}, r.err
	}
	return Header{}, ErrNotSession
}

// content is the line without the mark that some editors put before the first one.
func (r *lineReader) content() []byte {
	if r.start == 0 {
		return bytes.TrimPrefix(r.text, []byte("\xEF\xBB\xBF"))
	}
	return r.text
}

func (l *line) header() (Header, error) {
	switch {
	case l.entry.Type != headerType || l.entry.ID == "":
		return Header{}, ErrNotSession
	case l.version != sessionVersion:
		return Header{}, fmt.Errorf("version %v: %w", l.version, ErrVersion)
	}
	return Header{l.entry.ID, l.entry.Time, l.cwd, l.parentSession}, nil
}

// read takes in the lines of a file. A last line without a newline counts if it is whole,
// as it does for Pi.
func (s *Session) read(ctx context.Context, f io.ReaderAt) error {
	r, p := newLineReader(&bounded{ctx, io.NewSectionReader(f, 0, math.MaxInt64), sessionBytesMax + 1}), newParser()
	for r.next() {
		err := p.parse(r.content())
		if err == nil {
			err = s.take(&p.line)
		}
		if err == nil || len(bytes.TrimSpace(r.text)) == 0 {
			continue
		}
		// The ids in a line that cannot be used are remembered.
		ids, err := mentions(&bounded{ctx, io.NewSectionReader(f, r.start, r.end-r.start), r.end - r.start + 1})
		if s.mentioned = append(s.mentioned, ids...); err != nil {
			return err
		}
	}
	return r.err
}

// take enters one line. Entries come in the order of the file, so that the last wins. An
// error is of a record: the entry is there all the same.
func (s *Session) take(l *line) (err error) {
	e := l.entry
	switch {
	case e.Type == headerType: // the header, or a second one
		return nil
	case e.Type == "label" && l.target != "":
		if label := strings.TrimSpace(l.label); label != "" {
			s.labels[l.target] = label
		} else {
			delete(s.labels, l.target)
		}
	case e.Type == "custom" && Kind(e.CustomType).valid():
		var record Record
		if record, err = decodeRecord(Kind(e.CustomType), l.data); err == nil {
			e.record = &record
		}
	}
	if e.ID == "" && e.record == nil {
		return err
	}
	if e.ID != "" {
		s.byID[e.ID] = len(s.entries)
	}
	if e.record != nil {
		for _, b := range e.record.Bindings {
			s.bound[b.Entry] = b.Snapshot
		}
	}
	s.entries = append(s.entries, e)
	return err
}
