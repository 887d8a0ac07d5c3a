package restic

import (
	"context"
	"errors"
	"time"

	"github.com/seed-82afce7a/rewind/remote/depot"
)

// A Snapshot is one of a repository. Only ID is not in its file.
type Snapshot struct {
	Time     time.Time `json:"time"`
	Parent   *ID       `json:"parent,omitempty"`
	Tree     ID        `json:"tree"`
	Paths    texts     `json:"paths"`
	Hostname string    `json:"hostname,omitempty"`
	Username string    `json:"username,omitempty"`
	UID      uint32    `json:"uid,omitempty"`
	GID      uint32    `json:"gid,omitempty"`
	Tags     texts     `json:"tags,omitempty"`
	Original *ID       `json:"original,omitempty"`

	ID ID `json:"-"`
}

// PutSnapshot writes a snapshot, by who writes unless it says by whom. All that it names has to be there.
func (r *Repo) PutSnapshot(ctx context.Context, s *Snapshot) (err error) {
	if s.Hostname == "" {
		s.Username, s.Hostname, s.UID, s.GID = whoami()
	}
	s.ID, err = r.putJSON(ctx, "snapshots", s)
	return err
}

// SnapshotFiles lists the files of snapshots that are there.
func (r *Repo) SnapshotFiles(ctx context.Context) ([]ID, error) { return r.names(ctx, "snapshots") }

// names lists the files of a folder that are named by a hash; others are somebody else's.
func (r *Repo) names(ctx context.Context, folder string) (names []ID, err error) {
	list, err := r.place.List(ctx, folder)
	for _, f := range list {
		var id ID
		if id.UnmarshalText([]byte(f.Name)) == nil {
			names = append(names, id)
		}
	}
	return names, err
}

// Snapshots reads all snapshots. One that cannot be read is told, and left out.
func (r *Repo) Snapshots(ctx context.Context, bad func(error)) ([]*Snapshot, error) {
	names, err := r.SnapshotFiles(ctx)
	if err != nil {
		return nil, err
	}
	return r.ReadSnapshots(ctx, names, bad)
}

// ReadSnapshots reads some snapshots. One that cannot be read is told, and left out; so is one that is gone, untold.
func (r *Repo) ReadSnapshots(ctx context.Context, names []ID, bad func(error)) ([]*Snapshot, error) {
	out := make([]*Snapshot, len(names))
	err := Parallel(ctx, requests, len(names), func(ctx context.Context, i int) error {
		s := &Snapshot{ID: names[i]}
		err := r.getJSON(ctx, "snapshots", names[i].String(), s)
		switch {
		case errors.Is(err, depot.ErrNotThere):
		case errors.Is(err, ErrTampered):
			r.mu.Lock()
			defer r.mu.Unlock()
			bad(err)
		case err != nil:
			return err
		default:
			out[i] = s
		}
		return nil
	})
	kept := out[:0]
	for _, s := range out {
		if s != nil {
			kept = append(kept, s)
		}
	}
	return kept, err
}

// Forget removes snapshots; what only they need stays until a prune.
func (r *Repo) Forget(ctx context.Context, names []ID) error {
	return Parallel(ctx, requests, len(names), func(ctx context.Context, i int) error {
		return r.place.Delete(ctx, "snapshots/"+names[i].String())
	})
}
