package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/trust"
)

func TestACorpusOfSomebodyElseIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can make another user's repository")
	}
	corpus := t.TempDir()
	if err := os.Mkdir(filepath.Join(corpus, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(corpus, ".git"), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	_, err := Run(context.Background(), Options{Binary: os.Args[0], Corpus: corpus, Dir: t.TempDir()})
	if !errors.Is(err, trust.ErrForeign) {
		t.Errorf("%v", err)
	}
}
