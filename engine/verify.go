package engine

import (
	"context"
	"fmt"
	"io"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
)

// A Damage is an object that cannot be read back, and what needs it.
type Damage struct {
	ID       ID     `json:"id"`
	Reason   string `json:"reason"`
	Snapshot ID     `json:"snapshot,omitzero"` // the newest snapshot that needs it
	Path     Path   `json:"path,omitempty"`    // where it lies there
}

// A Verified says what a verification read and what it found wrong.
type Verified struct {
	Snapshots int      `json:"snapshots"`
	Objects   int      `json:"objects"` // read back and compared with their ids
	Bytes     int64    `json:"bytes"`
	Promised  int      `json:"promised,omitempty"` // a remote has promised them, and nobody has fetched them yet
	Damaged   []Damage `json:"damaged"`
	Unread    []Damage `json:"unread,omitempty"` // too large to be read: nothing is known of them
}

// Verify reads back every object that any snapshot needs, from the store or
// from git, and compares it with its id. It changes nothing. What a sparse
// checkout of a partial clone did not have on disk, a remote has promised, and
// nobody has fetched yet is counted and not missed.
func (e *Engine) Verify(ctx context.Context) (*Verified, error) {
	out := &Verified{Damaged: []Damage{}}
	all, err := records.Read(ctx, e.view, (*records.View).Snapshots)
	if err != nil {
		return nil, err
	}
	r := e.reach(e.objects.Trees(ctx, objects.Reading{}))
	for _, s := range all {
		out.Snapshots++
		for o, err := range r.Snapshot(s) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err == nil {
				err = e.verifyObject(ctx, o, out)
			}
			if err != nil && !e.objects.Has(ctx, o.ID) && r.Left(o.ID) {
				out.Promised++
				continue
			}
			if err != nil {
				list := &out.Damaged
				if objects.TooLarge(err) {
					list = &out.Unread
				}
				*list = append(*list, Damage{ID: o.ID, Reason: err.Error(), Snapshot: s.ID, Path: Path(o.Path)})
			}
			if e.opt.Progress != nil && out.Objects%256 == 0 {
				e.opt.Progress(Progress{Step: "verify", Done: out.Objects, Bytes: out.Bytes})
			}
		}
	}
	return out, nil
}

// verifyObject reads one object and compares it with its id.
func (e *Engine) verifyObject(ctx context.Context, o retention.Object, out *Verified) error {
	kind, size, err := e.objects.Stat(ctx, o.ID)
	if err != nil {
		return err
	}
	if kind != o.Kind {
		return fmt.Errorf("%w: it is a %v, not a %v", ErrDamaged, kind, o.Kind)
	}
	if _, err := e.objects.Write(ctx, io.Discard, o.ID); err != nil { // it is compared as it is read
		return err
	}
	out.Objects++
	out.Bytes += size
	return nil
}
