package watch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestAQueueThatRunsOverEndsTheWatching(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w, err := begin(root, 64)
	if errors.Is(err, ErrUnable) {
		t.Skipf("SKIPPED: %v", err)
	}
	must(t, err)
	defer w.Close()
	for i := range 50 {
		write(t, filepath.Join(root, strings.Repeat("long", 20)+fmt.Sprint(i)), "1")
	}
	if got, err := w.Take(context.Background()); !errors.Is(err, ErrDoubt) || !strings.Contains(err.Error(), "too much") {
		t.Errorf("%+v, %v", got, err)
	}
}

// Wine makes other short names than Windows does, or none.
func TestAPathByItsShortNamesIsFoundByTheLongOnes(t *testing.T) {
	root, w := watching(t, "a long name of a directory")
	write(t, filepath.Join(root, "a long name of a directory", "a long name.text"), "1")
	if got := w.long("a long name of a directory/a long name.text"); got != "a long name.text" {
		t.Errorf("of a long name: %q", got)
	}
	if got := w.long("a long name of a directory/none"); got != "" {
		t.Errorf("of nothing: %q", got)
	}
	short := shortName(t, filepath.Join(root, "a long name of a directory"))
	if strings.EqualFold(short, "a long name of a directory") {
		t.Skip("SKIPPED: this volume makes no short names")
	}
	if got := w.long(short); got != "a long name of a directory" {
		t.Errorf("of %q: %q", short, got)
	}
	take(t, w)
	write(t, filepath.Join(root, short, "f"), "1")
	if got := take(t, w); !got.Has("a long name of a directory", "f") {
		t.Errorf("what is written by way of %q: only %+v is told", short, got)
	}
}
