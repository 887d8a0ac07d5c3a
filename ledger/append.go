package ledger

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// entryLine is a custom entry with its members in the order Pi writes them.
type entryLine struct {
	Type       string          `json:"type"`
	CustomType Kind            `json:"customType"`
	Data       json.RawMessage `json:"data"`
	ID         string          `json:"id"`
	ParentID   *string         `json:"parentId"`
	Timestamp  string          `json:"timestamp"`
}

// Append writes the record as a new last entry and takes it in. The session
// must not be open in Pi: a running Pi does not see the line, and what it
// writes next does not descend from it. Two callers must not append at once;
// their lines would be whole, but on different branches.
//
// A last line without newline is completed first. The line is written at once
// and is durable when Append returns; after an error it may be in the file.
func (s *Session) Append(record Record) (Entry, error) {
	data, err := record.Encode()
	if err != nil {
		return Entry{}, err
	}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return Entry{}, fmt.Errorf("session: %w", err)
	}
	entry, err := s.append(f, record.Kind, data)
	if err = errors.Join(err, f.Close()); err != nil {
		return Entry{}, fmt.Errorf("session %s: append: %w", s.path, err)
	}
	return entry, nil
}

func (s *Session) append(f *os.File, kind Kind, data []byte) (Entry, error) {
	if err := s.refreshFrom(f); err != nil {
		return Entry{}, err
	}
	id := s.freshID()
	e := entryLine{Type: "custom", CustomType: kind, Data: data, ID: id}
	e.Timestamp = s.now().UTC().Format("2006-01-02T15:04:05.000Z")
	if leaf, ok := s.Leaf(); ok {
		e.ParentID = &leaf.ID
	}
	p, err := json.Marshal(e)
	if err != nil {
		return Entry{}, err
	}
	if s.resume.read > s.resume.offset {
		p = append([]byte{'\n'}, p...)
	}
	if _, err := f.Write(append(p, '\n')); err != nil {
		return Entry{}, err
	}
	if err := f.Sync(); err != nil {
		return Entry{}, err
	}
	if err := s.refreshFrom(f); err != nil {
		return Entry{}, err
	}
	entry, _ := s.Entry(id)
	return entry, nil
}

func (s *Session) refreshFrom(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return s.refresh(context.Background(), f, info)
}

// freshID makes an entry id in Pi's form, one the session does not have.
func (s *Session) freshID() string {
	for {
		var p [4]byte
		rand.Read(p[:]) // never fails, says its documentation
		id := hex.EncodeToString(p[:])
		if _, taken := s.byID[id]; !taken {
			return id
		}
	}
}
