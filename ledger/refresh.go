package ledger

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// windowBytes is how much of either side of what was parsed is compared
// before appended bytes are trusted to continue it.
const windowBytes = 512

// A position is where a look at the file ended.
type position struct {
	info       os.FileInfo
	read       int64 // bytes seen
	offset     int64 // behind the last newline seen: where the next look begins
	head, tail []byte
}

// marks are the lengths to go back to when the last line has no newline yet:
// what it says counts, as it does for Pi, but it is read again next time.
type marks struct {
	entries, mentioned int
}

// refreshIn takes in what was appended to the file since the last look. A file
// that was replaced, cut or written again is read anew. After an error the
// session is as far as it was read, or empty.
func (s *Session) refreshIn(ctx context.Context) error {
	f, info, err := openRegular(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.refresh(ctx, f, info)
}

func (s *Session) refresh(ctx context.Context, f *os.File, info os.FileInfo) error {
	same := s.found && os.SameFile(s.resume.info, info)
	if same && info.Size() == s.resume.read && info.ModTime().Equal(s.resume.info.ModTime()) {
		return nil
	}
	// Appending makes a file longer. A new time without that is a rewrite.
	if !same || info.Size() <= s.resume.read || !s.continues(f) {
		s.clear()
		if _, err := findHeader(ctx, f); err != nil {
			return fmt.Errorf("session %s: %w", s.path, err)
		}
	}
	for range 3 { // a session that grows meanwhile is caught up with later
		if err := s.read(ctx, f, info.Size()); err != nil {
			return fmt.Errorf("session %s: %w", s.path, err)
		}
		var err error
		if info, err = f.Stat(); err != nil {
			return fmt.Errorf("session: %w", err)
		}
		if s.resume.info = info; info.Size() <= s.resume.read {
			break
		}
	}
	return nil
}

// continues reports whether the bytes around what was parsed are unchanged.
func (s *Session) continues(f io.ReaderAt) bool {
	head, tail, err := s.windows(f)
	return err == nil && bytes.Equal(head, s.resume.head) && bytes.Equal(tail, s.resume.tail)
}

func (s *Session) windows(f io.ReaderAt) (head, tail []byte, err error) {
	head = make([]byte, min(windowBytes, s.resume.offset))
	tail = make([]byte, len(head))
	if _, err = f.ReadAt(head, 0); err != nil {
		return nil, nil, err
	}
	_, err = f.ReadAt(tail, s.resume.offset-int64(len(tail)))
	return head, tail, err
}

// read parses from the end of the last whole line to the end of the file,
// which had size bytes a moment ago.
func (s *Session) read(ctx context.Context, f io.ReaderAt, size int64) error {
	s.dropPending()
	start := s.resume.offset
	buffer := int(min(scanBufferBytes, max(headerBufferBytes, size-start)))
	rest := &bounded{ctx, io.NewSectionReader(f, start, math.MaxInt64-start), sessionBytesMax - start + 1}
	p := newParser(rest, start, buffer)
	p.words = s.words
	for p.next() {
		if !p.line.whole {
			s.pending = s.marks()
		}
		if err := s.take(ctx, f, p); err != nil {
			s.clear()
			return err
		}
		if p.line.whole {
			s.resume.offset = p.line.end
		}
	}
	s.resume.read = p.offset()
	s.parsed += s.resume.read - start
	if err := p.failed(); err != nil {
		return err
	}
	if !s.found {
		return ErrNotSession
	}
	var err error
	s.resume.head, s.resume.tail, err = s.windows(f)
	return err
}

func (s *Session) take(ctx context.Context, f io.ReaderAt, p *parser) error {
	l := &p.line
	switch {
	case l.blank:
		return nil
	case l.bad != "":
		return s.salvage(ctx, f, l.start, l.end)
	case !s.found:
		return s.takeHeader(l)
	case l.entry.Type == "session":
		return nil // a second header
	}
	p.last = l.entry.ID
	return s.takeEntry(ctx, f, l)
}

func (s *Session) takeHeader(l *line) error {
	switch {
	case l.entry.Type != "session" || l.entry.ID == "":
		return ErrNotSession
	case l.version != sessionVersion:
		return fmt.Errorf("version %v: %w", l.version, ErrVersion)
	}
	s.header = Header{l.entry.ID, l.entry.Time, l.cwd, l.parentSession}
	s.found = true
	return nil
}

func (s *Session) takeEntry(ctx context.Context, f io.ReaderAt, l *line) error {
	e := l.entry
	e.Offset = l.start
	switch {
	case e.Type == "label" && l.target != "":
		e.label = &labelling{l.target, strings.TrimSpace(l.label)}
	case e.Type == "custom" && Kind(e.CustomType).valid():
		record, err := readRecord(f, l)
		if err != nil {
			if err := s.salvage(ctx, f, l.data[0], l.data[1]); err != nil {
				return err
			}
			break
		}
		e.record = &record
	}
	if e.ID == "" && e.record == nil && e.label == nil {
		return nil
	}
	s.entries = append(s.entries, e)
	s.index(len(s.entries) - 1)
	return nil
}

// readRecord reads the data of a record again, which the parser only passed.
func readRecord(f io.ReaderAt, l *line) (Record, error) {
	kind, size := Kind(l.entry.CustomType), l.data[1]-l.data[0]
	if size > recordBytesMax {
		return Record{}, fmt.Errorf("%s: %d bytes: %w", kind, size, ErrRecord)
	}
	data := make([]byte, size)
	if _, err := f.ReadAt(data, l.data[0]); err != nil {
		return Record{}, fmt.Errorf("%s: %w", kind, err)
	}
	return decodeRecord(kind, data)
}

// index enters one entry into the maps. Entries are indexed in the order of
// the file, so that the last wins.
func (s *Session) index(i int) {
	if s.byID == nil {
		s.byID = make(map[string]int)
		s.bound = make(map[string]oid.ID)
		s.labels = make(map[string]string)
	}
	e := &s.entries[i]
	if e.ID != "" {
		s.byID[e.ID] = i
	}
	if e.record != nil {
		for _, b := range e.record.Bindings {
			s.bound[b.Entry] = b.Snapshot
		}
	}
	if e.label != nil && e.label.label != "" {
		s.labels[e.label.target] = e.label.label
	} else if e.label != nil {
		delete(s.labels, e.label.target)
	}
}

func (s *Session) marks() *marks {
	return &marks{len(s.entries), len(s.mentioned)}
}

// dropPending forgets what the line without a newline said.
func (s *Session) dropPending() {
	m := s.pending
	if m == nil {
		return
	}
	s.pending = nil
	if s.resume.offset == 0 { // it was the header
		s.clear()
		return
	}
	indexed := len(s.entries) > m.entries
	s.entries, s.mentioned = s.entries[:m.entries], s.mentioned[:m.mentioned]
	if !indexed {
		return
	}
	s.byID = nil
	for i := range s.entries {
		s.index(i)
	}
}
