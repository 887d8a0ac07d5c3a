package attr_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/attr"
	"github.com/seed-82afce7a/rewind/internal/gittest"
)

func clean(t *testing.T, r *attr.Runner, filter, path string) (string, error) {
	t.Helper()
	cfg := &attr.Config{Filters: filters()}
	v := cfg.Conversion(attr.Attrs{Filter: attr.Value{State: attr.Valued, Text: filter}})
	in := attr.Input{Path: path, Raw: []byte("abc")}
	if r != nil {
		in.Run = r.Run
	}
	out, err := v.Clean(context.Background(), in)
	return string(out), err
}

// TestAFilterThatBreaksOffIsStartedAnew: one file is lost to it, no more. git
// add dies on such a filter; its documentation says what is held here.
func TestAFilterThatBreaksOffIsStartedAnew(t *testing.T) {
	gittest.Programs(t)
	r := &attr.Runner{Dir: t.TempDir()}
	defer r.Close()
	for _, path := range []string{"x", "x-die", "x", "x-garbage", "x", "x-error", "x"} {
		out, err := clean(t, r, "process", path)
		if path == "x" && (err != nil || out != "ABC") {
			t.Errorf("%s: %q, %v", path, out, err)
		}
		if path != "x" && !errors.Is(err, attr.ErrFilter) {
			t.Errorf("%s: %q, %v", path, out, err)
		}
	}
	for _, path := range []string{"x-die", "x-garbage", "x-error"} {
		if out, err := clean(t, r, "loose", path); err != nil || out != "abc" {
			t.Errorf("%s is not required, but: %q, %v", path, out, err)
		}
	}
	if out, err := clean(t, r, "silent", "x"); err != nil || out != "abc" {
		t.Errorf("a process that says nothing: %q, %v", out, err)
	}
}

func TestAFilterThatAbortsIsAnotherForTheNextFile(t *testing.T) {
	gittest.Programs(t)
	r := &attr.Runner{Dir: t.TempDir()}
	defer r.Close()
	for range 2 {
		if out, err := clean(t, r, "process", "x-abort"); !errors.Is(err, attr.ErrFilter) {
			t.Errorf("it aborts, but: %q, %v", out, err)
		}
		if out, err := clean(t, r, "process", "x"); err != nil {
			t.Errorf("the next file: %q, %v", out, err)
		}
	}
}

func TestNoFilterRunsUnasked(t *testing.T) {
	for _, filter := range []string{"upper", "process", "fails", "broken"} {
		if out, err := clean(t, nil, filter, "x"); !errors.Is(err, attr.ErrNotRun) {
			t.Errorf("%s: %q, %v", filter, out, err)
		}
	}
	for _, filter := range []string{"empty", "unknown"} {
		if out, err := clean(t, nil, filter, "x"); err != nil || out != "abc" {
			t.Errorf("%s: %q, %v", filter, out, err)
		}
	}
}

// TestAFilterThatHangsEndsWithTheContext: and that is not taken for a failure
// that leaves the file as it is.
func TestAFilterThatHangsEndsWithTheContext(t *testing.T) {
	for _, f := range []attr.Filter{{Clean: "exec sleep 100"}, {Process: "exec sleep 100"}} {
		r := &attr.Runner{Dir: t.TempDir()}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		cfg := &attr.Config{Filters: map[string]attr.Filter{"slow": f}}
		v := cfg.Conversion(attr.Attrs{Filter: attr.Value{State: attr.Valued, Text: "slow"}})
		out, err := v.Clean(ctx, attr.Input{Path: "x", Raw: []byte("abc"), Run: r.Run})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v: %q, %v", f, out, err)
		}
		cancel()
		r.Close()
	}
}

// TestTheIndexIsAskedOnlyIfItMatters: reading a blob costs more than all else.
func TestTheIndexIsAskedOnlyIfItMatters(t *testing.T) {
	cfg := &attr.Config{AutoCRLF: attr.AutoTrue}
	asked := 0
	for raw, want := range map[string]int{"a\n": 0, "a\r\n": 1, "a\r\nb\r": 0, "a\r\n\x00": 0, "": 0} {
		asked = 0
		in := attr.Input{Raw: []byte(raw), IndexHasCR: func() (bool, error) { asked++; return true, nil }}
		if _, err := cfg.Conversion(attr.Attrs{}).Clean(context.Background(), in); err != nil || asked != want {
			t.Errorf("%q: asked %d times, %v", raw, asked, err)
		}
	}
}

func TestConvertsIsFalseForTheUsualRules(t *testing.T) {
	c := attr.NewChain(nil).With(attr.Parse([]byte("*.c diff=cpp\n*.png binary\n/doc/** linguist-documentation\n*.x -text !eol\n"), &attr.Options{Macros: true}))
	if c.Converts() || c.Enter("doc").Converts() {
		t.Error("no rule makes a conversion")
	}
	if d := c.With(attr.Parse([]byte("*.txt text\n"), nil)); !d.Converts() || !d.Enter("a").Converts() {
		t.Error("a rule that makes a conversion is not seen")
	}
	if c = c.Enter("src"); c.Enter("x") != c {
		t.Error("no rule depends on the path, yet the chain is a new one")
	}
	if attr.NewChain(nil).Digest() != 0 {
		t.Error("no rules, but a digest")
	}
}
