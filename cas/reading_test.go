package cas

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A slowReader is who takes a content and does something else at its first
// piece.
type slowReader struct {
	bytes.Buffer
	meanwhile func()
}

func (w *slowReader) Write(p []byte) (int, error) {
	if f := w.meanwhile; f != nil {
		w.meanwhile = nil
		f()
	}
	return w.Buffer.Write(p)
}

func TestNobodyWaitsForWhoTakesAContentSlowly(t *testing.T) {
	s, r := newStore(t), seeded(t)
	big := noise(r, 3*pieceBytes)
	id := put(t, s, big)[0]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w := &slowReader{meanwhile: func() {
		if err := s.Update(ctx, func(u *Update) error { return u.Table("t").Put([]byte("k"), []byte("v")) }); err != nil {
			t.Errorf("writing while a reader stands: %v", err)
		}
	}}
	if _, n, err := s.WriteTo(ctx, w, id); err != nil || n != int64(len(big)) || !bytes.Equal(w.Bytes(), big) {
		t.Errorf("WriteTo gives %d bytes of %d, %v", n, len(big), err)
	}
}

func TestAContentThatIsRemovedWhileItIsReadIsNotDamage(t *testing.T) {
	s, r := newStore(t), seeded(t)
	big := noise(r, 3*pieceBytes)
	id := put(t, s, big)[0]
	later(s, 48*time.Hour)
	w := &slowReader{meanwhile: func() {
		if report, err := s.Sweep(t.Context(), SweepOptions{Live: keep()}); err != nil || report.Objects != 1 {
			t.Errorf("sweep: %+v, %v", report, err)
		}
	}}
	_, n, err := s.WriteTo(t.Context(), w, id)
	if !errors.Is(err, ErrNotFound) || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "removed while") {
		t.Errorf("the error is %v", err)
	}
	if n == 0 || !bytes.HasPrefix(big, w.Bytes()) {
		t.Errorf("%d bytes came, which are not the beginning of the content", n)
	}
}

func TestWhatCannotBeWrittenEndsTheReading(t *testing.T) {
	s := newStore(t)
	id := put(t, s, []byte("x"))[0]
	full := errors.New("full")
	if _, _, err := s.WriteTo(t.Context(), failingWriter{full}, id); !errors.Is(err, full) || errors.Is(err, ErrCorrupt) {
		t.Errorf("the error is %v", err)
	}
	if _, _, err := s.WriteTo(t.Context(), &bytes.Buffer{}, oid.SHA1.Sum(oid.Blob, []byte("none"))); !errors.Is(err, ErrNotFound) {
		t.Errorf("the error is %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
