package cas

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// TestWhatIsCommittedBesideAFlippedKeyIsFoundOrRefused flips a high bit in the keys of
// rows, so that they are out of their order. What is written after that may come to lie
// where nobody finds it.
func TestWhatIsCommittedBesideAFlippedKeyIsFoundOrRefused(t *testing.T) {
	sm := newSample(t)
	refused, written := 0, 0
	for id := range sm.objects {
		file := bytes.Clone(sm.file)
		for at := 0; ; at += oid.SHA1.Size() { // also in the pages of branches
			next := bytes.Index(file[at:], id.Bytes())
			if next < 0 {
				break
			}
			at += next
			file[at] ^= 0x80
		}
		path := filepath.Join(t.TempDir(), "store.db")
		must(t, os.WriteFile(path, file, 0o600))
		s, err := Open(t.Context(), path, nil)
		must(t, err)
		for i := range 8 {
			if err := writeAndRead(t, s, fmt.Appendf(nil, "fresh %d", i)); errors.Is(err, ErrCorrupt) {
				refused++
			} else if err != nil {
				t.Errorf("after a flip in key %v: %v", id, err)
			} else {
				written++
			}
		}
		if refused > 5 && written > 100 {
			return
		}
	}
	t.Errorf("%d refused, %d written: the test is not whole", refused, written)
}

// writeAndRead fails with ErrCorrupt if the store refuses what it is given.
func writeAndRead(t *testing.T, s *Store, payload []byte) error {
	g := s.Stage()
	id, err := g.Put(t.Context(), oid.Blob, payload, oid.ID{})
	if err == nil {
		err = g.Commit(t.Context(), nil)
	}
	if err != nil {
		return err
	}
	return s.View(t.Context(), func(v *View) error {
		if _, got, err := v.Object(id); err != nil || !bytes.Equal(got, payload) {
			return fmt.Errorf("what was committed gives %q, %v", got, errors.Unwrap(err))
		}
		return nil
	})
}
