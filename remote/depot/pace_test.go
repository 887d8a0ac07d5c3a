package depot

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/s3test"
)

func TestAPaceIsNotExceeded(t *testing.T) {
	server := s3test.Start(t, "gofakes3")
	d, err := Open(filepath.Join(t.TempDir(), "d"))
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]Place{"directory": d, "bucket": at(t, server)} {
		const rate = 400_000
		p, ctx, data := Paced(p, rate), context.Background(), bytes.Repeat([]byte("x"), 100_000)
		start := time.Now()
		if err := inParallel(4, func(i int) error { return p.Put(ctx, "data/"+string(rune('a'+i)), data) }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 800*time.Millisecond { // the first piece passes at once
			t.Errorf("%s: 400 kB at 400 kB a second took %v", name, took)
		}
		got, err := p.Get(ctx, "data/c", 0, 0)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %v", name, err)
		}
		ctx, stop := context.WithTimeout(ctx, 50*time.Millisecond)
		defer stop()
		if err := p.Put(ctx, "data/never", bytes.Repeat(data, 10)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: a put that has no time left: %v", name, err)
		}
	}
}

func TestWhatPassesByItselfIsToldFromWhatNeedsSomebody(t *testing.T) {
	hurry(t)
	s3test.Alone(t)
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.Key)
	_, half := at(t, "http://127.0.0.1:1").Get(context.Background(), "config", 0, 0)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.Secret)
	_, away := at(t, "http://127.0.0.1:1").Get(context.Background(), "config", 0, 0)
	if Passes(half) || !Passes(away) || Passes(nil) || Passes(&failure{err: &refusal{status: 403}}) || !Passes(&failure{err: &refusal{status: 503}}) {
		t.Errorf("%v, %v", half, away)
	}
}
