package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestADamagedTableIsNoHindrance(t *testing.T) {
	p := newPlace(t)
	p.Write("a", "1")
	p.Write("d/b", "2")
	want := p.scan().State
	data, err := os.ReadFile(p.table)
	p.must(err)
	for i := 0; i < len(data); i += 97 {
		data[i] ^= 0x55
	}
	p.must(os.WriteFile(p.table, data, 0o600))
	for range 3 {
		if r := p.scan(); r.State != want {
			t.Errorf("state %+v, want %+v", r.State, want)
		}
	}
}

// shortens skips a test where a file cannot be shortened while a scan has it mapped.
func shortens(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: Windows lets nobody shorten a file that is mapped")
	}
}

func TestATableThatIsShortenedDuringAScanEndsIt(t *testing.T) {
	shortens(t)
	p := newPlace(t)
	for i := range 300 {
		p.Write(fmt.Sprintf("d%03d/file", i), "1")
	}
	p.Write("d200/.git/config", "") // so that the scan asks what it is, with its row in hand
	plain := func(_ context.Context, dir string) (*Repo, error) { return nil, nil }
	want := p.settled(func(c *Config) { c.Nested = plain }).State
	cfg := p.config()
	cfg.Nested = func(context.Context, string) (*Repo, error) { return nil, os.Truncate(p.table, 4096) }
	if _, err := Scan(context.Background(), cfg); !errors.Is(err, errTable) {
		t.Errorf("Scan = %v", err)
	}
	cfg.StatTable.Close()
	for range 2 {
		if r := p.scan(func(c *Config) { c.Nested = plain }); r.State != want {
			t.Errorf("state %+v, want %+v", r.State, want)
		}
	}
}

// A shortening shortens a stat table whenever a tree is kept.
type shortening struct {
	*memory
	table string
}

func (s *shortening) Tree(ctx context.Context, p []byte, base oid.ID) (oid.ID, error) {
	if err := os.Truncate(s.table, 4096); err != nil {
		return oid.ID{}, err
	}
	return s.memory.Tree(ctx, p, base)
}

func TestATableThatIsShortenedWhileADirectoryIsFinishedEndsTheScan(t *testing.T) {
	shortens(t)
	p := newPlace(t)
	for i := range 100 {
		p.Write(fmt.Sprintf("d%03d/file", i), "1")
	}
	p.settled()
	p.Write("d050/file", "2") // its row will be as long as the old one, and compared with it
	cfg := p.config()
	cfg.Save = &shortening{p.store, p.table}
	if _, err := Scan(context.Background(), cfg); !errors.Is(err, errTable) {
		t.Errorf("Scan = %v", err)
	}
}
