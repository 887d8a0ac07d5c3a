package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/capture"
	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A restore overwrites and deletes files that the snapshot before it has. That
// snapshot did not store again what the store or git had already, and did not
// read it either: it may be damaged. So a restore reads back all that it will
// replace before it touches the first file. If an object is damaged, the file is
// still on disk, and is stored anew.

// A secured says what was done for that.
type secured struct {
	refuse  map[string]error // paths that must stay: what is there could not be kept
	renewed []Note
}

const renewedWhy = "what was recorded of it was damaged, and was recorded anew before it was replaced"

// secure makes sure that what the steps overwrite or delete can be brought back.
func (e *Engine) secure(ctx context.Context, steps []apply.Step) (*secured, error) {
	var ids []oid.ID
	at := map[oid.ID][]*apply.Step{}
	for i := range steps {
		s := &steps[i]
		if s.Have.ID.IsZero() || s.Have.ID == s.Want.ID {
			continue
		}
		if at[s.Have.ID] == nil {
			ids = append(ids, s.Have.ID)
		}
		at[s.Have.ID] = append(at[s.Have.ID], s)
	}
	damaged := e.objects.ReadAllBack(ctx, ids)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out := &secured{refuse: map[string]error{}}
	for i, id := range ids {
		if damaged[i] == nil {
			continue
		}
		err := e.renew(ctx, id, at[id])
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for _, s := range at[id] {
			if err == nil {
				out.renewed = append(out.renewed, Note{Path: Path(s.Path), Reason: renewedWhy})
				continue
			}
			out.refuse[s.Path] = fmt.Errorf("it stays: what was recorded of it could not be recorded anew (%w): %w", err, damaged[i])
		}
	}
	return out, nil
}

// secureTrees is secure for the directories that a capture has encoded, which
// are in memory still. What else a restore goes through was read to plan it.
func (e *Engine) secureTrees(ctx context.Context, m *capture.Memory) error {
	payloads := m.Trees()
	delete(payloads, e.objects.EmptyTree())
	ids := slices.Collect(maps.Keys(payloads))
	for i, damage := range e.objects.ReadAllBack(ctx, ids) {
		if damage == nil {
			continue
		}
		payload := payloads[ids[i]]
		_, err := e.opened().Renew(ctx, oid.Tree, bytes.NewReader(payload), int64(len(payload)))
		if err != nil {
			return objects.StoreError(err)
		}
	}
	return ctx.Err()
}

// renew stores a content anew from a path that still has it.
func (e *Engine) renew(ctx context.Context, id oid.ID, from []*apply.Step) (err error) {
	for _, s := range from {
		if err = e.renewFrom(ctx, id, s); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func (e *Engine) renewFrom(ctx context.Context, id oid.ID, s *apply.Step) error {
	r, size, err := e.onDisk(s)
	if err != nil {
		return err
	}
	defer r.Close()
	got, err := e.opened().Renew(ctx, oid.Blob, r, size)
	if err != nil {
		return objects.StoreError(err)
	}
	if got != id {
		return apply.ErrChanged
	}
	return e.objects.ReadBack(ctx, id)
}

// onDisk opens the file, or the target of the link, that a step has seen.
func (e *Engine) onDisk(s *apply.Step) (io.ReadCloser, int64, error) {
	at, err := dirfd.OpenBelow(e.root, dirfd.Parent(s.Path))
	if err != nil {
		return nil, 0, err
	}
	defer at.Close()
	name := path.Base(s.Path)
	if s.Have.Mode.Type() == tree.Symlink {
		target, err := at.Readlink(name)
		return io.NopCloser(strings.NewReader(target)), int64(len(target)), err
	}
	f, err := at.OpenFile(name)
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err == nil && st.Mode.Type() != tree.File {
		err = apply.ErrChanged
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, st.Size, nil
}
