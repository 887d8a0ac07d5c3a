package record

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/process"
)

func TestACommandRestsOnceUntilItWorksAgain(t *testing.T) {
	r := rest{need: 2 * time.Second}
	begun := time.Now()
	for i, look := range []struct {
		after, took time.Duration
		who         uint64
		rests       bool
	}{
		{0, 0, 1, false},
		{time.Second, 900 * time.Millisecond, 1, false}, // works
		{2 * time.Second, 910 * time.Millisecond, 1, false},
		{2900 * time.Millisecond, 920 * time.Millisecond, 1, false},
		{3 * time.Second, 920 * time.Millisecond, 1, true}, // two seconds after it was last seen working
		{59 * time.Second, 960 * time.Millisecond, 1, false},
		{60 * time.Second, 1000 * time.Millisecond, 1, false},
		{61 * time.Second, 1030 * time.Millisecond, 1, true}, // little by little
		{62 * time.Second, 1040 * time.Millisecond, 1, false},
		{63 * time.Second, 1040 * time.Millisecond, 2, false}, // starts another program
		{64 * time.Second, 1040 * time.Millisecond, 2, false},
		{65 * time.Second, 1040 * time.Millisecond, 2, true},
		{66 * time.Second, 1040 * time.Millisecond, 2, false},
		{67 * time.Second, 100 * time.Millisecond, 1, false}, // which is gone, with its time
		{70 * time.Second, 100 * time.Millisecond, 1, true},
	} {
		if got := r.looked(begun.Add(look.after), process.Work{Took: look.took, Who: look.who}); got != look.rests {
			t.Errorf("look %d: %v, want %v", i, got, look.rests)
		}
	}
}

func TestWhatWasTypedLastIsRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, typedFile)
	begun := time.Now().Add(-time.Minute)
	if got := typed(dir, begun); got != "" {
		t.Errorf("without a file it is %q", got)
	}
	for text, want := range map[string]string{
		"": "", "\n# 2026-11-26 03:00:00.000000\n+first\n": "first",
		"\n# 2026\n+first\n\n# 2026\n+second\n+  line\n": "second line", "# 2026\n": "", "+a\xff\x1b[31mb\n": "a\x1b[31mb",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := typed(dir, begun); got != want {
			t.Errorf("of %q it is %q, want %q", text, got, want)
		}
	}
	if got := typed(dir, time.Now().Add(time.Hour)); got != "" {
		t.Errorf("of an earlier run it is %q", got)
	}
}
