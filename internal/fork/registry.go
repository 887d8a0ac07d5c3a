package fork

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Fork is what is known of a second working directory. It is written down before the
// directory is made.
type Fork struct {
	Dir      string    `json:"-"`
	Birth    string    `json:"birth,omitempty"` // of the directory; "": it was perhaps not made
	Snapshot oid.ID    `json:"snapshot"`        // that was written there
	Git      bool      `json:"git"`             // it is a linked worktree
	Time     time.Time `json:"time"`
	Whole    bool      `json:"whole"`            // all of the snapshot was written
	Made     oid.ID    `json:"made,omitzero"`    // what was there when it was made; zero: what the snapshot has
	Adopted  oid.ID    `json:"adopted,omitzero"` // what was merged into the worktree last; zero: nothing was
}

// A note is a fork as the file has it: with every byte of the directory's name.
type note struct {
	Dir engine.Path `json:"directory"`
	*Fork
}

// registryMax bounds the file of all forks.
const registryMax = 64 << 20

// registryPatience bounds the wait for a process that holds the lock of the registry, which
// may be stopped. A variable for tests.
var registryPatience = time.Minute

// A registry is the file in which the forks of a store are written down, beside the store.
type registry string

// begin writes down a fork whose directory is to be made. The lock is held until
// the directory is there and noted, or given up: two that make the same one would
// overwrite, and then drop, what the other has written.
func (r registry) begin(ctx context.Context, f *Fork) (*durable.Held, error) {
	held, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	if _, err = os.Lstat(f.Dir); err == nil {
		err = fmt.Errorf("%w: %s exists", ErrPlace, f.Dir)
	} else if errors.Is(err, os.ErrNotExist) {
		err = r.free(f.Dir) // another one may have been made there, and moved away
	}
	if err == nil {
		err = r.replace(f.Dir, f)
	}
	if err != nil {
		return nil, errors.Join(err, held.Unlock())
	}
	return held, nil
}

func (r registry) lock(ctx context.Context) (*durable.Held, error) {
	return durable.Lock(ctx, string(r)+".lock", durable.Exclusive)
}

// put writes down what is known of a fork now. It is not interrupted: what it tells of has
// been done.
func (r registry) put(f *Fork) error { return r.set(f.Dir, f) }

// drop forgets a fork.
func (r registry) drop(f *Fork) error { return r.set(f.Dir, nil) }

func (r registry) set(dir string, f *Fork) error {
	ctx, cancel := context.WithTimeout(context.Background(), registryPatience)
	defer cancel()
	held, err := r.lock(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s.lock is held by another process for more than %s: what became of the fork in %s is not written down (%w)",
			string(r), registryPatience, dir, err)
	} else if err != nil {
		return err
	}
	return errors.Join(r.replace(dir, f), held.Unlock())
}

// replace sets what is written down of a directory; nil: nothing. The caller has the lock.
func (r registry) replace(dir string, f *Fork) error {
	list, err := r.all()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(old *Fork) bool { return old.Dir == dir })
	if f != nil {
		list = append(list, f)
	}
	notes := make([]note, len(list))
	for i, f := range list {
		notes[i] = note{engine.Path(f.Dir), f}
	}
	text, err := json.Marshal(notes)
	if err != nil {
		return err
	}
	return durable.WriteFile(string(r), text, 0o600)
}

// find returns the fork in a directory, nil if there is none.
func (r registry) find(dir string) (*Fork, error) {
	list, err := r.all()
	if i := slices.IndexFunc(list, func(f *Fork) bool { return f.Dir == dir }); i >= 0 {
		return list[i], nil
	}
	return nil, err
}

// all returns every fork, the newest last.
func (r registry) all() (list []*Fork, err error) {
	text, err := durable.ReadFile(string(r), registryMax)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var notes []note
	if err == nil {
		err = json.Unmarshal(text, &notes)
	}
	for _, n := range notes {
		if err == nil && (n.Fork == nil || !filepath.IsAbs(string(n.Dir))) {
			err = errors.New("a fork without a directory")
		}
		if err == nil {
			n.Fork.Dir = string(n.Dir)
			list = append(list, n.Fork)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not what rewind writes: %w", string(r), err)
	}
	slices.SortFunc(list, func(a, b *Fork) int { return a.Time.Compare(b.Time) })
	return list, nil
}
