package objects

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Keeper makes sure that what a restore of one worktree replaces can be brought back.
//
// A restore overwrites and deletes files that the snapshot before it has. That
// snapshot did not store again what the store or git had already, and did not
// read it either: it may be damaged. So a restore reads back all that it will
// replace before it touches the first file. If an object is damaged, the file is
// still on disk, and is stored anew. If that cannot be done the file stays.
type Keeper struct {
	Root    string // of the worktree
	Objects *Objects
}

// A Secured says what came of it.
type Secured struct {
	Refuse  map[string]error // paths that must stay: what is there could not be kept
	Renewed []records.Note   // of which the record was damaged, and was made anew
}

const renewedWhy = "what was recorded of it was damaged, and was recorded anew before it was replaced"

// Steps makes sure that what the steps overwrite or delete can be brought back.
func (k *Keeper) Steps(ctx context.Context, steps []apply.Step) (*Secured, error) {
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
	damaged := k.Objects.readAllBack(ctx, ids)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out := &Secured{Refuse: map[string]error{}}
	for i, id := range ids {
		if damaged[i] == nil {
			continue
		}
		err := k.renew(ctx, id, at[id])
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for _, s := range at[id] {
			if err == nil {
				out.Renewed = append(out.Renewed, records.Note{Path: records.Path(s.Path), Reason: renewedWhy})
				continue
			}
			out.Refuse[s.Path] = fmt.Errorf("it stays: what was recorded of it could not be recorded anew (%w): %w", err, damaged[i])
		}
	}
	return out, nil
}

// Trees is [Keeper.Steps] for the directories that a capture has encoded, which
// are in memory still. What else a restore goes through was read to plan it.
func (k *Keeper) Trees(ctx context.Context, payloads map[oid.ID][]byte) error {
	delete(payloads, k.Objects.emptyTree())
	ids := slices.Collect(maps.Keys(payloads))
	for i, damage := range k.Objects.readAllBack(ctx, ids) {
		if damage == nil {
			continue
		}
		payload := payloads[ids[i]]
		if _, err := k.anew(ctx, oid.Tree, bytes.NewReader(payload), int64(len(payload))); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// renew stores a content anew from a path that still has it.
func (k *Keeper) renew(ctx context.Context, id oid.ID, from []*apply.Step) (err error) {
	for _, s := range from {
		if err = k.renewFrom(ctx, id, s); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func (k *Keeper) renewFrom(ctx context.Context, id oid.ID, s *apply.Step) error {
	r, size, err := k.onDisk(s)
	if err != nil {
		return err
	}
	defer r.Close()
	got, err := k.anew(ctx, oid.Blob, r, size)
	if err != nil {
		return err
	}
	if got != id {
		return apply.ErrChanged
	}
	return k.Objects.readBack(ctx, id)
}

// anew stores an object of which the store may have a damaged copy.
func (k *Keeper) anew(ctx context.Context, kind oid.Kind, r io.Reader, size int64) (oid.ID, error) {
	s, err := k.Objects.Store(ctx)
	if err == nil && s == nil {
		err = os.ErrNotExist
	}
	if err != nil {
		return oid.ID{}, err
	}
	id, err := s.Repair(ctx, kind, r, size)
	return id, StoreError(err)
}

// onDisk opens the file, or the target of the link, that a step has seen.
func (k *Keeper) onDisk(s *apply.Step) (io.ReadCloser, int64, error) {
	at, err := dirfd.OpenBelow(k.Root, tree.Parent(s.Path))
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
