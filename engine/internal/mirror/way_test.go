package mirror

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// asking is a memory of one tree that tells when it is asked for that, as it is before
// git is asked for what the tree has.
type asking struct {
	empty
	tree  []byte
	bytes int

	begun, met func()
	times      atomic.Int32
}

func (a *asking) TreeBytes() int {
	a.begun()
	return a.bytes
}

func (a *asking) Met(oid.ID) ([]byte, bool) {
	a.times.Add(1)
	a.met()
	return a.tree, true
}

// What git lacks is a list of all of a first snapshot, and so is the stage until its
// record is written.
func TestGitIsAskedForALargeSnapshotOnlyWhenItIsRecorded(t *testing.T) {
	for name, bytes := range map[string]int{"small": besideBytes, "large": besideBytes + 1} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			m, s := newMirror(t, 3)
			staged, at := m.staged(ctx, t, s)
			defer staged.Stage.Discard()
			content, err := staged.Stage.Put(ctx, oid.Blob, []byte("new"), oid.ID{})
			if err != nil {
				t.Fatal(err)
			}
			root := content.Append([]byte("100644 new\x00"))
			if staged.State.Tree, err = staged.Stage.Put(ctx, oid.Tree, root, oid.ID{}); err != nil {
				t.Fatal(err)
			}
			staged.Trees = func(oid.ID) ([]byte, error) { return root, nil }
			at.Head = gitbridge.Head{} // so all of it comes from the store
			begun, met := make(chan struct{}), make(chan struct{})
			memory := &asking{
				tree: root, bytes: bytes,
				begun: sync.OnceFunc(func() { close(begun) }), met: sync.OnceFunc(func() { close(met) }),
			}
			staged.Memory = memory
			held, err := m.Hold(ctx, staged, at)
			if err != nil {
				t.Fatal(err)
			}
			commit := gitbridge.EncodeSnapshot(gitbridge.Commit{Tree: staged.State.Tree, Time: time.Unix(1e9, 0), Identity: "A <a@localhost>"}, m.Objects.Algorithm)
			id, err := staged.Stage.Put(ctx, oid.Commit, commit, oid.ID{})
			if err != nil {
				t.Fatal(err)
			}
			way, err := held.Begin(ctx, id, commit)
			if err != nil || way.GitFirst() {
				t.Fatalf("%v: git comes first", err)
			}
			if <-begun; bytes <= besideBytes {
				<-met // beside the store
			}
			if err := staged.Stage.Commit(ctx, nil); err != nil {
				t.Fatal(err)
			}
			if early := memory.times.Load() > 0; early != (bytes <= besideBytes) {
				t.Errorf("git was asked before the record: %v", early)
			}
			if err := way.Recorded(ctx, id); err != nil {
				t.Fatal(err)
			}
			if err := way.run.wait(); err != nil || memory.times.Load() == 0 || !m.git().Keeps(ctx, id) {
				t.Errorf("%v: git does not keep the snapshot", err)
			}
		})
	}
}
