//go:build linux && (amd64 || arm64)

package fuzz

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// TestAKillWhileAHistoryFollowsItsDirectoryLosesNothing kills the first command in a
// directory with history that was renamed, or made a repository. The next one has all of
// the history, once, and every byte of it.
func TestAKillWhileAHistoryFollowsItsDirectoryLosesNothing(t *testing.T) {
	if birth, err := dirfd.Birth(t.TempDir()); err != nil || !strings.HasPrefix(birth, "born ") {
		t.Skipf("SKIPPED: the file system of the tests does not tell when a directory was made: %q, %v", birth, err)
	}
	needGit(t)
	for _, renamed := range []bool{true, false} {
		killed(t, "follow", func(int) (*world, []string, func(said)) {
			w, texts := bare(t, 0), map[oid.ID]string{}
			for i := range 4 {
				text := strings.Repeat(fmt.Sprint("version ", i, "\n"), 1<<(6*i%17))
				w.write("f", text)
				w.write("only"+strconv.Itoa(i), text+"x")
				r, err := w.long.Snapshot(t.Context(), nil)
				w.must(err)
				texts[r.ID] = text
			}
			w.must(w.long.Close())
			if renamed {
				w.must(os.Rename(w.root, w.root+"2"))
				w.root += "2"
			} else {
				w.git("init", "-q", "-b", "main")
			}
			return w, nil, func(said) {
				w.allFollowed(texts)
				w.reopen()
				w.allFollowed(texts) // not taken over twice
				if r, err := w.long.Snapshot(t.Context(), nil); err != nil || r.Bridge != nil {
					w.fail("%v, %v", err, r)
				}
			}
		})
	}
}

func (w *world) allFollowed(texts map[oid.ID]string) {
	w.t.Helper()
	ctx := w.t.Context()
	list, err := w.long.List(ctx, nil)
	w.must(err)
	if len(list) != len(texts) {
		w.fail("%d snapshots of %d; %q", len(list), len(texts), w.long.Warnings())
	}
	for id, text := range texts {
		s, err := w.long.Find(ctx, id.String())
		w.must(err)
		var got bytes.Buffer
		w.must(w.long.Cat(ctx, s, "f", &got))
		if got.String() != text {
			w.fail("%v has %d bytes of %d", id, got.Len(), len(text))
		}
	}
	w.undamaged()
}

// follow is the first command in such a directory.
func follow(ctx context.Context, _ []string) {
	e, err := engine.Open(ctx, ".", nil)
	childExit(err)
	if w := e.Warnings(); len(w) != 1 {
		childExit(fmt.Errorf("warnings %q", w))
	}
	childExit(e.Close())
}
